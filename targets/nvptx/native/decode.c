/* Instructions of a kernel's text: what each reads and writes by its row of forms.def, and its control bits.
 *
 * An instruction has 128 bits: the opcode in 0 to 11, the guard in 12 to 14 with its opposite in 15, registers in the
 * fields that forms.def names, and the control bits from 105 on: stall 4, yield 1, write board 3, read board 3, waits 6,
 * reuse 4. */
#include "targets/nvptx/native/private.h"

#include <string.h>

enum { CONTROL_AT = 41, CONTROL_BITS = 21, ALWAYS = 7, NO_REGISTER = 255, NO_UNIFORM = 63 };
static const uint64_t control_mask = ((1ull << CONTROL_BITS) - 1) << CONTROL_AT;

static const struct native_form forms[] = {
#define FORM(code, kinds, name, pipe, queue, traits, operands) {code, kinds, name, pipe, queue, traits, operands},
#include "targets/nvptx/native/forms.def"
#undef FORM
};

static const struct native_form *find_form(unsigned opcode)
{
    char kind = (char)('0' + (opcode >> 9));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].code == (opcode & 0x1ff) && strchr(forms[i].kinds, kind))
            return &forms[i];
    return NULL;
}

static unsigned field(const struct native_instruction *in, int at, int bits)
{
    uint64_t value = at < 64 ? in->low >> at : in->high >> (at - 64);
    if (at < 64 && at + bits > 64)
        value |= in->high << (64 - at);
    return (unsigned)(value & ((1ull << bits) - 1));
}

/* ---- how many registers an operand takes ---- */

static int width_of_access(const struct native_instruction *in)
{
    static const int widths[] = {1, 1, 1, 1, 1, 2, 4, 4};
    return widths[field(in, 73, 3)];
}

/* Of a product of matrices, m 16: factors of 16-bit elements with k 16, or of TF32 with k 8, take twice those of less. */
static int width_of_factor(const struct native_instruction *in) { return field(in, 75, 1) || field(in, 83, 1) ? 4 : 2; }

/* Columns of 8 to 32 in steps of 8, then of 16; a register has two of 64 rows' numbers. */
static int width_of_integer_sum(const struct native_instruction *in)
{
    int step = (int)field(in, 53, 6) / 3, columns = step < 4 ? 8 * (step + 1) : 16 * (step - 1);
    return columns / 2;
}

static int width_of_word(unsigned size) { return size == 3 ? 2 : 1; }

static int width_of(const struct native_instruction *in, char letter)
{
    switch (letter) {
    case 'm': return width_of_access(in);
    case 'x': return field(in, 72, 1) ? 2 : 1;
    case 'q': /* of an atomic: u64, or less */ return field(in, 73, 3) >= 2 && field(in, 73, 3) != 3 ? 2 : 1;
    case 'n': return 1 << field(in, 72, 2);
    case 'v': return field(in, 80, 1) ? 2 : 1;
    case 'i': return width_of_factor(in);
    case 'j': return width_of_factor(in) / 2;
    case 'k':
    case 'l': return field(in, 76, 1) ? 4 : 2;
    case 'o': return ((int)field(in, 53, 5) + 1) * 8 / 2;
    case 'w': return width_of_integer_sum(in);
    case 's': return width_of_word(field(in, 84, 2));
    case 't': return width_of_word(field(in, 75, 2));
    case 'y': return (int)field(in, 79, 3) + 3;
    case 'z': return (int)field(in, 79, 3) + 2;
    default: return letter >= '0' && letter <= '9' ? letter - '0' : 1;
    }
}

/* ---- operands ---- */

static void add_registers(struct native_set *set, unsigned first, int count, bool uniform)
{
    unsigned none = uniform ? NO_UNIFORM : NO_REGISTER;
    for (int i = 0; first != none && i < (count ? count : 1) && first + (unsigned)i < none; i++)
        native_add(set, (uniform ? NATIVE_UNIFORM : NATIVE_REGISTER) + (int)first + i);
}

