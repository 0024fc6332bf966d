/* A module of LLVM as PTX: its head, the order of blocks, what phis and registers changed in place need. */
#include "targets/nvptx/assemble/print.h"

#include <string.h>

/* ---- lines of all blocks ---- */

static void number_blocks(struct printer *p)
{
    p->block_count = (int)LLVMCountBasicBlocks(p->function);
    p->blocks = ARENA_ARRAY(p->arena, struct print_block, p->block_count);
    int i = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(p->function); b; b = LLVMGetNextBasicBlock(b), i++) {
        p->blocks[i].block = b;
        print_value_of_block(p, b, i);
    }
}

/* A way into the phi's block comes from where others begin, too. */
static bool is_forked(LLVMValueRef phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, i))) > 1)
            return true;
    return false;
}

static void phi_line(struct printer *p, LLVMValueRef phi, int part, struct print_operand to)
{
    int count = (int)LLVMCountIncoming(phi);
    struct print_operand *operands = ARENA_ARRAY(p->arena, struct print_operand, count + 1);
    int *targets = ARENA_ARRAY(p->arena, int, count);
    operands[0] = to;
    for (int i = 0; i < count; i++) {
        targets[i] = print_block_number(p, LLVMGetIncomingBlock(phi, (unsigned)i));
        operands[1 + i] = print_constant_part(p, print_part(p, LLVMGetIncomingValue(phi, (unsigned)i), part));
    }
    print_line(p, LINE_PHI, NULL, 1, operands, count + 1)->targets = targets;
}

/* Phis, from the first one on; returns what is behind them.  Where the way round a loop is a fork, what a phi takes has
 * a register of its own, so that it can be written in front of the fork though the phi is still wanted behind the loop:
 *
 *     new = phi …      the number that came
 *     x = new          the phi                 (left out where they share a register after all) */
static LLVMValueRef phi_lines(struct printer *p, LLVMValueRef at)
{
    VECTOR(struct print_operand) taken = {0};
    for (; at && LLVMGetInstructionOpcode(at) == LLVMPHI; at = LLVMGetNextInstruction(at)) {
        const struct print_value of = *print_value(p, at);
        bool forked = is_forked(at);
        for (int part = 0; part < of.count; part++) {
            struct print_operand to = of.parts[part];
            if (forked) {
                vector_push(p->arena, &taken, to);
                to = print_fresh(p, p->variables.data[to.variable].class);
                vector_push(p->arena, &taken, to);
            }
            phi_line(p, at, part, to);
        }
    }
    for (int i = 0; i < taken.count; i += 2)
        print_line(p, LINE_COPY, print_moves[p->variables.data[taken.data[i].variable].class], 1, taken.data + i, 2);
    return at;
}

static void end_line(struct printer *p, LLVMValueRef end)
{
    struct print_operand *conditions = ARENA_ARRAY(p->arena, struct print_operand, LLVMGetNumOperands(end) + 1);
    int *targets = ARENA_ARRAY(p->arena, int, LLVMGetNumOperands(end) + 1), count = 0;
    switch (LLVMGetInstructionOpcode(end)) {
    case LLVMBr:
        if (LLVMIsConditional(end)) {
            conditions[0] = print_register(p, LLVMGetCondition(end), 0);
            targets[count++] = print_block_number(p, LLVMGetSuccessor(end, 0));
            targets[count++] = print_block_number(p, LLVMGetSuccessor(end, 1));
        } else {
            targets[count++] = print_block_number(p, LLVMGetSuccessor(end, 0));
        }
        break;
    case LLVMSwitch: {
        LLVMValueRef value = LLVMGetOperand(end, 0);
        enum print_class class = print_class_of(LLVMTypeOf(value));
        if (class != CLASS_32 && class != CLASS_64)
            p->failed = true;
        const char *text = class == CLASS_64 ? "setp.eq.s64 $0, $1, $2;" : "setp.eq.s32 $0, $1, $2;";
        for (unsigned i = 1; i < LLVMGetNumSuccessors(end); i++) {
            struct print_operand number = print_read(p, LLVMGetOperand(end, 2 * i), true);
            conditions[count] = print_fresh(p, CLASS_PREDICATE);
            print_pure(p, text, conditions[count], print_register(p, value, 0), number);
            targets[count++] = print_block_number(p, LLVMGetSuccessor(end, i));
        }
        targets[count++] = print_block_number(p, LLVMGetSuccessor(end, 0));
        break;
    }
    case LLVMRet: break;
    case LLVMUnreachable: print_line(p, LINE_EFFECT, "trap;", 0, NULL, 0); break;
    default: p->failed = true; break;
    }
    struct print_line *line = print_line(p, LINE_END, NULL, 0, conditions, count ? count - 1 : 0);
    line->targets = targets;
    line->target_count = count;
}

