/* See table.h. */
#include "table.h"

#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"

/* ---- rows ---- */

static void add_row(struct arena *arena, struct fuzz_table *table, int *capacity, enum ir_opcode opcode, int key,
                    int64_t value)
{
    if (table->count == *capacity)
        table->rows = vector_grow(arena, table->rows, capacity, table->count, sizeof *table->rows);
    table->rows[table->count++] = (struct fuzz_row){.opcode = opcode, .key = key, .value = value};
}

/* Attributes that say how, not where or how much. */
static bool is_flag(enum ir_attribute_key key)
{
    return key == IR_ATTRIBUTE_SATURATE || key == IR_ATTRIBUTE_FIXED || key == IR_ATTRIBUTE_PROMOTE ||
           key == IR_ATTRIBUTE_MULTIPLY || key == IR_ATTRIBUTE_UNROLL || key == IR_ATTRIBUTE_DROP ||
           key == IR_ATTRIBUTE_INSIDE || key == IR_ATTRIBUTE_DESCENDING;
}

/* Those by which passes note what they decided, for later levels. */
static bool is_decision(enum ir_attribute_key key)
{
    return key == IR_ATTRIBUTE_SHARED_OFFSET || key == IR_ATTRIBUTE_SHARED_BYTES || key == IR_ATTRIBUTE_INSTRUCTION;
}

static void make_rows(struct arena *arena, struct fuzz_table *table)
{
    int capacity = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        if (ir_op_info[op].level != IR_LEVEL_VALUE)
            continue;
        add_row(arena, table, &capacity, (enum ir_opcode)op, -1, 0);
        for (int key = 0; key < IR_ATTRIBUTE_COUNT; key++) {
            if (!(ir_op_info[op].attributes >> key & 1) || is_decision((enum ir_attribute_key)key))
                continue;
            if (is_flag((enum ir_attribute_key)key))
                add_row(arena, table, &capacity, (enum ir_opcode)op, key, -1);
            for (int i = 0; i < ir_attribute_words((enum ir_attribute_key)key); i++)
                add_row(arena, table, &capacity, (enum ir_opcode)op, key, i);
        }
        for (int e = 0; e < IR_ELEMENT_COUNT; e++) {
            if (op == OP_CAST || op == OP_BITCAST)
                add_row(arena, table, &capacity, (enum ir_opcode)op, ROW_TO, e);
            if (op == OP_DOT)
                add_row(arena, table, &capacity, (enum ir_opcode)op, ROW_FACTOR, e);
        }
    }
}

static void row_name(const struct fuzz_row *row, struct buffer *out)
{
    buffer_puts(out, ir_op_info[row->opcode].text);
    if (row->key == ROW_TO)
        buffer_printf(out, " to %s", ir_element_info[row->value].text);
    else if (row->key == ROW_FACTOR)
        buffer_printf(out, " with %s", ir_element_info[row->value].text);
    else if (row->key >= 0 && row->value < 0)
        buffer_printf(out, " %s", ir_attribute_info[row->key].text);
    else if (row->key >= 0)
        buffer_printf(out, " %s(%s)", ir_attribute_info[row->key].text,
                      ir_attribute_word((enum ir_attribute_key)row->key, row->value));
}

static bool matches(const struct fuzz_row *row, const struct ir_operation *op)
{
    if (row->key < 0)
        return true;
    if (row->key == ROW_TO)
        return op->results[0]->type->element == (enum ir_element)row->value;
    if (row->key == ROW_FACTOR)
        return op->operands[1]->type->element == (enum ir_element)row->value;
    const struct ir_attribute *attribute = ir_attribute(op, (enum ir_attribute_key)row->key);
    return attribute && (row->value < 0 ? attribute->number != 0 : attribute->number == row->value);
}

/* ---- columns ---- */

static bool carries(enum ir_opcode opcode)
{
    return opcode == OP_WHILE || opcode == OP_IF || opcode == OP_CALL || opcode == OP_MAP || opcode == OP_YIELD ||
           opcode == OP_RETURN || opcode == OP_CONDITION || opcode == OP_REDUCE || opcode == OP_SCAN;
}