static void add_predicate(struct native_set *set, const struct native_instruction *in, int at, bool uniform)
{
    unsigned number = field(in, at, 3);
    if (number != ALWAYS)
        native_add(set, (uniform ? NATIVE_UNIFORM_PREDICATE : NATIVE_PREDICATE) + (int)number);
}

static void add_predicates_of(struct native_set *set, unsigned mask, int from)
{
    for (int i = 0; i < ALWAYS; i++)
        if (mask >> i & 1)
            native_add(set, from + i);
}

/* Where the second (b) or third (c) source is; 0: it is no register. */
static int place_of_source(int kind, bool third, bool *uniform)
{
    *uniform = !third ? kind == 6 : kind == 7;
    if (*uniform)
        return 32;
    if (!third)
        return kind == 1 ? 32 : kind == 2 || kind == 3 || kind == 7 ? 64 : 0;
    return kind == 2 || kind == 3 ? 0 : 64;
}

static void keep_slot(struct native_instruction *in, int slot, int at, int width)
{
    unsigned number = field(in, at, 8);
    in->slots[slot] = (short)(number == NO_REGISTER ? -1 : (int)number);
    in->widths[slot] = (unsigned char)(width ? width : 1);
}

static void add_source(struct native_instruction *in, char letter, int width)
{
    bool third = letter == 'c' || letter == 'C', uniform, all_uniform = letter == 'B' || letter == 'C';
    int kind = (int)field(in, 9, 3), at = place_of_source(kind, third, &uniform);
    uniform = uniform || all_uniform;
    if (at && !uniform)
        keep_slot(in, third ? 2 : 1, at, width);
    if (at)
        add_registers(&in->reads, field(in, at, uniform ? 6 : 8), width, uniform);
}

static void add_memory(struct native_instruction *in, const char *token)
{
    int place = token[1] == 'S' ? NATIVE_SHARED : token[1] == 'G' ? NATIVE_GLOBAL : NATIVE_LOCAL;
    native_add(*token == '>' ? &in->writes : &in->reads, place);
}

static bool add_predicates(struct native_instruction *in, char letter)
{
    static const struct {
        char letter;
        int at;
        bool written, uniform;
    } rows[] = {{'P', 81, true, false},  {'Q', 84, true, false}, {'p', 87, false, false}, {'q', 77, false, false},
                {'r', 68, false, false}, {'U', 81, true, true},  {'V', 84, true, true},   {'u', 87, false, true},
                {'v', 77, false, true},  {'w', 68, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].letter == letter) {
            add_predicate(rows[i].written ? &in->writes : &in->reads, in, rows[i].at, rows[i].uniform);
            return true;
        }
    return false;
}

static void add_operand(struct native_instruction *in, const char *token, int size)
{
    bool added = *token == '@';
    token += added;
    size -= added;
    if (size > 1 && token[size - 1] == '?' && !field(in, 91, 1))
        return;
    static const int places[] = {
        ['a' - 'a'] = 24, ['d' - 'a'] = 16, ['e' - 'a'] = 32, ['f' - 'a'] = 64, ['h' - 'a'] = 16};
    char letter = *token, width_letter = size > 1 && token[1] != '?' ? token[1] : '1';
    int width = width_of(in, width_letter);
    unsigned mask = field(in, 32, 7);
    struct native_set before = in->reads;
    if (letter == '<' || letter == '>')
        add_memory(in, token);
    else if (letter == '*' || letter == '%')
        add_predicates_of(&in->reads, mask, letter == '*' ? NATIVE_PREDICATE : NATIVE_UNIFORM_PREDICATE);
    else if (letter == '^')
        add_predicates_of(&in->reads, ~0u, NATIVE_UNIFORM_PREDICATE);
    else if (letter == 'g')
        add_predicate(&in->reads, in, 68, field(in, 67, 1));
    else if (letter == '!')
        add_predicates_of(&in->writes, mask, NATIVE_PREDICATE);
    else if (letter == '+')
        add_registers(&in->reads, field(in, field(in, 86, 1) ? 24 : 32, 8), 1, false);
    else if (strchr("bcBC", letter))
        add_source(in, letter, width);
    else if (!add_predicates(in, letter)) {
        bool uniform = letter < 'a';
        int at = places[(letter | 32) - 'a'];
        bool written = (letter | 32) == 'd';
        if (letter == 'a' || ((letter == 'e' || letter == 'f') && in->form->queue != QUEUE_MEMORY))
            keep_slot(in, letter == 'a' ? 0 : 2, at, width);
        add_registers(written ? &in->writes : &in->reads, field(in, at, uniform ? 6 : 8), width, uniform);
    }
    for (int i = 0; added && i < NATIVE_WORDS; i++)
        in->addends.word[i] |= in->reads.word[i] & ~before.word[i];
}