/* Where shared memory begins, and tensor maps: in front of all. */
static void entry_lines(struct printer *p)
{
    struct print_operand start = print_fresh(p, CLASS_64), word = print_fresh(p, CLASS_32);
    p->shared = start.variable;
    p->shared_word = word.variable;
    print_line(p, LINE_TEXT, "mov.u64 $0, tile_shared;", 1, &start, 1);
    print_line(p, LINE_TEXT, "cvt.u32.u64 $0, $1;", 1, (struct print_operand[]){word, start}, 2);
    for (unsigned i = 1; i < LLVMCountParams(p->function); i++) {
        struct print_operand place = print_fresh(p, CLASS_64), map = print_part(p, LLVMGetParam(p->function, i), 0);
        const char *number = print_number(p, i).text;
        const char *end = print_join(p, number, ";", "", "");
        const char *text = print_join(p, "mov.b64 $0, ", p->l->function->name, "_param_", end);
        print_line(p, LINE_TEXT, text, 1, &place, 1);
        print_line(p, LINE_TEXT, "cvta.param.u64 $0, $1;", 1, (struct print_operand[]){map, place}, 2);
    }
}

static void block_lines(struct printer *p, int number)
{
    struct print_block *block = &p->blocks[number];
    p->block = number;
    p->place = NULL;
    p->constants.count = 0;
    block->first = p->lines.count;
    LLVMValueRef at = LLVMGetFirstInstruction(block->block), end = LLVMGetBasicBlockTerminator(block->block);
    if (number == 0)
        entry_lines(p);
    at = phi_lines(p, at);
    for (; at && at != end && !p->failed; at = LLVMGetNextInstruction(at)) {
        p->place = LLVMInstructionGetDebugLoc(at);
        print_instruction(p, at);
    }
    p->place = LLVMInstructionGetDebugLoc(end);
    if (!p->failed)
        end_line(p, end);
    block->last = p->lines.count - 1;
}

static void note_before(struct printer *p)
{
    int *counts = ARENA_ARRAY(p->arena, int, p->block_count);
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < p->block_count; b++) {
            const struct print_line *end = &p->lines.data[p->blocks[b].last];
            for (int t = 0; t < end->target_count; t++) {
                struct print_block *to = &p->blocks[end->targets[t]];
                if (pass == 0)
                    counts[end->targets[t]]++;
                else if (!to->before)
                    to->before = ARENA_ARRAY(p->arena, int, counts[end->targets[t]]);
                if (pass == 1)
                    to->before[to->before_count++] = b;
            }
        }
}

/* ---- printing ---- */

static void put_operand(struct printer *p, struct print_operand operand)
{
    static const char *const prefix[CLASS_COUNT] = {"%p", "%rs", "%r", "%rd"};
    if (operand.variable < 0) {
        if (!operand.text)
            p->failed = true;
        else
            buffer_puts(p->out, operand.text);
        return;
    }
    struct print_variable *leader = &p->variables.data[print_leader(p, operand.variable)];
    if (!leader->number)
        leader->number = ++p->counts[leader->class];
    buffer_puts(p->out, prefix[leader->class]);
    buffer_puts(p->out, print_number(p, leader->number).text);
}