static enum ir_element about(const struct ir_type *type, enum ir_opcode opcode)
{
    bool pointer = opcode == OP_POINTER_ADD || opcode == OP_POINTER_LOAD || opcode == OP_POINTER_STORE ||
                   opcode == OP_POINTER_ATOMIC || opcode == OP_POINTER_CAS;
    return pointer && type->element == IR_POINTER ? type->pointee : type->element;
}

/* A bit for each element that the operation is about. */
static unsigned columns(const struct ir_operation *op)
{
    unsigned bits = 0;
    if (op->opcode == OP_SELECT)
        return 1u << op->operands[1]->type->element;
    if (!carries(op->opcode)) {
        const struct ir_value *first = op->operand_count ? op->operands[0] : op->result_count ? op->results[0] : NULL;
        return first ? 1u << about(first->type, op->opcode) : 0;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (op->opcode != OP_IF && (op->opcode != OP_CONDITION || i))
            bits |= 1u << op->operands[i]->type->element;
    for (int i = 0; i < op->result_count; i++)
        bits |= 1u << op->results[i]->type->element;
    return bits;
}

static void count_operation(struct ir_operation *op, void *context)
{
    struct fuzz_table *table = context;
    unsigned bits = columns(op);
    table->operations++;
    for (int i = 0; i < table->count; i++) {
        struct fuzz_row *row = &table->rows[i];
        if (row->opcode != op->opcode || !matches(row, op))
            continue;
        for (int e = 0; e < IR_ELEMENT_COUNT; e++)
            row->count[e] += bits >> e & 1;
    }
}

void fuzz_table_count(struct fuzz_table *table, const struct fuzz_program *program)
{
    table->programs++;
    for (struct ir_function *each = program->module->first; each; each = each->next)
        ir_walk(each->body, count_operation, table);
}

void fuzz_table_add(struct fuzz_table *table, const struct fuzz_table *other)
{
    table->programs += other->programs;
    table->operations += other->operations;
    for (int i = 0; i < table->count; i++)
        for (int e = 0; e < IR_ELEMENT_COUNT; e++)
            table->rows[i].count[e] += other->rows[i].count[e];
}

/* ---- what is possible: operations of candidate types are shown to the verifier ---- */

enum { MOST_CANDIDATES = 48, MOST_OPERANDS = 5 };
struct search {
    struct arena *arena;
    struct ir_module *module;
    struct ir_function *function;
    const struct ir_type *types[MOST_CANDIDATES];
    int type_count;
    const struct fuzz_row *row;
    enum ir_element element;
    struct ir_operation op;
    struct ir_value operands[MOST_OPERANDS], result, positions; /* positions: of what is sorted, the second result */
    struct ir_value *operand_pointers[MOST_OPERANDS], *result_pointers[4];
    struct ir_attribute attributes[IR_ATTRIBUTE_COUNT];
    struct ir_block regions[2], *region_pointers[2];
    struct ir_value region_values[2 * MOST_OPERANDS];
};

static void candidate(struct search *s, const struct ir_type *type)
{
    for (int i = 0; i < s->type_count; i++)
        if (s->types[i] == type)
            return;
    s->types[s->type_count++] = type;
}

/* A scalar and a vector; of products a matrix. */
static void shapes(struct search *s, const struct ir_type *scalar)
{
    int64_t extent[2] = {4, 4};
    bool product = s->row->opcode == OP_DOT;
    if (!product)
        candidate(s, scalar);
    candidate(s, ir_type_with_shape(s->module->context, scalar, product ? 2 : 1, extent));
}

static void make_candidates(struct search *s, enum ir_element e)
{
    struct ir_context *context = s->module->context;
    const struct ir_type *pointer = ir_type_pointer(context, e == IR_POINTER ? IR_F32 : e, false);
    struct ir_type view = {.kind = IR_VIEW,
                           .element = e,
                           .rank = 1,
                           .extent = {IR_DYNAMIC},
                           .stride = {1},
                           .readable = true,
                           .writable = true};
    static const enum ir_element others[] = {IR_BOOL, IR_INDEX, IR_U64, IR_U32}, sums[] = {IR_F32, IR_F64, IR_I32};
    s->type_count = 0;
    shapes(s, e == IR_POINTER ? pointer : ir_type_scalar(context, e));
    if (e == IR_POINTER)
        view.pointee = IR_F32;
    if (s->row->opcode == OP_DOT) {
        for (int i = 0; i < 3; i++)
            shapes(s, ir_type_scalar(context, sums[i]));
    } else {
        shapes(s, pointer);
        candidate(s, ir_type_intern(context, &view));
        if (s->row->opcode == OP_SUBVIEW) { /* with its dimension dropped */
            view.rank = 0;
            view.extent[0] = view.stride[0] = 0;
            candidate(s, ir_type_intern(context, &view));
        }
        for (int i = 0; i < 4; i++)
            shapes(s, ir_type_scalar(context, others[i]));
        if (s->row->opcode == OP_HISTOGRAM)
            shapes(s, ir_type_scalar(context, IR_I32));
    }
    if (s->row->key == ROW_TO || s->row->key == ROW_FACTOR)
        shapes(s, s->row->value == IR_POINTER ? pointer : ir_type_scalar(context, (enum ir_element)s->row->value));
}

/* Region arguments as the operation wants them. */
static void make_regions(struct search *s)
{
    int count = 0;
    struct ir_context *context = s->module->context;
    for (int r = 0; r < 2; r++) {
        s->regions[r].arguments.count = 0;
        s->regions[r].parent = &s->op;
        s->region_pointers[r] = &s->regions[r];
    }
    enum ir_opcode opcode = s->op.opcode;
    int copies = opcode == OP_REDUCE || opcode == OP_SCAN ? 2 : 1;
    for (int copy = 0; copy < copies; copy++)
        for (int i = 0; i < s->op.operand_count; i++) {
            const struct ir_type *type = s->op.operands[i]->type;
            if (opcode == OP_IF || (opcode == OP_FOR && (i == 1 || i == 2)))
                continue;
            if (opcode == OP_MAP || opcode == OP_REDUCE || opcode == OP_SCAN)
                type = ir_type_with_shape(context, type, 0, NULL);
            s->region_values[count].type = type;
            for (int r = 0; r < 2; r++) {
                s->regions[r].arguments.data[count] = &s->region_values[count];
                s->regions[r].arguments.count = count + 1;
            }
            count++;
        }
}

static void make_callee(struct search *s)
{
    struct ir_function *callee = ir_function_create(s->module, "callee", (struct location){0});
    for (int i = 0; i < s->op.operand_count; i++)
        ir_block_argument(callee->body, s->op.operands[i]->type, NULL);
    for (int i = 0; i < s->op.result_count; i++)
        vector_push(s->arena, &callee->results, s->op.results[i]->type);
}

/* Attributes: those required, and the row's, each tried with a few values. */
static bool try_attributes(struct search *s)
{
    enum ir_opcode opcode = s->op.opcode;
    uint64_t wanted = ir_required_attributes(opcode);
    static const int64_t places[3][1] = {{IR_POINT}, {4}, {IR_GATHER}}, zero[4] = {0};
    static const int64_t identity[2] = {0, 1};
    if (s->row->key >= 0 && s->row->key < IR_ATTRIBUTE_COUNT)
        wanted |= UINT64_C(1) << s->row->key;
    for (int round = 0; round < 9; round++) { /* of places, kinds, actions … */
        struct ir_attribute *last = NULL;
        s->op.attributes = NULL;
        for (int key = 0; key < IR_ATTRIBUTE_COUNT; key++) {
            if (!(wanted >> key & 1))
                continue;
            struct ir_attribute *a = &s->attributes[key];
            int rank = s->op.operand_count ? s->op.operands[0]->type->rank : 0;
            *a = (struct ir_attribute){.key = (enum ir_attribute_key)key, .name = "callee"};
            int words = ir_attribute_words(a->key);
            a->number = key == s->row->key ? (s->row->value < 0 ? 1 : s->row->value) : words ? round % words : 0;
            if (key == IR_ATTRIBUTE_PLACE) {
                a->count = 1;
                a->list = places[round % 3];
            } else if (key == IR_ATTRIBUTE_PERMUTATION || key == IR_ATTRIBUTE_START) {
                a->count = rank < 2 ? rank : 2;
                a->list = key == IR_ATTRIBUTE_START ? zero : identity;
            }
            if (last)
                last->next = a;
            else
                s->op.attributes = a;
            last = a;
        }
        if (!ir_verify_rules(&s->op))
            return true;
        if (!wanted)
            return false;
    }
    return false;
}

static bool try_results(struct search *s)
{
    const struct ir_op_info *info = &ir_op_info[s->op.opcode];
    bool sorts = s->op.opcode == OP_SORT;
    int most = info->results >= 0 ? info->results : 1 + sorts, first = info->results >= 0 ? info->results : 0;
    for (int count = first; count <= most; count++) {
        s->op.result_count = count;
        for (int t = 0; t < (count ? s->type_count : 1); t++) {
            s->result.type = s->types[t];
            if (sorts && s->types[t]->kind == IR_TILE)
                s->positions.type = ir_type_tile(s->module->context, IR_INDEX, s->types[t]->rank, s->types[t]->extent);
            s->result_pointers[1] = sorts ? &s->positions : &s->result;
            if (s->row->key == ROW_TO && s->result.type->element != (enum ir_element)s->row->value)
                continue;
            if (s->row->key == ROW_FACTOR && s->op.operands[1]->type->element != (enum ir_element)s->row->value)
                continue;
            if (!(columns(&s->op) >> s->element & 1))
                continue;
            make_regions(s);
            if (s->op.opcode == OP_CALL)
                make_callee(s);
            bool good = try_attributes(s);
            if (s->op.opcode == OP_CALL)
                ir_function_remove(ir_function_find(s->module, "callee"));
            if (good)
                return true;
        }
    }
    return false;
}

static bool try_operands(struct search *s, int at, int count)
{
    if (at == count) {
        s->op.operand_count = count;
        return try_results(s);
    }
    bool index = at == 1 && ir_op_info[s->op.opcode].attributes >> IR_ATTRIBUTE_PLACE & 1;
    for (int t = 0; t < s->type_count; t++) {
        s->operands[at].type = s->types[t];
        if (index && s->types[t]->element != IR_INDEX)
            continue;
        if (at == 0 && !carries(s->op.opcode) && s->op.opcode != OP_SELECT &&
            about(s->types[t], s->op.opcode) != s->element)
            continue;
        if (try_operands(s, at + 1, count))
            return true;
    }
    return false;
}

static bool is_possible(struct search *s, const struct fuzz_row *row, enum ir_element element)
{
    const struct ir_op_info *info = &ir_op_info[row->opcode];
    s->row = row;
    s->element = element;
    make_candidates(s, element);
    s->op = (struct ir_operation){.opcode = row->opcode,
                                  .block = s->function->body,
                                  .operands = s->operand_pointers,
                                  .results = s->result_pointers,
                                  .region_count = info->regions,
                                  .regions = s->region_pointers};
    bool carried = row->opcode == OP_CALL || carries(row->opcode);
    int least = info->least < 1 && info->most ? carried : info->least, most = least;
    if (row->opcode == OP_MATH)
        most = info->most;
    else if (row->opcode == OP_CONDITION)
        most = 2;                                        /* the condition itself, and a carried value */
    else if (info->attributes >> IR_ATTRIBUTE_PLACE & 1) /* the view, one index, and what stands behind */
        most = least = row->opcode == OP_ATOMIC_CAS ? 4 : row->opcode == OP_INSIDE ? 2 : 3;
    else if (row->opcode == OP_SUBVIEW)
        most = least = 3;
    for (int count = least; count <= most; count++)
        if (try_operands(s, 0, count))
            return true;
    return false;
}

struct fuzz_table *fuzz_table_create(struct arena *arena)
{
    struct fuzz_table *table = ARENA_NEW(arena, struct fuzz_table);
    struct arena *scratch = arena_create();
    struct search *s = ARENA_NEW(scratch, struct search);
    make_rows(arena, table);
    s->arena = scratch;
    s->module = ir_module_create(ir_context_create(scratch), scratch);
    s->function = ir_function_create(s->module, "scratch", (struct location){0});
    s->function->is_kernel = true;
    s->function->grid_rank = 1;
    for (int i = 0; i < MOST_OPERANDS; i++)
        s->operand_pointers[i] = &s->operands[i];
    for (int i = 0; i < 4; i++)
        s->result_pointers[i] = &s->result;
    for (int r = 0; r < 2; r++)
        s->regions[r].arguments.data = ARENA_ARRAY(scratch, struct ir_value *, 2 * MOST_OPERANDS);
    const struct fuzz_row *plain = NULL; /* the operation's own row: what it cannot be, no other row of it can */
    for (int i = 0; i < table->count; i++) {
        struct fuzz_row *row = &table->rows[i];
        plain = row->key < 0 ? row : plain;
        for (int e = 0; e < IR_ELEMENT_COUNT; e++)
            row->possible[e] = (plain == row || plain->possible[e]) && is_possible(s, row, (enum ir_element)e);
    }
    arena_destroy(scratch);
    return table;
}

/* ---- output ---- */

int fuzz_table_missing(const struct fuzz_table *table, int64_t least, FILE *out)
{
    int missing = 0;
    for (int i = 0; i < table->count; i++)
        for (int e = 0; e < IR_ELEMENT_COUNT; e++) {
            const struct fuzz_row *row = &table->rows[i];
            struct buffer name = {0};
            row_name(row, &name);
            if (row->count[e] && !row->possible[e])
                die("'%s' of %s was generated though the search finds it impossible", name.data,
                    ir_element_info[e].text);
            if (row->possible[e] && row->count[e] < least) {
                missing++;
                if (out)
                    fprintf(out, "%s, %s: %lld\n", name.data, ir_element_info[e].text, (long long)row->count[e]);
            }
            buffer_free(&name);
        }
    return missing;
}

void fuzz_table_print(const struct fuzz_table *table, int64_t least, FILE *out)
{
    int possible = 0;
    for (int i = 0; i < table->count; i++)
        for (int e = 0; e < IR_ELEMENT_COUNT; e++)
            possible += table->rows[i].possible[e];
    fprintf(out,
            "# Operations and elements in random programs\n\n"
            "Made by `make fuzz-table`: %lld programs, %lld operations.  "
            "`·`: the verifier allows no such operation.\n"
            "%d cells are possible; %d of them are below %lld.\n\n| operation |",
            (long long)table->programs, (long long)table->operations, possible, fuzz_table_missing(table, least, NULL),
            (long long)least);
    for (int e = 0; e < IR_ELEMENT_COUNT; e++)
        fprintf(out, " %s |", ir_element_info[e].text);
    fputs("\n|---|", out);
    for (int e = 0; e < IR_ELEMENT_COUNT; e++)
        fputs("--:|", out);
    fputc('\n', out);
    for (int i = 0; i < table->count; i++) {
        const struct fuzz_row *row = &table->rows[i];
        struct buffer name = {0};
        bool any = false;
        for (int e = 0; e < IR_ELEMENT_COUNT; e++)
            any |= row->possible[e];
        row_name(row, &name);
        if (any) {
            fprintf(out, "| %s |", name.data);
            for (int e = 0; e < IR_ELEMENT_COUNT; e++)
                if (row->possible[e])
                    fprintf(out, " %lld |", (long long)row->count[e]);
                else
                    fputs(" · |", out);
            fputc('\n', out);
        }
        buffer_free(&name);
    }
}
