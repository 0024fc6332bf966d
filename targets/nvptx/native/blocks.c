/* The blocks of a kernel's text and where each goes on.
 *
 * A block begins at a place that a branch names and behind each instruction that may go elsewhere.  BSSY names the place
 * where threads meet that go apart from there on: it must stand behind a BSYNC of its barrier, and so BSYNC goes on with what
 * is next.  A call leads to its function, and what returns from there to the place behind the call; functions that call
 * others are not understood. */
#include "targets/nvptx/native/native.h"

#include <string.h>

#include "targets/nvptx/native/private.h"

enum {
    CODE_BRX = 0x149,
    CODE_BSYNC = 0x141,
    CODE_CALL = 0x144,
    CODE_BSSY = 0x145,
    CODE_WARPSYNC = 0x148,
    CODE_RET = 0x150
};

static int64_t sign_extend(uint64_t value, int bits) { return (int64_t)(value << (64 - bits)) >> (64 - bits); }

/* Bytes from behind the instruction. */
static int64_t branch_distance(const struct native_instruction *in, int architecture)
{
    if (in->form->code == CODE_BSSY)
        return sign_extend(in->low >> 32, 32);
    uint64_t words = in->low >> 34 | (in->high & 0x3ffff) << 30;
    if (architecture < 90)
        return sign_extend(words, 48) * 4;
    return sign_extend(words << 8 | (in->low >> 16 & 0xff), 56) * 4;
}

static bool has_target(const struct native_instruction *in)
{
    return in->form->traits & TRAIT_BRANCH || in->form->code == CODE_BSSY ||
           (in->form->code == CODE_WARPSYNC && in->high >> 22 & 1);
}

static bool ends_block(const struct native_instruction *in)
{
    return in->form->traits & (TRAIT_BRANCH | TRAIT_END) || (has_target(in) && in->form->code != CODE_BSSY);
}

static bool find_targets(struct native_code *code)
{
    for (int i = 0; i < code->count; i++) {
        struct native_instruction *in = &code->instructions[i];
        if (in->form->code == CODE_BSSY || in->form->code == CODE_BSYNC)
            in->barrier = (int)(in->low >> 16 & 15);
        if (!has_target(in))
            continue;
        int64_t to = (int64_t)(i + 1) * NATIVE_BYTES + branch_distance(in, code->architecture);
        if (to < 0 || to % NATIVE_BYTES || to / NATIVE_BYTES >= code->count) {
            code->problem = arena_printf(code->arena, "a %s at %x leads out of the kernel", in->form->name,
                                         (unsigned)i * NATIVE_BYTES);
            return false;
        }
        in->target = (int)(to / NATIVE_BYTES);
    }
    return true;
}

static void cut_blocks(struct native_code *code)
{
    bool *begins = ARENA_ARRAY(code->arena, bool, code->count + 1);
    begins[0] = true;
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        if (in->target >= 0)
            begins[in->target] = true;
        if (ends_block(in))
            begins[i + 1] = true;
    }
    for (int i = 0; i < code->jump_count; i++)
        for (int k = 0; k < code->jumps[i].count; k++)
            begins[code->jumps[i].targets[k]] = true;
    code->blocks = ARENA_ARRAY(code->arena, struct native_block, code->count);
    code->block_of = ARENA_ARRAY(code->arena, int, code->count);
    for (int i = 0; i < code->count; i++) {
        if (begins[i])
            code->blocks[code->block_count++] = (struct native_block){.first = i};
        code->block_of[i] = code->block_count - 1;
        code->blocks[code->block_count - 1].end = i + 1;
    }
}

static const struct native_jump *find_jump(const struct native_code *code, int at)
{
    for (int i = 0; i < code->jump_count; i++)
        if (code->jumps[i].at == at)
            return &code->jumps[i];
    return NULL;
}

static bool falls_through(const struct native_instruction *in)
{
    struct native_set reads = native_registers(&in->reads);
    bool conditional = native_first(&reads) >= 0;
    if (in->form->traits & TRAIT_END)
        return in->guard >= 0;
    return !(in->form->traits & TRAIT_BRANCH) || conditional || in->high >> 27 & 1;
}

