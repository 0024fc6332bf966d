/* Native orders: what instructions read and write against nvdisasm, ptxas' own orders accepted, random walks right, planted
 * mistakes refused, damaged bytes survived.
 *
 *     native_test FILE.cubin …      the first three of any cubins
 *     native_test --least FILE.cubin …      the least cycles that ptxas leaves in them, for latencies.def
 *
 * Without files: of native.ptx for sm_80 and sm_90. */
#include "targets/nvptx/native/native.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "support/check.h"
#include "support/least.h"
#include "targets/target.h"

static int planted;
static const struct native_bytes no_info;

enum { MOST_FAULTS = 20 };

static struct native_faults faults_create(struct arena *arena)
{
    return (struct native_faults){.arena = arena, .limit = MOST_FAULTS};
}

static void show(const struct native_faults *faults)
{
    for (int i = 0; i < faults->list.count; i++)
        printf("    %s\n", faults->list.data[i].text);
}

/* ---- against nvdisasm ---- */

/* The columns of -plr: registers over one another, where a mark stands for what the line's instruction does. */
struct column {
    int from, to, place;
};
static int read_columns(const char *kinds, const char *numbers, struct column *columns, int most)
{
    static const struct {
        const char *name;
        int place;
    } names[] = {{"GPR", NATIVE_REGISTER},
                 {"PRED", NATIVE_PREDICATE},
                 {"UGPR", NATIVE_UNIFORM},
                 {"UPRED", NATIVE_UNIFORM_PREDICATE}};
    int count = 0, base = -1;
    for (const char *at = numbers; *at && *at != '\n' && count < most; at++) {
        if (*at == '#') { /* a group begins: its name is above, between the same bars */
            const char *name = kinds + (at - numbers);
            while (name > kinds && name[-1] != '|')
                name--;
            name += strspn(name, " ");
            size_t size = strcspn(name, " |\n");
            base = -1;
            for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strlen(names[i].name) == size && memcmp(names[i].name, name, size) == 0)
                    base = names[i].place;
        }
        if (base < 0 || *at < '0' || *at > '9')
            continue;
        int from = (int)(at - numbers), number = 0;
        for (; *at >= '0' && *at <= '9'; at++)
            number = number * 10 + *at - '0';
        columns[count++] = (struct column){from, (int)(at - numbers), base + number};
        at--;
    }
    return count;
}

static void read_marks(const char *marks, const struct column *columns, int count, struct native_set *reads,
                       struct native_set *writes)
{
    size_t size = strcspn(marks, "\n");
    for (int i = 0; i < count; i++)
        for (int at = columns[i].from; at < columns[i].to && (size_t)at < size; at++) {
            if (marks[at] == 'v' || marks[at] == 'x')
                native_add(reads, columns[i].place);
            if (marks[at] == '^' || marks[at] == 'x')
                native_add(writes, columns[i].place);
        }
}

/* What its marks leave out or say otherwise, and what we know more of: masks of predicates, calls, and the predicate of a
 * copy, which it takes for a result. */
static bool is_told(const struct native_instruction *in, int place)
{
    bool predicate = place >= NATIVE_PREDICATE;
    const char *name = in->form->name;
    return !(predicate && (strcmp(name, "P2R") == 0 || strcmp(name, "R2P") == 0 || strcmp(name, "UP2UR") == 0 ||
                           strcmp(name, "LDGSTS") == 0)) &&
           !(place >= NATIVE_UNIFORM_PREDICATE && strstr(name, "GMMA")) && strcmp(name, "CALL") != 0;
}

static void compare_sets(const char *file, const struct native_instruction *in, const char *what,
                         const struct native_set *ours, const struct native_set *theirs)
{
    struct arena *arena = arena_create();
    for (int place = 0; place < NATIVE_REGISTERS_END; place++)
        CHECK(native_has(ours, place) == native_has(theirs, place) || !is_told(in, place),
              "%s: %s at %x: nvdisasm %s that it %s %s", file, in->form->name, (unsigned)in->origin * NATIVE_BYTES,
              native_has(theirs, place) ? "says" : "does not say", what, native_place_name(arena, place));
    arena_destroy(arena);
}

