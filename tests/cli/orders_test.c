/* The search of `tilecc tune --native` without a GPU: a formula over orders takes its place, which is least for one that was
 * drawn before, and the gates judge orders that are slower, give other results, or were never proved. */
#include "driver/orders/orders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/child.h"
#include "base/digest.h"
#include "base/file.h"

static int failures;
#define CHECK(condition, ...)                                                                         \
    ((condition) ? (void)0                                                                            \
                 : (void)(failures++, fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition), \
                          fprintf(stderr, __VA_ARGS__), fputc('\n', stderr)))

/* A GPU that knows the best order: launches take longer by how far instructions are from it. */
struct formula {
    const struct native_code *original, *best;
    double weight, noise, slower; /* slower: of all that is not the original */
    double cost[ORDERS_SLOTS];    /* of what each slot holds */
    uint64_t sums[ORDERS_SLOTS], turn;
    bool original_in[ORDERS_SLOTS], differs, fails;
    bool few;   /* each launch has one result */
    bool stops; /* where results of another order are compared: then the slots are empty */
    double now;
    int asked, stopped;
};

static double read_clock(void *context) { return ((struct formula *)context)->now; }

static double distance(const struct native_code *code, const struct native_code *best)
{
    double sum = 0;
    for (int i = 0; i < code->count; i++)
        for (int k = code->blocks[code->block_of[i]].first; k < code->blocks[code->block_of[i]].end; k++)
            if (best->instructions[k].origin == code->instructions[i].origin)
                sum += abs(i - k);
    return sum;
}

/* Each place counts, and each cycle that the original does not have. */
static double time_of(const struct formula *f, const struct native_code *code)
{
    double stalls = 0;
    for (int i = 0; i < code->count; i++)
        stalls += code->instructions[i].control.stall - f->original->instructions[i].control.stall;
    return 10000 * (1 + f->weight * (distance(code, f->best) + stalls / 5));
}

static bool load(void *context, int slot, const struct native_code *code)
{
    struct formula *f = context;
    uint64_t sum = 1;
    f->original_in[slot] = true;
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        sum = sum * 31 + (uint64_t)in->origin * 16 + in->control.stall;
        f->original_in[slot] &= in->origin == i;
    }
    f->sums[slot] = sum;
    f->cost[slot] = time_of(f, code) * (f->original_in[slot] ? 1 : 1 + f->slower);
    return !f->fails || f->original_in[slot];
}

static bool take_time(void *context, int call, const int slots[2], int pairs, bool cold, double (*taken)[2])
{
    struct formula *f = context;
    f->now += 0.01;
    f->asked++;
    if (f->cost[slots[0]] <= 0 || f->cost[slots[1]] <= 0)
        return false;
    for (int i = 0; i < pairs; i++)
        for (int side = 0; side < 2; side++) { /* the same of the same question */
            uint64_t seed = f->sums[slots[0]] * 3 + f->sums[slots[1]] + (uint64_t)(2 * i + side + 1000 * call + cold);
            double noise = (double)native_draw(&seed, 2001) / 1000 - 1;
            taken[i][side] = f->cost[slots[side]] * (1 + f->noise * noise);
        }
    return true;
}

static enum orders_verdict compare(void *context, int call, const int slots[2], int64_t first, int64_t count,
                                   int64_t *elements)
{
    struct formula *f = context;
    (void)call, (void)first;
    *elements = count * (f->few ? 1 : 20000);
    if (f->stops && !f->original_in[slots[0]]) {
        memset(f->cost, 0, sizeof f->cost);
        f->stopped++;
        return ORDERS_FAILED;
    }
    return f->differs && !f->original_in[slots[0]] ? ORDERS_DIFFERS : ORDERS_SAME;
}