/* A load that others may wait for, as of a flag, is a wall; one that caches may answer is not. */
static bool is_strong_load(const struct native_instruction *in)
{
    enum { ORDER_AT = 77, WEAK = 15, CONSTANT = 15 };
    return in->form->code == 0x181 && field(in, ORDER_AT, 4) != WEAK;
}

static bool reads_clock(const struct native_instruction *in)
{
    enum { CLEAR_ZERO = 0xff };
    return in->form->pipe == PIPE_CLEAR && field(in, 72, 8) != CLEAR_ZERO;
}

struct native_control native_control_of(uint64_t bits)
{
    return (struct native_control){.stall = bits & 15,
                                   .yield = bits >> 4 & 1,
                                   .write_board = bits >> 5 & 7,
                                   .read_board = bits >> 8 & 7,
                                   .waits = bits >> 11 & 63,
                                   .reuse = bits >> 17 & 15};
}

uint64_t native_bits(const struct native_control *c)
{
    return c->stall | (uint64_t)c->yield << 4 | (uint64_t)c->write_board << 5 | (uint64_t)c->read_board << 8 |
           (uint64_t)c->waits << 11 | (uint64_t)c->reuse << 17;
}

void native_decode_one(int architecture, uint64_t low, uint64_t high, struct native_instruction *out)
{
    uint64_t bits = high >> CONTROL_AT;
    *out = (struct native_instruction){
        .low = low, .high = high & ~control_mask, .slots = {-1, -1, -1}, .guard = -1, .target = -1, .barrier = -1};
    out->control = native_control_of(bits);
    out->form = find_form((unsigned)(low & 0xfff));
    if (!out->form)
        return;
    bool by_architecture = out->form->traits & TRAIT_VARIABLE_80 && architecture < 90;
    out->variable = out->form->traits & TRAIT_VARIABLE || by_architecture;
    out->ordered = out->form->traits & TRAIT_ORDERED || by_architecture;
    for (const char *token = out->form->operands; *token;) {
        int size = (int)strcspn(token, " ");
        add_operand(out, token, size);
        token += size + (token[size] == ' ');
    }
    unsigned guard = field(out, 12, 3);
    out->unless = field(out, 15, 1);
    if (guard != ALWAYS) {
        out->guard = (out->form->traits & TRAIT_UNIFORM ? NATIVE_UNIFORM_PREDICATE : NATIVE_PREDICATE) + (int)guard;
        native_add(&out->reads, out->guard);
    }
}

unsigned native_waits(const struct native_instruction *in)
{
    enum { CODE_DEPBAR = 0x11a };
    unsigned waits = in->control.waits;
    if (in->form->code != CODE_DEPBAR)
        return waits;
    if (field(in, 38, 6) == 0)
        waits |= 1u << field(in, 44, 3);
    return waits | field(in, 32, 6);
}

bool native_is_wall(const struct native_instruction *in)
{
    return in->form->traits & TRAIT_WALL || in->pinned || is_strong_load(in) || reads_clock(in);
}