/* Instructions come in two lines, each with a word of the encoding; marks stand on the second. */
static int compare_text(const char *file, struct arena *arena, int architecture, const char *text)
{
    enum { MOST_COLUMNS = 512 };
    struct column *columns = ARENA_ARRAY(arena, struct column, MOST_COLUMNS);
    const char *kinds = "", *next;
    uint64_t low = 0;
    int column_count = 0, compared = 0;
    bool has_low = false;
    for (const char *line = text; *line; line = next) {
        next = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line);
        const char *bar = strstr(line, "// |"), *word = strstr(line, "/* 0x");
        if (!bar || bar >= next)
            continue;
        const char *number = bar + 4 + strspn(bar + 4, " ");
        if (*number == '#' && !(word && word < bar)) {
            column_count = read_columns(kinds, bar, columns, MOST_COLUMNS);
        } else if (word && word < bar && !has_low) {
            low = strtoull(word + 3, NULL, 16);
            has_low = true;
        } else if (word && word < bar) {
            struct native_instruction in;
            struct native_set reads = {{0}}, writes = {{0}};
            native_decode_one(architecture, low, strtoull(word + 3, NULL, 16), &in);
            in.origin = compared++;
            read_marks(bar, columns, column_count, &reads, &writes);
            if (in.form) {
                compare_sets(file, &in, "reads", &in.reads, &reads);
                compare_sets(file, &in, "writes", &in.writes, &writes);
            }
            has_low = false;
        }
        kinds = bar;
    }
    return compared;
}

static void compare_with_nvdisasm(const char *file, int architecture, const struct buffer *cubin)
{
    const char *nvdisasm = getenv("NVDISASM");
    struct arena *arena = arena_create();
    struct child_result result = {0};
    char path[] = "/tmp/tilecc-native-XXXXXX";
    int descriptor = nvdisasm && access(nvdisasm, X_OK) == 0 ? mkstemp(path) : -1;
    if (descriptor >= 0 && write(descriptor, cubin->data, cubin->size) == (ssize_t)cubin->size) {
        const char *arguments[] = {nvdisasm, "-c", "-hex", "-plr", path, NULL};
        bool ran = child_run(arguments, NULL, NULL, 0, (struct child_limits){.seconds = 120}, &result);
        CHECK(ran, "%s: nvdisasm does not take it", file);
        int compared = ran ? compare_text(file, arena, architecture, result.output.data) : 0;
        CHECK(!ran || compared > 20, "%s: %d instructions are too few to have been read", file, compared);
        printf("# %s: %d instructions as nvdisasm reads them\n", file, compared);
    }
    if (descriptor >= 0) {
        close(descriptor);
        unlink(path);
    }
    buffer_free(&result.output);
    buffer_free(&result.errors);
    arena_destroy(arena);
}

/* ---- planted mistakes ---- */

/* A copy with one thing changed must be refused, and says why. */
static void refuse(const struct native_code *original, const struct native_code *changed, const char *what, int at)
{
    struct arena *arena = arena_create();
    struct native_faults faults = faults_create(arena);
    int count = native_check_order(original, changed, &faults) + native_check_times(changed, &faults);
    CHECK(count > 0, "%s at %x is not noticed", what, (unsigned)at * NATIVE_BYTES);
    CHECK(count == 0 || faults.list.count > 0, "%s at %x is refused without a reason", what,
          (unsigned)at * NATIVE_BYTES);
    planted++;
    arena_destroy(arena);
}

static void exchange(struct native_code *code, int a, int b)
{
    struct native_instruction kept = code->instructions[a];
    code->instructions[a] = code->instructions[b];
    code->instructions[b] = kept;
}

static bool touches(const struct native_instruction *in, const struct native_set *set)
{
    return native_meet(&in->reads, set) || native_meet(&in->writes, set);
}