/* A search of so many seconds of the formula's clock. */
static void find(struct orders_search *search, struct arena *arena, struct formula *formula, const char *path,
                 double seconds)
{
    static struct orders_journal journal;
    *search = (struct orders_search){.arena = arena,
                                     .original = formula->original,
                                     .machine = {formula, 2, read_clock, load, take_time, compare},
                                     .options = {.temperature = 0.0005, .seconds = seconds, .restarts = 2, .seed = 7}};
    if (path) {
        search->journal = &journal;
        CHECK(orders_journal_open(arena, &journal, path, "run"), "%s", path);
    }
    orders_find(search);
    if (path)
        orders_journal_close(&journal);
    search->journal = NULL;
}

static const char *text_of(const struct orders_search *search)
{
    struct buffer text = {0};
    native_write_order(search->original, search->best, &text);
    const char *kept = arena_string(search->arena, text.data ? text.data : "");
    buffer_free(&text);
    return kept;
}

static struct formula begin(const struct native_code *original)
{
    struct formula f = {.original = original, .weight = 5e-4, .noise = 1e-4};
    struct native_walk walk = {.code = native_copy(original), .seed = 99, .moves = 1u << MOVE_SWAP | 1u << MOVE_SLIDE};
    for (int i = 0; i < 40; i++)
        native_walk_step(&walk);
    native_walk_end(&walk);
    f.best = walk.code;
    return f;
}

static void check_found(struct arena *arena, const struct native_code *original)
{
    struct formula f = begin(original);
    struct orders_search search;
    struct orders_gates gates;
    find(&search, arena, &f, NULL, 60);
    double before = time_of(&f, original), planted = time_of(&f, f.best), found = time_of(&f, search.best);
    printf("# %d looks, %d steps taken: %.1f ns by order of ptxas, %.1f by the planted one, %.1f found\n",
           search.looked, search.taken, before, planted, found);
    CHECK(before > planted + 50 && found < planted + 10, "what is best was not found");
    orders_pass_gates(&search, text_of(&search), &gates);
    CHECK(!gates.refused, "%s", gates.refused);
    CHECK(gates.launches >= 1000 && gates.elements >= 10000000 && gates.ratio + gates.error < 0, "gates");
    CHECK(search.parts.count > 0 && search.effects.count > 0, "nothing is told");
}

/* What must not be written is not. */
static void check_gates(struct arena *arena, const struct native_code *original)
{
    struct formula f = begin(original);
    struct orders_search search;
    struct orders_gates gates;
    find(&search, arena, &f, NULL, 10);
    const char *text = text_of(&search);
    f.differs = true;
    orders_pass_gates(&search, text, &gates);
    CHECK(gates.refused && strstr(gates.refused, "results differ"), "%s", gates.refused);
    f.differs = false;
    f.fails = true;
    orders_pass_gates(&search, text, &gates);
    CHECK(gates.refused && strstr(gates.refused, "loaded"), "%s", gates.refused);
    f.fails = false;
    f.slower = 0.2;
    orders_pass_gates(&search, text, &gates);
    CHECK(gates.refused && strstr(gates.refused, "slower"), "%s", gates.refused);
    f.slower = f.weight = 0;
    orders_pass_gates(&search, text, &gates);
    CHECK(gates.refused && strstr(gates.refused, "the noise"), "%s", gates.refused);
    orders_pass_gates(&search, "    10: 0.0fe842\n", &gates);
    CHECK(gates.refused && gates.launches == 0, "an order that is none was run");
    orders_pass_gates(&search, "", &gates);
    CHECK(gates.refused && gates.launches == 0, "%s", gates.refused);
    CHECK(!orders_refuse_code(&search.machine), "%s", orders_refuse_code(&search.machine));
    f.few = true;
    const char *refused = orders_refuse_code(&search.machine);
    CHECK(refused && strstr(refused, "too few"), "%s", refused);
}

/* Nothing but noise brings nothing. */
static void check_noise(struct arena *arena, const struct native_code *original)
{
    struct formula f = begin(original);
    struct orders_search search;
    struct orders_gates gates;
    f.weight = 0;
    f.noise = 5e-3;
    find(&search, arena, &f, NULL, 10);
    orders_pass_gates(&search, text_of(&search), &gates);
    CHECK(gates.refused, "noise was taken for a gain");
}

