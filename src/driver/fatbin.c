/* --emit=fatbin: the toolkit's fatbinary over one cubin an architecture, a file for the first variant of each, one for
 * the second, and so on: a fat binary has no room for several of one architecture.  --compress-images: a fat binary for
 * each cubin of an object, which the tool compresses and the driver unpacks.  The tool's inputs and output are
 * nameless files in memory, since it splits names at commas and writes wherever a name leads. */
#include "driver/driver.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"

static const uint32_t FATBIN_MAGIC = 0xba55ed50;

/* A file in memory that a child inherits, holding `data`; -1 with errno. */
static int memory_file(const char *name, const void *data, size_t size)
{
    int file = memfd_create(name, 0);
    for (size_t at = 0; file >= 0 && at < size;) {
        ssize_t put = write(file, (const char *)data + at, size - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            close(file);
            return -1;
        }
        at += (size_t)put;
    }
    return file;
}

struct fatbin_inputs {
    VECTOR(int) files;
    VECTOR(const char *) arguments;
};

/* The variant of `target` that has `number` others before it, or NULL. */
static const struct kernel_variant *nth_variant(const struct kernel_entry *entry, int target, int number)
{
    for (int i = 0; i < entry->variants.count; i++)
        if (entry->variants.data[i].target == target && number-- == 0)
            return &entry->variants.data[i];
    return NULL;
}

static bool add_image(struct compilation *compilation, const struct kernel_image *image, struct fatbin_inputs *inputs)
{
    int file = memory_file("cubin", image->data, image->size);
    if (file < 0) {
        driver_error(compilation->options, "cannot hold a cubin in memory: %s", strerror(errno));
        compilation->code = EXIT_ENVIRONMENT;
        return false;
    }
    vector_push(compilation->arena, &inputs->files, file);
    vector_push(compilation->arena, &inputs->arguments,
                arena_printf(compilation->arena, "--image3=kind=elf,sm=%s,file=/proc/self/fd/%d",
                             target_rows[image->target].name + 3, file));
    return true;
}

static bool add_images(struct compilation *compilation, const struct kernel_entry *entry, int number,
                       struct fatbin_inputs *inputs)
{
    for (int t = 0; t < compilation->targets.count; t++) {
        int target = compilation->targets.data[t];
        const struct kernel_variant *variant = nth_variant(entry, target, number);
        if (target_rows[target].kind != TARGET_NVPTX || !variant)
            continue;
        if (!add_image(compilation, &compilation->module->images.data[variant->gpu.image], inputs))
            return false;
    }
    return true;
}

/* fatbinary ends with code 0 also when it could not write all: the header must say what is there. */
static bool is_whole(const struct buffer *bytes)
{
    struct {
        uint32_t magic;
        uint16_t version, header_size;
        uint64_t size;
    } header;
    if (bytes->size < sizeof header)
        return false;
    memcpy(&header, bytes->data, sizeof header);
    return header.magic == FATBIN_MAGIC && header.header_size >= sizeof header && header.header_size <= bytes->size &&
           header.size > 0 && header.size == bytes->size - header.header_size;
}

static const char *why_failed(const struct child_result *result)
{
    return result->not_started      ? "it cannot be run"
           : result->timed_out      ? "it took too long"
           : result->signal         ? "it was ended by a signal"
           : result->exit_code == 0 ? "what it wrote is not whole"
           : result->errors.size    ? result->errors.data
                                    : "no message";
}

static bool run_fatbinary(struct compilation *compilation, const char *tool, struct fatbin_inputs *inputs,
                          struct buffer *out)
{
    int result_file = memory_file("fatbin", NULL, 0);
    VECTOR(const char *) words = {0};
    vector_push(compilation->arena, &words, tool);
    vector_push(compilation->arena, &words, "-64");
    vector_push(compilation->arena, &words, arena_printf(compilation->arena, "--create=/proc/self/fd/%d", result_file));
    for (int i = 0; i < inputs->arguments.count; i++)
        vector_push(compilation->arena, &words, inputs->arguments.data[i]);
    vector_push(compilation->arena, &words, NULL);
    if (compilation->options->verbose) {
        for (int i = 0; i < words.count - 1; i++)
            fprintf(stderr, "%s%s", i ? " " : "", words.data[i]);
        fputc('\n', stderr);
    }
    struct child_limits limits = {.seconds = compilation->options->tool_seconds, .output_bytes = 1 << 20};
    struct child_result result = {.exit_code = -1, .not_started = true};
    bool ok = result_file >= 0 && child_run(words.data, NULL, NULL, 0, limits, &result);
    if (ok)
        ok = file_read(arena_printf(compilation->arena, "/proc/self/fd/%d", result_file), 0, out);
    if (!ok || !is_whole(out)) {
        const char *why = why_failed(&result);
        size_t size = strlen(why);
        while (size && why[size - 1] == '\n')
            size--;
        why = arena_substring(compilation->arena, why, size);
        if (target_tool_failed(&compilation->target, why))
            driver_error(compilation->options, "fatbinary failed: %s", why);
        compilation->target.failures->hangs |= result.timed_out;
        compilation->code = EXIT_TOOL;
        ok = false;
    }
    buffer_free(&result.output);
    buffer_free(&result.errors);
    if (result_file >= 0)
        close(result_file);
    return ok;
}

static void close_inputs(const struct fatbin_inputs *inputs)
{
    for (int i = 0; i < inputs->files.count; i++)
        close(inputs->files.data[i]);
}