/* The first in the block behind `at` that reads or writes what it writes; -1. */
static int find_user(const struct native_code *code, int at)
{
    struct native_set set = native_registers(&code->instructions[at].writes);
    for (int i = at + 1; i < code->blocks[code->block_of[at]].end; i++)
        if (touches(&code->instructions[i], &set))
            return i;
    return -1;
}

/* Neighbours that depend on each other change places: a load above its address, a barrier crossed, a store above a load. */
static void plant_orders(const struct native_code *code)
{
    enum { OF_EACH = 6 };
    int seen[EDGE_WALL + 1] = {0}, place;
    for (int i = 0; i + 1 < code->count; i++) {
        const struct native_instruction *a = &code->instructions[i], *b = a + 1;
        enum native_edge edge = native_depends(a, b, &place);
        if (code->block_of[i] != code->block_of[i + 1] || edge == EDGE_NONE || seen[edge]++ >= OF_EACH)
            continue;
        struct native_code *changed = native_copy(code);
        exchange(changed, i, i + 1);
        refuse(code, changed, native_edge_names[edge], i);
    }
}

/* A scoreboard that nobody waits for any more, or that is set no longer. */
static void plant_scoreboards(const struct native_code *code)
{
    for (int i = 0; i < code->count; i++) {
        const struct native_control *control = &code->instructions[i].control;
        int user = code->instructions[i].variable ? find_user(code, i) : -1;
        if (user < 0 || control->write_board == NATIVE_NO_BOARD)
            continue;
        struct native_code *changed = native_copy(code);
        for (int k = i; k <= user; k++)
            changed->instructions[k].control.waits &= (unsigned char)~(1u << control->write_board);
        refuse(code, changed, "a wait left out", user);
        changed = native_copy(code);
        changed->instructions[i].control.write_board = NATIVE_NO_BOARD;
        refuse(code, changed, "a scoreboard left out", i);
    }
}

/* One cycle less than the result of fixed time takes, to its first reader. */
static void plant_stalls(const struct native_code *code)
{
    enum { MOST = 24 };
    int done = 0;
    short latencies[PIPE_COUNT][NATIVE_KINDS][NATIVE_PORTS];
    native_latencies(code->architecture, latencies);
    for (int i = 0; i + 1 < code->count && done < MOST; i++) {
        const struct native_instruction *in = &code->instructions[i], *next = in + 1;
        struct native_set common = native_both(&in->writes, &next->reads);
        if (in->variable || code->block_of[i] != code->block_of[i + 1] || next->guard >= 0 || in->guard >= 0)
            continue;
        for (int place = 0; place < NATIVE_PREDICATE; place++)
            if (native_has(&common, place) && !native_has(&next->addends, place)) {
                struct native_code *changed = native_copy(code);
                int cycles = latencies[in->form->pipe][native_kind(place)][next->form->pipe];
                if (cycles < 2)
                    continue;
                changed->instructions[i].control.stall = (unsigned char)(cycles - 1);
                refuse(code, changed, "a cycle too few", i);
                done++;
                break;
            }
    }
}

/* Of a row of operations of one queue the last has the scoreboard: an earlier one without any passes it. */
static void plant_overtaken(const struct native_code *code)
{
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        int user = in->variable ? find_user(code, i) : -1, end = code->blocks[code->block_of[i]].end;
        if (user < 0 || in->control.write_board == NATIVE_NO_BOARD || !in->ordered)
            continue;
        int next = i + 1;
        while (next < end &&
               !(code->instructions[next].ordered && code->instructions[next].form->queue == in->form->queue))
            next++;
        if (next >= user || code->instructions[next].control.write_board == NATIVE_NO_BOARD)
            continue;
        struct native_code *covered = native_copy(code), *changed;
        unsigned board = covered->instructions[next].control.write_board;
        covered->instructions[i].control.write_board = NATIVE_NO_BOARD; /* as ptxas would have it */
        covered->instructions[user].control.waits |= (unsigned char)(1u << board);
        CHECK(native_check_times(covered, NULL) == 0, "a later one of the queue at %x does not speak for %x",
              (unsigned)next * NATIVE_BYTES, (unsigned)i * NATIVE_BYTES);
        changed = native_copy(covered);
        exchange(changed, i, next);
        refuse(covered, changed, "a queue overtaken", i);
    }
}