static void add_next(struct native_code *code, struct native_block *block, int instruction)
{
    if (instruction >= code->count)
        return;
    int to = code->block_of[instruction];
    for (int i = 0; i < block->next_count; i++)
        if (block->next[i] == to)
            return;
    block->next[block->next_count++] = to;
}

static const struct native_instruction *last_of(const struct native_code *code, int block)
{
    return &code->instructions[code->blocks[block].end - 1];
}

/* Whether a block, or one that comes right behind it, returns; of what a call leads to only the place behind it counts. */
static bool leads_to_return(const struct native_code *code, int block, const bool *returns)
{
    const struct native_block *b = &code->blocks[block];
    const struct native_instruction *last = last_of(code, block);
    if (last->form->code == CODE_CALL)
        return b->end < code->count && returns[code->block_of[b->end]];
    bool found = last->form->code == CODE_RET;
    for (int i = 0; i < b->next_count; i++)
        found |= returns[b->next[i]];
    return found;
}

/* A call of what never returns is a jump. */
static void find_calls(struct native_code *code)
{
    bool *returns = ARENA_ARRAY(code->arena, bool, code->block_count);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = code->block_count - 1; b >= 0; b--)
            if (!returns[b] && leads_to_return(code, b, returns))
                returns[b] = changed = true;
    }
    for (int b = 0; b < code->block_count; b++) {
        struct native_block *block = &code->blocks[b];
        const struct native_instruction *last = last_of(code, b);
        block->returns = last->form->code == CODE_RET;
        block->call = last->form->code == CODE_CALL && block->end < code->count &&
                      returns[code->block_of[last->target]];
    }
}

static void join_blocks(struct native_code *code)
{
    for (int b = 0; b < code->block_count; b++) {
        struct native_block *block = &code->blocks[b];
        const struct native_instruction *in = &code->instructions[block->end - 1];
        const struct native_jump *jump = in->form->code == CODE_BRX ? find_jump(code, block->end - 1) : NULL;
        block->next = ARENA_ARRAY(code->arena, int, 2 + (jump ? jump->count : 0));
        for (int k = 0; jump && k < jump->count; k++)
            add_next(code, block, jump->targets[k]);
        if (falls_through(in))
            add_next(code, block, block->end);
        if (in->target >= 0 && in->form->code != CODE_BSSY)
            add_next(code, block, in->target);
    }
}

static bool check_meetings(struct native_code *code)
{
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        if (in->form->code != CODE_BSSY)
            continue;
        const struct native_instruction *before = in->target ? &code->instructions[in->target - 1] : NULL;
        if (!before || before->form->code != CODE_BSYNC || before->barrier != in->barrier) {
            code->problem = arena_printf(code->arena, "threads that part at %x do not meet in front of %x",
                                         (unsigned)i * NATIVE_BYTES, (unsigned)in->target * NATIVE_BYTES);
            return false;
        }
    }
    return true;
}

static bool decode_all(struct native_code *code, struct native_bytes text)
{
    for (int i = 0; i < code->count; i++) {
        uint64_t words[2];
        memcpy(words, (const char *)text.data + (size_t)i * NATIVE_BYTES, sizeof words);
        native_decode_one(code->architecture, words[0], words[1], &code->instructions[i]);
        code->instructions[i].origin = i;
        if (!code->instructions[i].form) {
            code->problem = arena_printf(code->arena, "the instruction at %x (%03x) is not known",
                                         (unsigned)i * NATIVE_BYTES, (unsigned)(words[0] & 0xfff));
            return false;
        }
    }
    return true;
}

/* ---- what .nv.info names ---- */

enum { INFO_SIZED = 4, INFO_JUMPS = 0x34 };

/* Entries are { u8 form, u8 attribute, u16 size or value } and, for form 4, so many bytes.  Gives the size of the one at `at`, 0
 * where there is none. */
static size_t entry_size(struct native_bytes info, size_t at)
{
    const unsigned char *data = info.data;
    if (at + 4 > info.size)
        return 0;
    size_t bytes = data[at] == INFO_SIZED ? (size_t)data[at + 2] | (size_t)data[at + 3] << 8 : 0;
    return at + 4 + bytes > info.size ? 0 : 4 + bytes;
}

static uint32_t info_word(struct native_bytes info, size_t at)
{
    uint32_t word;
    memcpy(&word, (const char *)info.data + at, sizeof word);
    return word;
}

