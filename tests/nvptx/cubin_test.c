/* The reader of cubins against what ptxas writes for every architecture, against every truncation of it, and against
 * bytes changed at random: it may refuse or accept a changed byte, but never reads outside and never accepts a file
 * that is cut. */
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "support/check.h"
#include "targets/target.h"

static const char body[] =
    "(.param .u64 p)\n.maxntid 96, 1, 1\n{\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n"
    "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nst.shared.u32 [s], %r1;\nld.shared.u32 %r2, [s+4];\n"
    "st.global.u32 [%d1], %r2;\nret;\n}\n";

/* Two kernels with 4000 and 96 bytes of static shared memory. */
static bool assemble(const char *ptxas, const struct target_row *row, struct buffer *cubin)
{
    struct buffer text = {0};
    char architecture[32];
    snprintf(architecture, sizeof architecture, "-arch=%s", row->name);
    buffer_printf(&text, ".version %s\n.target %s\n.address_size 64\n", row->ptx_version, row->name);
    for (int i = 0; i < 2; i++) {
        const char *shared = strstr(body, "{\n") + 2;
        buffer_printf(&text, ".visible .entry kernel%d%.*s", i, (int)(shared - body), body);
        buffer_printf(&text, ".shared .align 16 .b8 s[%d];\n%s", i ? 96 : 4000, shared);
    }
    const char *arguments[] = {ptxas, architecture, "/dev/stdin", "-o", "/dev/stdout", NULL};
    struct child_result result;
    bool good = child_run(arguments, NULL, text.data, text.size, (struct child_limits){.seconds = 60}, &result);
    if (good)
        buffer_append(cubin, result.output.data, result.output.size);
    CHECK(good, "ptxas refuses %s: %s", row->name, result.errors.data ? result.errors.data : "");
    buffer_free(&result.output);
    buffer_free(&result.errors);
    buffer_free(&text);
    return good;
}

/* Reads a copy that ends where the memory does, so that sanitizers see a byte too far. */
static bool read_copy(const char *data, size_t size, int *architecture, int *count, struct cubin_kernel *first)
{
    struct arena *arena = arena_create();
    char *copy = malloc(size ? size : 1);
    struct cubin_kernel *kernels = NULL;
    const char *problem = NULL;
    memcpy(copy, data, size);
    bool good = cubin_read(arena, copy, size, architecture, count, &kernels, &problem);
    CHECK(good || problem, "refused without a reason");
    if (good)
        *first = kernels[0];
    first->symbol = good ? (strcmp(kernels[0].symbol, "kernel0") == 0 ? "kernel0" : "other") : NULL;
    free(copy);
    arena_destroy(arena);
    return good;
}

static void check_row(const char *ptxas, const struct target_row *row, bool thorough)
{
    struct buffer cubin = {0};
    int architecture = 0, count = 0;
    struct cubin_kernel kernel;
    if (!assemble(ptxas, row, &cubin))
        return;
    bool good = read_copy(cubin.data, cubin.size, &architecture, &count, &kernel);
    CHECK(good, "%s: a good cubin is refused", row->name);
    if (good) {
        CHECK(architecture == 10 * row->major + row->minor, "%s is read as sm_%d", row->name, architecture);
        CHECK(count == 2, "%s: %d kernels", row->name, count);
        CHECK(kernel.threads == 96, "%s: %d threads", row->name, kernel.threads);
        CHECK(kernel.registers >= 4 && kernel.registers <= 64, "%s: %d registers", row->name, kernel.registers);
        CHECK(kernel.shared_bytes >= 96, "%s: %lld bytes shared", row->name, (long long)kernel.shared_bytes);
    }
    for (size_t size = 0; size < cubin.size; size += thorough ? 1 : 61)
        CHECK(!read_copy(cubin.data, size, &architecture, &count, &kernel), "%s: cut at %zu of %zu and accepted",
              row->name, size, cubin.size);
    buffer_putc(&cubin, 0);
    CHECK(!read_copy(cubin.data, cubin.size, &architecture, &count, &kernel), "%s: a byte too many and accepted",
          row->name);
    cubin.size--;
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < (thorough ? 20000 : 500); i++) {
        char *copy = malloc(cubin.size);
        memcpy(copy, cubin.data, cubin.size);
        for (int flips = 1 + (int)(state % 3); flips > 0; flips--) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            size_t at = (size_t)(state >> 20) % cubin.size;
            /* Half of the changes go to the header and the section table, where offsets and sizes are. */
            if (state & 1)
                at = state & 2 ? at % 64 : cubin.size - 1 - at % 1200;
            copy[at] = (char)(state >> 8);
        }
        read_copy(copy, cubin.size, &architecture, &count, &kernel);
        free(copy);
    }
    buffer_free(&cubin);
}

int main(void)
{
    const char *ptxas = getenv("PTXAS");
    int architecture, count;
    struct cubin_kernel kernel;
    CHECK(!read_copy("", 0, &architecture, &count, &kernel), "nothing is accepted");
    CHECK(!read_copy("\177ELF garbage that is long enough to hold a header of sixty-four bytes", 64, &architecture,
                     &count, &kernel),
          "garbage is accepted");
    if (!ptxas || !*ptxas) {
        printf("no ptxas: only refusals checked\n");
        return failures != 0;
    }
    for (int i = 0; i < target_row_count; i++)
        if (target_rows[i].kind == TARGET_NVPTX)
            check_row(ptxas, &target_rows[i], strcmp(target_rows[i].name, "sm_90a") == 0);
    return failures != 0;
}