/* A register kept for reuse is written before it is read again. */
static void plant_reuse(const struct native_code *code)
{
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        for (int slot = 0; slot < 3; slot++) {
            int end = code->blocks[code->block_of[i]].end, place = in->slots[slot], next = i + 1;
            if (place < 0 || !native_has(&in->writes, place))
                continue;
            while (next < end && code->instructions[next].slots[slot] < 0)
                next++;
            if (next >= end || code->instructions[next].slots[slot] != place)
                continue;
            struct native_code *changed = native_copy(code);
            changed->instructions[i].control.reuse |= (unsigned char)(1u << slot);
            refuse(code, changed, "a register kept too long", i);
        }
    }
}

static void plant_others(const struct native_code *code)
{
    for (int i = 0, done = 0; i + 1 < code->count && done < 3; i++) {
        if (!code->instructions[i].variable)
            continue;
        struct native_code *changed = native_copy(code);
        changed->instructions[i].low ^= 1ull << 16;
        refuse(code, changed, "another register", i);
        changed = native_copy(code);
        changed->instructions[i + 1] = changed->instructions[i];
        refuse(code, changed, "an instruction twice", i);
        done++;
    }
    for (int i = 0, done = 0; i < code->count && done < 3; i++)
        if (code->instructions[i].control.stall > 1 && code->instructions[i].form->pipe == PIPE_CONTROL) {
            struct native_code *changed = native_copy(code);
            changed->instructions[i].control.stall--;
            refuse(code, changed, "a barrier or branch in a hurry", i);
            done++;
        }
    for (int i = 0, done = 0; i < code->count && done < 3; i++)
        if (code->instructions[i].control.stall > 1 && code->instructions[i].form->pipe != PIPE_CONTROL) {
            struct native_code *changed = native_copy(code);
            changed->instructions[i].control.stall = NATIVE_MOST_STALL;
            changed->instructions[i].control.yield = 1;
            refuse(code, changed, "a long stall without yielding", i);
            changed->instructions[i].control.stall = 0;
            refuse(code, changed, "no stall at all", i);
            done++;
        }
}

/* ---- walks ---- */

static void walk(const char *file, const struct native_code *code, int steps)
{
    struct native_walk walk = {.code = native_copy(code), .seed = 20261127}, again = walk;
    again.code = native_copy(code);
    for (int i = 0; i < steps; i++)
        native_walk_step(&walk);
    struct arena *arena = arena_create();
    struct native_faults faults = faults_create(arena);
    int wrong = native_check_order(code, walk.code, &faults) + native_check_times(walk.code, &faults), elsewhere = 0;
    CHECK(wrong == 0, "%s: a random walk is wrong", file);
    show(&faults);
    for (int i = 0; i < code->count; i++)
        elsewhere += walk.code->instructions[i].origin != i;
    CHECK(elsewhere > 2 && walk.taken > steps / 10, "%s: a walk of %d steps took %d and moved %d instructions", file,
          steps, walk.taken, elsewhere);
    for (int i = 0; i < steps; i++)
        native_walk_step(&again);
    for (int i = 0; i < code->count; i++)
        CHECK(again.code->instructions[i].origin == walk.code->instructions[i].origin, "%s: two walks of a seed differ",
              file);
    native_walk_end(&walk);
    native_walk_end(&again);
    arena_destroy(arena);
}