/* The instruction at a word's place; -1: there is none. */
static int info_place(const struct native_code *code, uint32_t word)
{
    return word % NATIVE_BYTES == 0 && word / NATIVE_BYTES < (uint32_t)code->count ? (int)(word / NATIVE_BYTES) : -1;
}

/* Words that are places of instructions, among others that say what happens there. */
static void pin(struct native_code *code, struct native_bytes info)
{
    static const unsigned char attributes[] = {0x1c, 0x25, 0x27, 0x28, 0x31, INFO_JUMPS, 0x39, 0x46};
    for (size_t at = 0, size; (size = entry_size(info, at)) > 0; at += size)
        for (size_t i = 4;
             memchr(attributes, ((const unsigned char *)info.data)[at + 1], sizeof attributes) && i + 4 <= size;
             i += 4) {
            int place = info_place(code, info_word(info, at + i));
            if (place >= 0)
                code->instructions[place].pinned = true;
        }
}

/* Branches by tables: the branch, a zero, how many targets, the targets. */
static void find_jumps(struct native_code *code, struct native_bytes info)
{
    code->jumps = ARENA_ARRAY(code->arena, struct native_jump, info.size / 16 + 1);
    for (size_t at = 0, size; (size = entry_size(info, at)) > 0; at += size)
        for (size_t i = at + 4; ((const unsigned char *)info.data)[at + 1] == INFO_JUMPS && i + 12 <= at + size;) {
            uint32_t count = info_word(info, i + 8);
            struct native_jump jump = {.at = info_place(code, info_word(info, i))};
            if (count == 0 || count > (at + size - i - 12) / 4)
                break;
            jump.targets = ARENA_ARRAY(code->arena, int, (int)count + 1);
            for (; jump.count < (int)count; jump.count++) {
                jump.targets[jump.count] = info_place(code, info_word(info, i + 12 + 4 * (size_t)jump.count));
                jump.at = jump.targets[jump.count] < 0 ? -1 : jump.at;
            }
            if (jump.at >= 0)
                code->jumps[code->jump_count++] = jump;
            i += 12 + 4 * count;
        }
}

static bool check_jumps(struct native_code *code)
{
    for (int i = 0; i < code->count; i++)
        if (code->instructions[i].form->code == CODE_BRX && !find_jump(code, i)) {
            code->problem = arena_printf(code->arena, "it is not said where the BRX at %x leads",
                                         (unsigned)i * NATIVE_BYTES);
            return false;
        }
    return true;
}

struct native_code *native_decode(struct arena *arena, int architecture, struct native_bytes text,
                                  struct native_bytes info)
{
    struct native_code *code = ARENA_NEW(arena, struct native_code);
    *code = (struct native_code){
        .arena = arena, .architecture = architecture, .count = (int)(text.size / NATIVE_BYTES)};
    code->instructions = ARENA_ARRAY(arena, struct native_instruction, code->count);
    if (architecture != 80 && architecture != 90)
        code->problem = arena_printf(arena, "instructions of architecture %d are not known", architecture);
    else if (text.size == 0 || text.size % NATIVE_BYTES || text.size / NATIVE_BYTES > NATIVE_MOST_INSTRUCTIONS)
        code->problem = "its text is no row of instructions";
    if (code->problem || !decode_all(code, text))
        return code;
    find_jumps(code, info);
    if (check_jumps(code) && find_targets(code) && check_meetings(code)) {
        cut_blocks(code);
        join_blocks(code);
        find_calls(code);
    }
    pin(code, info);
    return code;
}

void native_pin_relocations(struct native_code *code, const void *relocations, size_t size, size_t each)
{
    for (size_t at = 0; at + each <= size; at += each) {
        uint64_t place;
        memcpy(&place, (const char *)relocations + at, sizeof place);
        if (place / NATIVE_BYTES < (uint64_t)code->count)
            code->instructions[place / NATIVE_BYTES].pinned = true;
    }
}

struct native_code *native_copy(const struct native_code *code)
{
    struct native_code *copy = arena_copy(code->arena, code, sizeof *code);
    copy->instructions = arena_copy(code->arena, code->instructions, sizeof *code->instructions * (size_t)code->count);
    return copy;
}