/* The text with $0, $1 … replaced. */
static void put_text(struct printer *p, const struct print_line *line)
{
    const char *at = line->text, *next;
    buffer_putc(p->out, '\t');
    while ((next = strchr(at, '$'))) {
        buffer_append(p->out, at, (size_t)(next - at));
        at = next + 1;
        if (*at == '$') {
            buffer_putc(p->out, *at++);
            continue;
        }
        int number = 0;
        if (*at < '0' || *at > '9')
            p->failed = true;
        while (*at >= '0' && *at <= '9')
            number = 10 * number + (*at++ - '0');
        if (number >= line->count)
            p->failed = true;
        else
            put_operand(p, line->operands[number]);
    }
    buffer_puts(p->out, at);
    buffer_putc(p->out, '\n');
}

struct copy {
    struct print_operand to, from;
};
typedef VECTOR(struct copy) copies;

static void add_copy(struct printer *p, copies *list, struct print_operand to, struct print_operand from)
{
    if (!print_same_register(p, to, from))
        vector_push(p->arena, list, ((struct copy){to, from}));
}

static void put_copy(struct printer *p, struct print_operand to, struct print_operand from)
{
    struct print_operand operands[2] = {to, from};
    const char *text = print_moves[p->variables.data[to.variable].class];
    put_text(p, &(struct print_line){.text = text, .operands = operands, .count = 2});
}

/* All at once: first what nobody reads any more is written; a ring goes through another register. */
static void put_copies(struct printer *p, copies *list)
{
    while (list->count) {
        int free = -1;
        for (int i = 0; i < list->count && free < 0; i++) {
            bool is_read = false;
            for (int j = 0; j < list->count; j++)
                is_read |= j != i && print_same_register(p, list->data[i].to, list->data[j].from);
            if (!is_read)
                free = i;
        }
        if (free >= 0) {
            put_copy(p, list->data[free].to, list->data[free].from);
            list->data[free] = list->data[--list->count];
            continue;
        }
        struct print_operand kept = list->data[0].to;
        struct print_operand other = print_fresh(p, p->variables.data[kept.variable].class);
        put_copy(p, other, kept);
        for (int j = 0; j < list->count; j++)
            if (print_same_register(p, list->data[j].from, kept))
                list->data[j].from = other;
    }
}

static void copies_of_text(struct printer *p, const struct print_line *line)
{
    copies list = {0};
    for (int i = line->written; i < line->count && line->ties; i++)
        if (line->ties[i] >= 0)
            add_copy(p, &list, line->operands[line->ties[i]], line->operands[i]);
    put_copies(p, &list);
}

static void copies_between(struct printer *p, int from, int to, copies *list)
{
    for (int i = p->blocks[to].first; p->lines.data[i].kind == LINE_PHI; i++) {
        const struct print_line *phi = &p->lines.data[i];
        for (int o = 1; o < phi->count && !phi->dropped; o++)
            if (phi->targets[o - 1] == from) {
                add_copy(p, list, phi->operands[0], phi->operands[o]);
                break;
            }
    }
}

static void put_label(struct printer *p, int block, int edge)
{
    buffer_puts(p->out, "$L__BB0_");
    buffer_puts(p->out, print_number(p, block).text);
    if (edge < 0)
        return;
    buffer_putc(p->out, '_');
    buffer_puts(p->out, print_number(p, edge).text);
}

static void put_jump(struct printer *p, const struct print_operand *when, bool unless, int block, int edge)
{
    buffer_putc(p->out, '\t');
    if (when) {
        buffer_puts(p->out, unless ? "@!" : "@");
        put_operand(p, *when);
        buffer_putc(p->out, ' ');
    }
    buffer_puts(p->out, when ? "bra \t" : "bra.uni \t");
    put_label(p, block, edge);
    buffer_puts(p->out, ";\n");
}