/* What a proof of a change takes is right as a whole, and what it refuses leaves it as it was. */
static void change_stalls(const char *file, const struct native_code *code, int steps)
{
    struct native_code *changed = native_copy(code);
    struct native_proof *proof = native_proof_create(changed);
    int taken = 0, refused = 0;
    CHECK(proof, "%s: the order of ptxas has no proof", file);
    for (int step = 0; proof && step < steps; step++) {
        int at = (int)((uint64_t)step * 7919 % (uint64_t)code->count);
        struct native_control *control = &changed->instructions[at].control, before = *control;
        if (control->stall < 2)
            continue;
        control->stall = (unsigned char)(step % 3 && control->stall < NATIVE_YIELD_STALL ? control->stall + 1
                                                                                         : control->stall / 2);
        bool good = native_proof_change(proof, changed, changed->block_of[at], NULL);
        CHECK(!good || native_check_times(changed, NULL) == 0, "%s: a change at %x is wrong as a whole", file,
              (unsigned)at * NATIVE_BYTES);
        taken += good, refused += !good;
        if (!good)
            *control = before;
        CHECK(native_proof_change(proof, changed, changed->block_of[at], NULL), "%s: what was proved is not, behind %x",
              file, (unsigned)at * NATIVE_BYTES);
    }
    CHECK(taken > 0 && refused > 0, "%s: %d changes of stall counts taken, %d refused", file, taken, refused);
    native_proof_destroy(proof);
}

/* Of a walk of which each second step is taken back, by shares that leave the first half out. */
static void undo(const char *file, const struct native_code *code, int steps)
{
    uint32_t *shares = ARENA_ARRAY(code->arena, uint32_t, code->count);
    struct native_walk walk = {.code = native_copy(code), .seed = 1, .shares = shares};
    int changed = 0, back = 0;
    for (int i = 0; i < code->count; i++)
        shares[i] = i < code->count / 2 ? 0 : (uint32_t)(i - code->count / 2 + 1);
    for (int i = 0; i < steps; i++) {
        struct native_code *before = native_copy(walk.code);
        if (!native_walk_step(&walk) || i % 2)
            continue;
        native_walk_undo(&walk);
        back++;
        for (int k = 0; k < code->count; k++)
            CHECK(memcmp(&walk.code->instructions[k], &before->instructions[k], sizeof before->instructions[k]) == 0,
                  "%s: a step that was taken back left something at %d", file, k);
    }
    int first = code->blocks[code->block_of[code->count / 2]].first;
    for (int i = 0; i < code->count; i++)
        changed += walk.code->instructions[i].origin != i && i < first;
    CHECK(changed == 0, "%s: %d instructions moved that were not to be drawn", file, changed);
    CHECK((back > 2 || steps < 100) &&
              native_check_order(code, walk.code, NULL) + native_check_times(walk.code, NULL) == 0,
          "%s: a walk with %d steps taken back is wrong", file, back);
    native_walk_end(&walk);
}

static void check_encoding(const char *file, const struct native_code *code, const unsigned char *text, size_t size)
{
    unsigned char *again = malloc(size);
    native_encode(code, again);
    CHECK(memcmp(text, again, size) == 0, "%s: encoding does not give the bytes that were decoded", file);
    free(again);
}

/* Any bytes may be given. */
static void damage(const unsigned char *text, size_t size)
{
    enum { COPIES = 60 };
    uint64_t seed = 1;
    for (int i = 0; i < COPIES; i++) {
        struct arena *arena = arena_create();
        unsigned char *copy = arena_copy(arena, text, size);
        for (int k = 0; k < 8; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            copy[(seed >> 33) % size] ^= (unsigned char)(1u << (seed >> 20) % 8);
        }
        struct native_code *code = native_decode(
            arena, 90, (struct native_bytes){copy, size - (i % 3 == 0 ? (size_t)i : 0)}, no_info);
        if (!code->problem)
            native_check_times(code, NULL);
        arena_destroy(arena);
    }
}