/* True when done or when there is no such variant: then out stays empty. */
static bool make_fatbin(struct compilation *compilation, const char *tool, const struct kernel_entry *entry, int number,
                        struct buffer *out)
{
    struct fatbin_inputs inputs = {0};
    bool ok = add_images(compilation, entry, number, &inputs);
    if (ok && inputs.files.count)
        ok = run_fatbinary(compilation, tool, &inputs, out);
    close_inputs(&inputs);
    return ok;
}

bool emit_fatbins(struct compilation *compilation, struct parts *parts)
{
    const char *tool = tool_find(compilation->options, "fatbinary");
    if (!tool) {
        if (target_tool_failed(&compilation->target, "there is no fatbinary"))
            driver_error(compilation->options, "--emit=fatbin needs fatbinary of a CUDA toolkit, and there is none");
        compilation->code = EXIT_ENVIRONMENT;
        return false;
    }
    for (int i = 0; i < compilation->module->entries.count; i++) {
        const struct kernel_entry *entry = &compilation->module->entries.data[i];
        for (int number = 0; number < entry->variants.count; number++) {
            struct buffer bytes = {0};
            const char *name = number ? arena_printf(compilation->arena, "%s.%d", entry->symbol, number)
                                      : entry->symbol;
            if (!emit_add_part(parts, name, &bytes, make_fatbin(compilation, tool, entry, number, &bytes)))
                return false;
        }
    }
    return true;
}

/* ---- --compress-images ---- */

struct packing {
    struct compilation *compilation;
    const char *tool;
    VECTOR(int) images; /* that are not packed yet, by number */
};

static bool put_key(const struct packing *packing, const struct kernel_image *image, struct buffer *key)
{
    struct cache *cache = packing->compilation->target.cache;
    if (!cache)
        return false;
    cache_put_kind(cache, key, "packed cubin");
    buffer_printf(key, "%s\n", target_rows[image->target].name);
    cache_put_digest(key, "cubin", image->data, image->size);
    return cache_put_file(key, packing->tool);
}

static int pack(void *context, int task, struct buffer *out)
{
    const struct packing *packing = context;
    struct compilation *compilation = packing->compilation;
    const struct kernel_image *image = &compilation->module->images.data[packing->images.data[task]];
    struct fatbin_inputs inputs = {0};
    struct buffer key = {0};
    vector_push(compilation->arena, &inputs.arguments, "--compress-all");
    vector_push(compilation->arena, &inputs.arguments, "--compress-mode=size");
    bool ok = add_image(compilation, image, &inputs) && run_fatbinary(compilation, packing->tool, &inputs, out);
    close_inputs(&inputs);
    if (ok && put_key(packing, image, &key))
        cache_keep(compilation->target.cache, &key, out->data, out->size);
    buffer_free(&key);
    return ok ? EXIT_OK : (int)compilation->code;
}

/* Where less than half is left. */
static void take_packed(struct compilation *compilation, struct kernel_image *image, const struct buffer *bytes)
{
    if (bytes->size > image->size / 2)
        return;
    image->packed = arena_copy(compilation->arena, bytes->data, bytes->size);
    image->packed_size = bytes->size;
}

static void find_packed(struct packing *packing)
{
    struct compilation *compilation = packing->compilation;
    for (int i = 0; i < compilation->module->images.count; i++) {
        struct kernel_image *image = &compilation->module->images.data[i];
        struct buffer key = {0}, value = {0};
        if (!image->without_cubin && put_key(packing, image, &key) &&
            cache_find(compilation->target.cache, &key, &value) && is_whole(&value))
            take_packed(compilation, image, &value);
        else if (!image->without_cubin)
            vector_push(compilation->arena, &packing->images, i);
        buffer_free(&key);
        buffer_free(&value);
    }
}

bool emit_compress_images(struct compilation *compilation)
{
    struct packing packing = {compilation, tool_find(compilation->options, "fatbinary"), {0}};
    if (!packing.tool) {
        driver_error(compilation->options,
                     "--compress-images needs fatbinary of a CUDA toolkit, 12.8 or later, and there is none");
        compilation->code = EXIT_ENVIRONMENT;
        return false;
    }
    find_packed(&packing);
    int count = packing.images.count;
    struct child_result *done = ARENA_ARRAY(compilation->arena, struct child_result, count + 1);
    /* a tool that fails or hangs on one image does so on the others: they are ended */
    workers_run(pack, &packing, count, compilation->target.jobs, (struct child_limits){.last_code = EXIT_TOOL}, done);
    bool whole = true;
    for (int i = 0; i < count; i++) {
        worker_check_machine(&done[i]);
        if (compilation->options->verbose && done[i].exit_code == EXIT_OK && done[i].errors.size)
            fputs(done[i].errors.data, stderr); /* the command */
        if (done[i].exit_code == EXIT_OK && is_whole(&done[i].output)) {
            take_packed(compilation, &compilation->module->images.data[packing.images.data[i]], &done[i].output);
        } else if (done[i].exit_code > 0 && !compilation->code) { /* the first one tells */
            compilation->code = (enum exit_code)done[i].exit_code;
            fputs(done[i].errors.size ? done[i].errors.data : "", stderr);
        } else {
            whole = false;
        }
        buffer_free(&done[i].output);
        buffer_free(&done[i].errors);
    }
    if (!whole && !compilation->code) {
        driver_error(compilation->options, "fatbinary's worker died");
        compilation->code = EXIT_TOOL;
    }
    return compilation->code == EXIT_OK;
}