/* What block `to` takes may be written before block b asks whether to go there: nobody else sees it. */
static bool written_early(struct printer *p, int b, int to, int other, const copies *list)
{
    const struct print_line *end = &p->lines.data[p->blocks[b].last];
    copies others = {0};
    copies_between(p, b, other, &others);
    if (to == other)
        return false;
    for (int i = 0; i < list->count; i++) {
        struct print_operand written = list->data[i].to;
        if (print_live_at(p, written, 4 * p->blocks[other].first))
            return false;
        if (print_same_register(p, written, end->operands[0]))
            return false;
        for (int j = 0; j < others.count; j++)
            if (print_same_register(p, written, others.data[j].from))
                return false;
    }
    return true;
}

/* A jump where the condition holds, or does not, over what the way without it takes. */
static void put_fork(struct printer *p, int b)
{
    const struct print_line *end = &p->lines.data[p->blocks[b].last];
    copies list[2] = {{0}, {0}};
    int order[2] = {0, 1};
    for (int t = 0; t < 2; t++)
        copies_between(p, b, end->targets[t], &list[t]);
    int first = end->targets[1] <= b ? 1 : 0; /* what goes round a loop */
    for (int i = 0, done = 0; i < 2 && !done; i++) {
        int t = i ? 1 - first : first;
        if (!list[t].count || !written_early(p, b, end->targets[t], end->targets[1 - t], &list[t]))
            continue;
        put_copies(p, &list[t]);
        done = 1;
    }
    if (!list[1].count && (list[0].count || end->targets[0] == b + 1))
        order[0] = 1, order[1] = 0;
    int jumped = end->targets[order[0]], other = end->targets[order[1]];
    bool place = list[order[0]].count > 0;
    put_jump(p, &end->operands[0], order[0] == 1, place ? b : jumped, place ? 0 : -1);
    put_copies(p, &list[order[1]]);
    if (other != b + 1 || place)
        put_jump(p, NULL, false, other, -1);
    if (!place)
        return;
    put_label(p, b, 0);
    buffer_puts(p->out, ":\n");
    put_copies(p, &list[order[0]]);
    if (jumped != b + 1)
        put_jump(p, NULL, false, jumped, -1);
}

/* Jumps at the end of block b; what phis take is written on the way, in places of their own where several lead on. */
static void put_end(struct printer *p, int b)
{
    const struct print_line *end = &p->lines.data[p->blocks[b].last];
    int last = end->target_count - 1;
    bool places = false;
    copies list = {0};
    if (last < 0) {
        buffer_puts(p->out, "\tret;\n");
        return;
    }
    if (last == 1) {
        put_fork(p, b);
        return;
    }
    for (int t = 0; t < last; t++) {
        list.count = 0;
        copies_between(p, b, end->targets[t], &list);
        put_jump(p, &end->operands[t], false, list.count ? b : end->targets[t], list.count ? t : -1);
        places |= list.count > 0;
    }
    list.count = 0;
    copies_between(p, b, end->targets[last], &list);
    put_copies(p, &list);
    if (end->targets[last] != b + 1 || places)
        put_jump(p, NULL, false, end->targets[last], -1);
    for (int t = 0; t < last && places; t++) {
        list.count = 0;
        copies_between(p, b, end->targets[t], &list);
        if (!list.count)
            continue;
        put_label(p, b, t);
        buffer_puts(p->out, ":\n");
        put_copies(p, &list);
        put_jump(p, NULL, false, end->targets[t], -1);
    }
}

static void put_body(struct printer *p)
{
    for (int b = 0; b < p->block_count; b++) {
        if (b > 0) {
            put_label(p, b, -1);
            buffer_puts(p->out, ":\n");
        }
        for (int i = p->blocks[b].first; i < p->blocks[b].last; i++) {
            const struct print_line *line = &p->lines.data[i];
            if (line->dropped || line->kind == LINE_PHI)
                continue;
            if (line->kind == LINE_COPY && print_same_register(p, line->operands[0], line->operands[1]))
                continue;
            line_text_place(p->line_text, line->place, p->out);
            copies_of_text(p, line);
            if (*line->text)
                put_text(p, line);
        }
        line_text_place(p->line_text, p->lines.data[p->blocks[b].last].place, p->out);
        put_end(p, b);
    }
}

/* ---- the head ---- */