void native_encode(const struct native_code *code, void *text)
{
    unsigned char *to = text;
    for (int i = 0; i < code->count; i++, to += NATIVE_BYTES) {
        const struct native_instruction *in = &code->instructions[i];
        uint64_t high = in->high | native_bits(&in->control) << CONTROL_AT;
        memcpy(to, &in->low, 8);
        memcpy(to + 8, &high, 8);
    }
}

/* ---- sets ---- */

bool native_meet(const struct native_set *a, const struct native_set *b)
{
    uint64_t common = 0;
    for (int i = 0; i < NATIVE_WORDS; i++)
        common |= a->word[i] & b->word[i];
    return common != 0;
}

struct native_set native_both(const struct native_set *a, const struct native_set *b)
{
    struct native_set common;
    for (int i = 0; i < NATIVE_WORDS; i++)
        common.word[i] = a->word[i] & b->word[i];
    return common;
}

int native_first(const struct native_set *set)
{
    for (int i = 0; i < NATIVE_WORDS; i++)
        if (set->word[i])
            return 64 * i + __builtin_ctzll(set->word[i]);
    return -1;
}

struct native_set native_registers(const struct native_set *set)
{
    struct native_set registers = *set;
    for (int place = NATIVE_REGISTERS_END; place < NATIVE_LOCAL + 1; place++)
        registers.word[place / 64] &= ~(1ull << place % 64);
    return registers;
}

const char *native_place_name(struct arena *arena, int place)
{
    if (place >= NATIVE_REGISTERS_END)
        return place == NATIVE_SHARED ? "shared memory" : place == NATIVE_GLOBAL ? "global memory" : "local memory";
    if (place >= NATIVE_UNIFORM_PREDICATE)
        return arena_printf(arena, "UP%d", place - NATIVE_UNIFORM_PREDICATE);
    if (place >= NATIVE_PREDICATE)
        return arena_printf(arena, "P%d", place - NATIVE_PREDICATE);
    if (place >= NATIVE_UNIFORM)
        return arena_printf(arena, "UR%d", place - NATIVE_UNIFORM);
    return arena_printf(arena, "R%d", place);
}

/* ---- as text ---- */

const char *const native_pipe_names[PIPE_COUNT] = {
    "alu",          "fma",  "wide",   "half",  "half_fma", "to_uniform", "clear",  "uniform", "constant",
    "uniform_move", "vote", "tensor", "group", "double",   "special",    "memory", "barrier", "control"};

static void print_places(struct arena *arena, const struct native_set *set, struct buffer *out)
{
    for (int place = 0; place < NATIVE_PLACES; place++)
        if (native_has(set, place))
            buffer_printf(out, " %s", native_place_name(arena, place));
}

void native_print(struct arena *arena, const struct native_instruction *in, struct buffer *out)
{
    const struct native_control *c = &in->control;
    if (in->guard >= 0)
        buffer_printf(out, "@%s%s ", in->unless ? "!" : "", native_place_name(arena, in->guard));
    if (in->form)
        buffer_printf(out, "%s", in->form->name);
    else
        buffer_printf(out, "unknown instruction %03x", (unsigned)(in->low & 0xfff));
    print_places(arena, &in->writes, out);
    buffer_puts(out, " <-");
    print_places(arena, &in->reads, out);
    buffer_printf(out, "; stall %d", c->stall);
    if (!c->yield)
        buffer_puts(out, ", yields");
    if (c->write_board != NATIVE_NO_BOARD)
        buffer_printf(out, ", written by board %d", c->write_board);
    if (c->read_board != NATIVE_NO_BOARD)
        buffer_printf(out, ", read by board %d", c->read_board);
    for (int k = 0; k < NATIVE_BOARDS; k++)
        if (c->waits >> k & 1)
            buffer_printf(out, ", waits for board %d", k);
    if (c->reuse)
        buffer_printf(out, ", keeps slots %d", c->reuse);
}