/* What stands in front of a place, in a file of its own. */
static void cut(const char *path, const struct buffer *lines, const char *end, const char *more)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(lines->data, 1, (size_t)(end - lines->data), file) == (size_t)(end - lines->data) &&
              fputs(more, file) >= 0 && fclose(file) == 0,
          "%s", path);
}

/* A search that was interrupted, in the middle of a line or where only its end is missing, and went on finds what one finds
 * that was not; and so does the next one, without a question. */
static void check_resumed(struct arena *arena, const struct native_code *original)
{
    char path[] = "/tmp/tilecc-orders-XXXXXX";
    struct formula f = begin(original), g = f;
    struct orders_search whole, again, rest;
    struct buffer lines = {0};
    int file = mkstemp(path);
    close(file);
    find(&whole, arena, &f, path, 6);
    find(&again, arena, &g, path, 6);
    CHECK(g.asked == 0 && strcmp(text_of(&whole), text_of(&again)) == 0, "%d questions were asked again", g.asked);
    CHECK(file_read(path, 0, &lines), "%s", path);
    for (int left_out = 0; left_out < 2; left_out++) {
        struct formula h = begin(original), i = h;
        const char *middle = memchr(lines.data + lines.size / 2, '\n', lines.size / 2);
        cut(path, &lines, middle - 3 * left_out, "");
        find(&rest, arena, &h, path, 6);
        CHECK(h.asked > 0 && h.asked < f.asked, "%d of %d questions were asked again", h.asked, f.asked);
        CHECK(strcmp(text_of(&whole), text_of(&rest)) == 0, "an interrupted search found another order");
        find(&again, arena, &i, path, 6);
        CHECK(i.asked == 0, "%d questions were asked again of a search that was cut and went on", i.asked);
    }
    struct formula h = begin(original);
    const char *seconds = memchr(lines.data, '\n', lines.size);
    while (seconds[-1] != ' ')
        seconds--;
    cut(path, &lines, seconds, "-0x1p+200\n"); /* after which no time would be over */
    find(&rest, arena, &h, path, 6);
    CHECK(h.asked > 0, "an answer that came before its question was taken");
    buffer_free(&lines);
    unlink(path);
}

/* Orders that stop the GPU are told, and no others. */
static void check_stopped(struct arena *arena, const struct native_code *original)
{
    struct formula f = begin(original);
    struct orders_search search;
    f.stops = true;
    find(&search, arena, &f, NULL, 20);
    CHECK(f.stopped > 0 && search.failed == f.stopped, "%d of %d orders", search.failed, f.stopped);
    for (int i = 0; i < original->count; i++) /* cycles alone do not stop it */
        CHECK(search.best->instructions[i].origin == i, "an order that stops the GPU is the best one");
}

/* Random orders: all of them hold, or the one that does not is told. */
static void check_trials(struct arena *arena, const struct native_code *original)
{
    struct formula f = begin(original);
    struct orders_trial trial = {.arena = arena,
                                 .original = original,
                                 .machine = {&f, 2, read_clock, load, take_time, compare},
                                 .seed = 3,
                                 .wanted = 100};
    struct orders_trial wrong = trial;
    orders_try(&trial);
    CHECK(trial.orders == 100 && trial.failed == 0 && trial.launches == 800 && trial.elements == 800 * 20000LL,
          "%lld orders, %lld launches", (long long)trial.orders, (long long)trial.launches);
    f.differs = true;
    orders_try(&wrong);
    CHECK(wrong.failed > 0 && wrong.orders < 100 && wrong.failure && *wrong.failure, "%d failed", wrong.failed);
}