static int64_t annotation(struct printer *p, const char *name)
{
    unsigned count = LLVMGetNamedMetadataNumOperands(p->l->module, "nvvm.annotations");
    LLVMValueRef *nodes = ARENA_ARRAY(p->arena, LLVMValueRef, count + 1), parts[3];
    LLVMGetNamedMetadataOperands(p->l->module, "nvvm.annotations", nodes);
    for (unsigned i = 0; i < count; i++) {
        unsigned size;
        if (LLVMGetMDNodeNumOperands(nodes[i]) != 3)
            continue;
        LLVMGetMDNodeOperands(nodes[i], parts);
        const char *text = LLVMGetMDString(parts[1], &size);
        if (text && size == strlen(name) && !memcmp(text, name, size) && LLVMIsAConstantInt(parts[2]))
            return LLVMConstIntGetSExtValue(parts[2]);
    }
    return 0;
}

static void put_head(struct printer *p, struct buffer *out)
{
    const char *name = p->l->function->name;
    buffer_printf(out, "//\n// Made by tilecc\n//\n\n.version %s\n.target %s\n.address_size 64\n\n",
                  p->l->row->ptx_version, p->l->row->name);
    buffer_printf(out, ".extern .shared .align %d .b8 tile_shared[];\n\n", (int)LLVMGetAlignment(p->l->shared));
    buffer_printf(out, ".visible .entry %s(\n", name);
    for (unsigned i = 0; i < LLVMCountParams(p->function); i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName("byval", 5);
        unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
        LLVMAttributeRef by = LLVMGetEnumAttributeAtIndex(p->function, i + 1, kind);
        LLVMAttributeRef at = LLVMGetEnumAttributeAtIndex(p->function, i + 1, align);
        if (!by || !at) {
            p->failed = true;
            return;
        }
        unsigned long long size = LLVMABISizeOfType(p->data, LLVMGetTypeAttributeValue(by));
        buffer_printf(out, "%s\t.param .align %llu .b8 %s_param_%u[%llu]", i ? ",\n" : "",
                      (unsigned long long)LLVMGetEnumAttributeValue(at), name, i, size);
    }
    buffer_printf(out, "\n)\n.maxntid %lld, 1, 1\n", (long long)annotation(p, "maxntidx"));
    if (annotation(p, "minctasm"))
        buffer_printf(out, ".minnctapersm %lld\n", (long long)annotation(p, "minctasm"));
    if (annotation(p, "maxnreg"))
        buffer_printf(out, ".maxnreg %lld\n", (long long)annotation(p, "maxnreg"));
    buffer_puts(out, "{\n");
    static const char *const kinds[CLASS_COUNT] = {"pred \t%p", "b16 \t%rs", "b32 \t%r", "b64 \t%rd"};
    for (int c = 0; c < CLASS_COUNT; c++)
        if (p->counts[c])
            buffer_printf(out, "\t.reg .%s<%d>;\n", kinds[c], p->counts[c] + 1);
    line_text_function(p->line_text, out);
    buffer_puts(out, "\n");
}

bool print_module(struct lowering *l, LLVMTargetDataRef data, struct buffer *out)
{
    struct buffer body = {0};
    struct printer p = {.l = l, .arena = arena_create(), .data = data, .function = l->kernel, .out = &body};
    p.line_text = line_text_open(l, p.arena);
    number_blocks(&p);
    for (int b = 0; b < p.block_count && !p.failed; b++)
        block_lines(&p, b);
    if (!p.failed) {
        note_before(&p);
        print_drop_unused(&p);
        print_share_registers(&p);
        put_body(&p);
    }
    struct buffer head = {0};
    if (!p.failed)
        put_head(&p, &head);
    if (!p.failed) {
        buffer_append(out, head.data, head.size);
        buffer_append(out, body.data, body.size);
        buffer_puts(out, "\n}\n");
        line_text_tables(p.line_text, out);
    }
    buffer_free(&head);
    buffer_free(&body);
    arena_destroy(p.arena);
    return !p.failed;
}