/* Two instructions one behind the other, on sm_90: so many cycles are right, one less is refused. */
static void check_pairs(void)
{
    enum { CONTROL_AT = 41, NO_BOARDS = 0x7f0, LONG = NO_BOARDS | 6 };
    static const struct {
        const char *what;
        uint64_t words[4];
        int least;
    } rows[] = {
        {"a load behind a barrier", {0x7b1d, 0x10000, 0x6ff0a7984, 0x8000800}, 6},
        {"an addend's low half", {0x100027202, 0xf00, 0x1006027225, 0x78e0002}, 5},
        {"an addend's high half", {0x100037202, 0xf00, 0x1006027225, 0x78e0002}, 3},
        {"a factor", {0x100067202, 0xf00, 0x1006027225, 0x78e0002}, 5},
        {"an address from constant memory", {0xae00000e7ab9, 0xa00, 0xe08047981, 0xc1e9d00}, 2},
        {"a load over a result", {0x1000a7202, 0xf00, 0x6ff0a7984, 0x8000800}, 6},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t words[6] = {0, 0, 0, 0, 0x794d, 0x3800000 | (uint64_t)(NO_BOARDS | 5) << CONTROL_AT};
        memcpy(words, rows[i].words, sizeof rows[i].words);
        words[1] |= (uint64_t)LONG << CONTROL_AT;
        words[3] |= (uint64_t)LONG << CONTROL_AT;
        struct native_code *code = native_decode(arena, 90, (struct native_bytes){words, sizeof words}, no_info);
        struct native_faults faults = faults_create(arena);
        CHECK(!code->problem, "%s: %s", rows[i].what, code->problem);
        code->instructions[0].control.stall = (unsigned char)rows[i].least;
        CHECK(native_check_times(code, &faults) == 0, "%s is refused after %d cycles", rows[i].what, rows[i].least);
        show(&faults);
        code->instructions[0].control.stall--;
        CHECK(native_check_times(code, NULL) > 0, "%s is taken a cycle too early", rows[i].what);
        planted++;
    }
    arena_destroy(arena);
}

/* One result over another that is still on its way: where both come in the order of one queue, the later one stays. */
static void check_overwrites(void)
{
    enum { CONTROL_AT = 41, NO_BOARDS = 0x7f0 };
    static const struct {
        const char *what;
        uint64_t words[4];
        bool right;
    } rows[] = {
        {"a shuffle over a load of shared memory", {0x1808020ff147984, 0x8000c00, 0xe001f005a177f89, 0xe0000}, true},
        {"a shuffle over a load of global memory", {0xe08047981, 0xc1e9d00, 0xe001f005a047f89, 0xe0000}, false},
        {"a MUFU over a load of shared memory", {0x1808020ff147984, 0x8000c00, 0xa400177308, 0x800}, false},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t words[6] = {0, 0, 0, 0, 0x794d, 0x3800000 | (uint64_t)(NO_BOARDS | 5) << CONTROL_AT};
        memcpy(words, rows[i].words, sizeof rows[i].words);
        for (int k = 1; k < 4; k += 2)
            words[k] |= (uint64_t)(NO_BOARDS | 5) << CONTROL_AT;
        struct native_code *code = native_decode(arena, 90, (struct native_bytes){words, sizeof words}, no_info);
        CHECK(!code->problem, "%s: %s", rows[i].what, code->problem);
        code->instructions[0].control.write_board = 1;
        code->instructions[1].control.write_board = 2;
        CHECK((native_check_times(code, NULL) == 0) == rows[i].right, "%s is %s", rows[i].what,
              rows[i].right ? "refused" : "taken");
        code->instructions[1].control.waits = 2;
        CHECK(native_check_times(code, NULL) == 0, "%s is refused where it waits", rows[i].what);
        planted += !rows[i].right;
    }
    arena_destroy(arena);
}

static int count_places(const struct native_set *set, int from, int end)
{
    int count = 0;
    for (int place = from; place < end; place++)
        count += native_has(set, place);
    return count;
}