/* Restarts do not go on when the time is over. */
static void check_restarts(struct arena *arena, const struct native_code *original)
{
    struct formula f = begin(original);
    struct orders_search search = {.arena = arena,
                                   .original = original,
                                   .machine = {&f, 1, read_clock, load, take_time, compare},
                                   .options = {.temperature = 5e-4, .seconds = 1, .restarts = 1000000, .seed = 7}};
    orders_find(&search);
    CHECK(search.clock < 3, "%.1f s of 1", search.clock);
}

/* A program that ends when a code is loaded, cannot be begun anew, and then can: the code still has its place and size. */
static void check_program(struct arena *arena, const struct native_code *original)
{
    char folder[] = "/tmp/tilecc-orders-XXXXXX";
    struct orders_program program = {.arena = arena, .folder = mkdtemp(folder), .call_count = 1};
    program.path = arena_printf(arena, "%s/run", folder);
    FILE *file = fopen(program.path, "w");
    CHECK(file, "%s", program.path);
    if (!file)
        return;
    fputs("#!/bin/sh\necho >>runs\ncase $(wc -l <runs) in\n2) echo 'failed no memory'; exit ;;\nesac\n"
          "printf 'call 0\\nkernel 0 1000.0\\nimage 0 k %s/0.cubin\\nready\\n' \"$1\"\nread -r line\n"
          "case $(wc -l <runs) in\n1) exit ;;\nesac\n"
          "set -- $line\nhead -c \"$5\" >code\necho done\nread -r line\n",
          file);
    fchmod(fileno(file), 0700);
    fclose(file);
    CHECK(orders_program_start(&program), "%s", program.problem);
    program.kernels[0].code = (struct cubin_part){.offset = 64, .size = (size_t)original->count * NATIVE_BYTES};
    struct orders_machine machine = orders_program_machine(&program, 0);
    for (int turn = 0; turn < 3; turn++)
        CHECK(machine.load(machine.context, 1, original) == (turn == 2), "turn %d", turn);
    CHECK(program.kernels[0].code.size == (size_t)original->count * NATIVE_BYTES, "the code's size is lost");
    orders_program_end(&program);
    static const char *const names[] = {"run", "runs", "code"};
    for (int i = 0; i < 3; i++)
        CHECK(unlink(arena_printf(arena, "%s/%s", folder, names[i])) == 0, "%s", names[i]);
    rmdir(folder);
}

static struct native_code *assemble(struct arena *arena)
{
    struct buffer text = {0};
    struct child_result result = {0};
    struct cubin_kernel *kernels;
    const char *ptxas = getenv("PTXAS"), *source = getenv("SRCDIR"), *problem = "ptxas does not take it";
    int architecture, count;
    const char *arguments[] = {ptxas ? ptxas : "ptxas", "-arch=sm_90", "/dev/stdin", "-o", "/dev/stdout", NULL};
    bool good = file_read(arena_printf(arena, "%s/tests/nvptx/native.ptx", source ? source : "."), 0, &text) &&
                child_run(arguments, NULL, text.data, text.size, (struct child_limits){.seconds = 60}, &result) &&
                cubin_read(arena, result.output.data, result.output.size, &architecture, &count, &kernels, &problem);
    CHECK(good, "native.ptx: %s", problem);
    struct native_code *code = good ? nvptx_decode(arena, architecture, &kernels[0], result.output.data) : NULL;
    buffer_free(&text);
    buffer_free(&result.output);
    buffer_free(&result.errors);
    return code;
}

int main(void)
{
    struct arena *arena = arena_create();
    const struct native_code *code = assemble(arena);
    if (code) {
        check_found(arena, code);
        check_gates(arena, code);
        check_noise(arena, code);
        check_resumed(arena, code);
        check_stopped(arena, code);
        check_trials(arena, code);
        check_restarts(arena, code);
        check_program(arena, code);
    }
    arena_destroy(arena);
    printf("1..1\n%sok 1 - orders searched without a GPU\n", failures ? "not " : "");
    return failures != 0;
}