/* Sums of integers: their columns come in a field of their own. */
static void check_integer_sums(void)
{
    static const struct {
        uint64_t low;
        int registers;
    } rows[] = {{0x00000000101879f1, 4}, {0x01200000101879f1, 16}, {0x03600000101879f1, 64}, {0x06600000101879f1, 128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct native_instruction in;
        native_decode_one(90, rows[i].low, 0x8741018, &in);
        CHECK(in.form && strcmp(in.form->name, "IGMMA") == 0, "%zu is no IGMMA", i);
        CHECK(in.form && count_places(&in.writes, 0, NATIVE_UNIFORM) == rows[i].registers,
              "IGMMA %zu writes other than %d registers", i, rows[i].registers);
    }
}

/* A product of values of a warp with an immediate addend: the factor stands where the addend else does. */
static void check_uniform_product(void)
{
    struct native_instruction in;
    native_decode_one(90, 0xffffffff0e2374a4, 0xf8e020c, &in);
    CHECK(in.form && strcmp(in.form->name, "UIMAD") == 0, "it is no UIMAD");
    CHECK(native_has(&in.reads, NATIVE_UNIFORM + 14) && native_has(&in.reads, NATIVE_UNIFORM + 12) &&
              count_places(&in.reads, NATIVE_UNIFORM, NATIVE_PREDICATE) == 2 &&
              native_has(&in.writes, NATIVE_UNIFORM + 35),
          "UIMAD reads other than UR14 and UR12, or does not write UR35");
}

/* A branch by a table goes on where .nv.info says, and nowhere else; without a word there it is not understood. */
static void check_jump(void)
{
    enum { BRX = 0x1a247949, EXIT = 0x794d, CONTROL_AT = 41, LONG = 0x7f6 };
    const uint64_t control = (uint64_t)LONG << CONTROL_AT;
    const uint64_t words[] = {BRX,  0x383ffff | control, 0x100027202, 0xf00 | control,
                              EXIT, 0x3800000 | control, EXIT,        0x3800000 | control};
    uint32_t info[] = {0x34 << 8 | 4 | 20 << 16, 0, 0, 2, 0x30, 0x10};
    struct arena *arena = arena_create();
    struct native_bytes text = {words, sizeof words};
    struct native_code *code = native_decode(arena, 90, text, (struct native_bytes){info, sizeof info});
    CHECK(!code->problem, "a branch by a table: %s", code->problem);
    if (!code->problem)
        CHECK(code->blocks[0].next_count == 2 && code->blocks[code->blocks[0].next[0]].first == 3 &&
                  code->blocks[code->blocks[0].next[1]].first == 1,
              "a branch by a table leads elsewhere");
    CHECK(native_decode(arena, 90, text, no_info)->problem, "a branch without a table is understood");
    info[4] = 0x50;
    CHECK(native_decode(arena, 90, text, (struct native_bytes){info, sizeof info})->problem,
          "a branch out of the code is understood");
    info[3] = 0x40000000;
    CHECK(native_decode(arena, 90, text, (struct native_bytes){info, sizeof info})->problem,
          "a table that is cut short is understood");
    static const uint32_t empty[1 + 3 * 5000] = {0x34 << 8 | 4 | 60000u << 16};
    CHECK(native_decode(arena, 90, text, (struct native_bytes){empty, sizeof empty})->problem,
          "a branch by tables that lead nowhere is understood");
    arena_destroy(arena);
}

/* A block of more cycles than a short holds: what stands behind them is proved as anywhere else. */
static void check_long_block(void)
{
    enum { COUNT = 3000, MOVE = 0x202, EXIT = 0x94d, ALWAYS_AT = 12, CONTROL_AT = 41, NO_BOARDS = 0x7e0 };
    struct arena *arena = arena_create();
    uint64_t *words = ARENA_ARRAY(arena, uint64_t, 2 * COUNT);
    for (int i = 0; i < COUNT; i++) {
        words[2 * i] = (i + 1 < COUNT ? MOVE : EXIT) | 7ull << ALWAYS_AT | 1ull << 16 | 1ull << 32;
        words[2 * i + 1] = (uint64_t)(NATIVE_MOST_STALL | NO_BOARDS) << CONTROL_AT;
    }
    struct native_code *code = native_decode(arena, 90, (struct native_bytes){words, 2 * COUNT * sizeof *words},
                                             no_info);
    CHECK(!code->problem && native_check_times(code, NULL) == 0, "a row of moves is refused");
    code->instructions[COUNT - 3].control.stall = 2;
    CHECK(native_check_times(code, NULL) == 1, "a result read too early is not noticed behind many cycles");
    arena_destroy(arena);
}

/* ---- files ---- */

static void check_cubin(const char *file, const struct buffer *cubin, int steps)
{
    struct arena *arena = arena_create();
    struct cubin_kernel *kernels;
    const char *problem = "";
    int architecture, count = 0;
    bool good = cubin_read(arena, cubin->data, cubin->size, &architecture, &count, &kernels, &problem);
    CHECK(good, "%s is no cubin: %s", file, problem);
    compare_with_nvdisasm(file, architecture, cubin);
    for (int i = 0; good && i < count; i++) {
        const unsigned char *text = (const unsigned char *)cubin->data + kernels[i].code.offset;
        struct native_code *code = nvptx_decode(arena, architecture, &kernels[i], cubin->data);
        struct native_faults faults = faults_create(arena);
        if (code->problem) {
            printf("# %s: %s\n", file, code->problem);
            continue;
        }
        check_encoding(file, code, text, kernels[i].code.size);
        CHECK(native_check_times(code, &faults) == 0, "%s: the order of ptxas is refused", file);
        show(&faults);
        walk(file, code, steps);
        change_stalls(file, code, steps);
        undo(file, code, steps / 10);
        if (steps > 100) {
            plant_orders(code);
            plant_scoreboards(code);
            plant_stalls(code);
            plant_overtaken(code);
            plant_reuse(code);
            plant_others(code);
            damage(text, kernels[i].code.size);
        }
    }
    arena_destroy(arena);
}

static void assemble_and_check(const char *architecture)
{
    struct buffer text = {0};
    struct child_result result = {0};
    char path[4096], option[32], name[32];
    const char *ptxas = getenv("PTXAS"), *source = getenv("SRCDIR");
    snprintf(path, sizeof path, "%s/tests/nvptx/native.ptx", source ? source : ".");
    snprintf(option, sizeof option, "-arch=%s", architecture);
    snprintf(name, sizeof name, "native.ptx, %s", architecture);
    const char *arguments[] = {ptxas ? ptxas : "ptxas", option, "/dev/stdin", "-o", "/dev/stdout", NULL};
    bool good = file_read(path, 0, &text) &&
                child_run(arguments, NULL, text.data, text.size, (struct child_limits){.seconds = 60}, &result);
    CHECK(good, "ptxas does not take %s", path);
    if (good)
        check_cubin(name, &result.output, 250);
    buffer_free(&text);
    buffer_free(&result.output);
    buffer_free(&result.errors);
}

int main(int argument_count, char **arguments)
{
    if (argument_count > 1 && strcmp(arguments[1], "--least") == 0)
        return !least_print(argument_count - 2, arguments + 2);
    for (int i = 1; i < argument_count; i++) {
        struct buffer bytes = {0};
        bool read = file_read(arguments[i], 0, &bytes);
        CHECK(read, "%s cannot be read", arguments[i]);
        if (read)
            check_cubin(arguments[i], &bytes, 20);
        buffer_free(&bytes);
    }
    if (argument_count == 1) {
        assemble_and_check("sm_80");
        assemble_and_check("sm_90");
        check_long_block();
        check_pairs();
        check_overwrites();
        check_integer_sums();
        check_uniform_product();
        check_jump();
        CHECK(planted >= 60, "%d planted mistakes are fewer than 60", planted);
        printf("# %d planted mistakes\n", planted);
    }
    printf("1..1\n%sok 1 - native orders\n", failures ? "not " : "");
    return failures != 0;
}
