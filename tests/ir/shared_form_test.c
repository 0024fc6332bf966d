/* The swizzled form of shared memory and tensor maps, element by element: each box of a buffer is filled as the
 * hardware does it (rows of the swizzle's width one after the other, bits 4 to 6 of an address XORed with bits 7 to 9),
 * and every byte must be where the layout says. */
#include <stdlib.h>
#include <string.h>

#include "ir/facts/shared_form.h"
#include "ir/text.h"

static int checks, failures;

static void check(bool good, const char *what, const char *detail)
{
    checks++;
    if (good)
        return;
    failures++;
    printf("%s: %s\n", what, detail);
}

/* ---- forms ---- */

static int64_t hardware_address(int64_t address, int swizzle)
{
    int64_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return address ^ ((address >> 7 & mask) << 4);
}

/* Boxes of `rows` rows that `blocks` blocks share out: each element is in one, where its layout says. */
static void check_boxes(struct arena *arena, const struct ir_type *type, const struct shared_form *form, int blocks,
                        int rows, const char *name)
{
    const struct layout *layout = type->layout;
    int bytes = ir_element_info[type->element].bits / 8, width = form->swizzle ? form->swizzle : 16;
    int(*starts)[LAYOUT_RANK];
    int count = tensor_map_shared_boxes(arena, type, blocks, &starts);
    bool good = count % blocks == 0;
    char *seen = arena_alloc(arena, (size_t)layout_size(layout));
    memset(seen, 0, (size_t)layout_size(layout));
    for (int i = 0; i < count; i++)
        for (int row = 0; row < rows; row++)
            for (int column = 0; column < form->box[form->contiguous]; column++) {
                int coordinates[LAYOUT_RANK];
                memcpy(coordinates, starts[i], sizeof coordinates);
                coordinates[form->row] += row;
                coordinates[form->contiguous] += column;
                int64_t address = ((int64_t)i * rows + row) * width + column * bytes, index = 0;
                good = good &&
                       shared_form_offset(layout, bytes, coordinates) == hardware_address(address, form->swizzle);
                for (int d = 0; d < layout->rank; d++) {
                    good = good && coordinates[d] < layout->extent[d];
                    index = index * layout->extent[d] + coordinates[d];
                }
                if (good)
                    seen[index]++;
            }
    for (int64_t i = 0; i < layout_size(layout); i++)
        good = good && seen[i] == 1;
    check(good, "the boxes do not fill the buffer as its layout says", name);
    check(rows * width % (8 * width) == 0, "a box does not start where the swizzle does", name);
}

static void check_filling(struct arena *arena, struct ir_context *context, enum ir_element element,
                          const struct layout *layout, const struct shared_form *form, const char *name)
{
    int bytes = ir_element_info[element].bits / 8, width = form->swizzle ? form->swizzle : 16;
    int64_t extent[LAYOUT_RANK];
    for (int d = 0; d < layout->rank; d++)
        extent[d] = layout->extent[d];
    const struct ir_type *type = ir_type_buffer(context, element, layout->rank, extent, layout, 1);
    check(tensor_map_shared_rows(type, 1) == form->box[form->row], "a block alone takes other boxes", name);
    for (int blocks = 1; blocks <= 8; blocks *= 2) {
        int rows = tensor_map_shared_rows(type, blocks), high = form->box[form->row];
        if (rows)
            check_boxes(arena, type, form, blocks, rows, name);
        check(rows == high || rows == high / blocks || (!rows && high % (8 * blocks)), "rows for several blocks", name);
    }
    for (int d = 0; d < layout->rank; d++)
        check(form->box[d] >= 1 && form->box[d] <= 256, "a box is too large", name);
    check(form->box[form->contiguous] * bytes == width, "a row of a box has not the swizzle's width", name);
    check(form->box_bytes == (int64_t)width * form->box[form->row], "the bytes of a box", name);
}

struct form_case {
    int rank, extent[3], contiguous, bytes, swizzle, box[3];
};
static const struct form_case form_cases[] = {
    {2, {128, 64}, 1, 2, 128, {128, 64}},  /* one panel */
    {2, {128, 128}, 1, 2, 128, {128, 64}}, /* two */
    {2, {64, 256}, 0, 2, 128, {64, 256}},  /* the other dimension: rows are columns */
    {2, {128, 256}, 0, 2, 128, {64, 256}},
    {2, {192, 64}, 1, 2, 128, {192, 64}}, /* rows repeat at once behind each other */
    {2, {192, 128}, 1, 2, 128, {64, 64}}, /* panels lie between */
    {2, {320, 64}, 1, 2, 128, {64, 64}},  /* more than 256 rows */
    {2, {512, 64}, 1, 2, 128, {256, 64}},
    {2, {64, 192}, 1, 2, 128, {64, 64}},   /* panels repeat */
    {2, {192, 192}, 1, 2, 128, {192, 64}}, /* both: rows innermost */
    {2, {192, 192}, 0, 2, 128, {64, 192}},
    {2, {64, 96}, 1, 2, 64, {64, 32}}, /* three panels of 64 bytes */
    {2, {96, 96}, 1, 2, 64, {96, 32}},
    {2, {128, 16}, 1, 2, 32, {128, 16}},
    {2, {128, 32}, 1, 2, 64, {128, 32}},
    {2, {16, 8}, 0, 2, 32, {16, 8}},
    {2, {128, 128}, 1, 1, 128, {128, 128}}, /* bytes */
    {2, {128, 32}, 1, 1, 32, {128, 32}},
    {2, {64, 64}, 1, 4, 128, {64, 32}}, /* words */
    {2, {64, 64}, 0, 4, 128, {32, 64}},
    {2, {192, 32}, 1, 4, 128, {192, 32}},
    {2, {64, 16}, 1, 8, 128, {64, 16}},
    {3, {4, 64, 64}, 2, 2, 128, {1, 64, 64}}, /* batches */
    {3, {3, 192, 64}, 2, 2, 128, {1, 192, 64}},
    {3, {2, 64, 128}, 1, 2, 128, {1, 64, 128}},
    {3, {64, 2, 32}, 0, 2, 128, {64, 1, 32}},
};

static void check_forms(struct arena *arena, struct ir_context *context)
{
    static const enum ir_element elements[] = {[1] = IR_F8E4M3, [2] = IR_BF16, [4] = IR_F32, [8] = IR_F64};
    struct layout_table *table = ir_context_layouts(context);
    for (size_t i = 0; i < sizeof form_cases / sizeof *form_cases; i++) {
        const struct form_case *c = &form_cases[i];
        const char *name = arena_printf(arena, "[%d, %d, %d] contiguous %d, %d bytes", c->extent[0], c->extent[1],
                                        c->extent[2], c->contiguous, c->bytes);
        const struct layout *layout = shared_form_layout(table, c->rank, c->extent, c->bytes, c->contiguous);
        struct shared_form form;
        check(layout != NULL, "there is no layout", name);
        if (!layout || !shared_form_of(table, layout, c->bytes, &form)) {
            check(false, "the layout is not of the form", name);
            continue;
        }
        check(form.contiguous == c->contiguous && form.swizzle == c->swizzle, "contiguous or swizzle", name);
        for (int d = 0; d < c->rank; d++)
            check(form.box[d] == c->box[d], arena_printf(arena, "box %d is %d", d, form.box[d]), name);
        check_filling(arena, context, elements[c->bytes], layout, &form, name);
    }
}

/* One box behind the other, or each block's part of them. */
static void check_row_boxes(struct arena *arena, const struct ir_type *type, int blocks, const char *name)
{
    int(*starts)[LAYOUT_RANK];
    int elements = tensor_map_shared_rows(type, blocks);
    int count = elements ? tensor_map_shared_boxes(arena, type, blocks, &starts) : 0;
    for (int i = 0; i < count; i++)
        check(starts[i][0] == i * elements, "a box of a row starts elsewhere", name);
    check(!elements || count * elements == type->extent[0], "the boxes do not fill the row", name);
}

/* Rows of one dimension: boxes of 256 elements at the most. */
static void check_rows(struct arena *arena, struct ir_context *context)
{
    static const struct {
        int extent, box;
        const char *name;
    } rows[] = {
        {64, 64, "a row of 64"}, {96, 96, "a row of 96"}, {512, 256, "a row of 512"}, {384, 128, "a row of 384"}};
    struct layout_table *table = ir_context_layouts(context);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct layout *layout = layout_linear(table, 1, &rows[i].extent, (const int[]){0});
        struct shared_form form;
        check(shared_form_of(table, layout, 4, &form) && form.swizzle == 0 && form.contiguous == 0 && form.row == 0 &&
                  form.box[0] == rows[i].box && form.box_bytes == 4 * rows[i].box,
              rows[i].name, "has another form");
        int64_t extent = rows[i].extent;
        for (int blocks = 1; blocks <= 8; blocks *= 2)
            check_row_boxes(arena, ir_type_buffer(context, IR_F32, 1, &extent, layout, 1), blocks, rows[i].name);
    }
}

/* Layouts that are not of the form, and one without swizzle that is. */
static void check_other_layouts(struct arena *arena, struct ir_context *context)
{
    struct layout_table *table = ir_context_layouts(context);
    struct shared_form form;
    static const int order[] = {1, 0};
    static const int wide[] = {64, 64}, narrow[] = {64, 8}, flat[] = {4, 64}, small[] = {64, 8}, thin[] = {4, 64};
    check(!shared_form_of(table, layout_linear(table, 2, wide, order), 2, &form), "linear rows",
          "are taken for swizzled");
    check(!shared_form_of(table, layout_linear(table, 2, flat, order), 2, &form), "four rows",
          "are taken for swizzled");
    check(!shared_form_of(table, layout_linear(table, 1, (const int[]){4}, (const int[]){0}), 2, &form), "eight bytes",
          "are a box");
    check(!shared_form_layout(table, 2, small, 2, 1), "rows of 16 bytes", "have a swizzle");
    check(!shared_form_layout(table, 2, thin, 2, 1), "four rows", "have a swizzle");
    const struct layout *rows = layout_linear(table, 2, narrow, order);
    check(shared_form_of(table, rows, 2, &form) && form.swizzle == 0 && form.box[0] == 64 && form.box[1] == 8,
          "rows of 16 bytes", "have the form without swizzle");
    check_filling(arena, context, IR_BF16, rows, &form, "rows of 16 bytes");
    /* the swizzle of another width in rows of 128 bytes */
    const struct layout *swizzled = layout_swizzled(table, 2, wide, 2, 128);
    check(!shared_form_of(table, swizzled, 4, &form), "a swizzle of 2-byte elements",
          "is taken for one of 4-byte ones");
}

/* ---- tensor maps ---- */

static struct ir_module *parse(struct arena *arena, const char *text)
{
    struct source *source = ARENA_NEW(arena, struct source);
    struct diagnostics *diagnostics = diagnostics_create(arena);
    *source = (struct source){"map", text, strlen(text), NULL};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, source);
    if (!module) {
        diag_print(diagnostics, stdout, false);
        exit(1);
    }
    return module;
}

#define SWIZZLED "#(64, 64; offset b0:5 a0^b3 a1^b4 a2^b5 a3:5)"
#define GOOD "view<bf16, [?, ?], [?, 1], inout> {align(16), stride_multiple(8, 0), limit(2147483648)}"

struct map_case {
    const char *view, *place, *buffer; /* place: of TMA with the indexes %i and %t (a gather) */
    const char *reason;                /* NULL: there is a map */
    int rank, dimension[4], box[4];
};
static const struct map_case map_cases[] = {
    {GOOD, "%i +: 64, %i +: 64", "bf16, [64, 64], slots(1), " SWIZZLED, NULL, 2, {1, 0}, {64, 64}},
    {"view<bf16, [4, ?, ?], [64, ?, 1], in> {align(128), stride_multiple(0, 256, 0), limit(2147483648)}",
     "%i, %i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     NULL,
     3,
     {2, 1, 0},
     {64, 64, 1}},
    {"view<bf16, [?, 4, ?], [1, 8, ?], in> {align(128), stride_multiple(0, 0, 8), limit(2147483648)}",
     "%i +: 64, %i, %i +: 64",
     "bf16, [64, 64], slots(1), #(64, 64; offset a0:5 a3^b0 a4^b1 a5^b2 b3:5)",
     NULL,
     3,
     {0, 2, 1},
     {64, 64, 1}},
    {"view<bf16, [?, ?], [?, 1], in?> {align(16), stride_multiple(8, 0), limit(2147483648)}",
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "may be absent",
     0,
     {0},
     {0}},
    {"view<bf16, [?, ?], [?, 2], in> {align(16), stride_multiple(8, 0), limit(2147483648)}",
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "has stride 1",
     0,
     {0},
     {0}},
    {"view<bf16, [?, ?], [1, ?], in> {align(16), stride_multiple(0, 8), limit(2147483648)}",
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "has stride 1",
     0,
     {0},
     {0}},
    {GOOD, "%i +: 64, gather %t", "bf16, [64, 64], slots(1), " SWIZZLED, "gathers", 0, {0}, {0}},
    {GOOD,
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), #(64, 64; offset b0:5 a0:5)",
     "as TMA fills it",
     0,
     {0},
     {0}},
    {GOOD, "%i +: 64, %i +: 64", "bf16, [64, 32], slots(1), #(64, 32; offset b0:4 a0:5)", "other extents", 0, {0}, {0}},
    {"view<index, [?, ?], [?, 1], in> {align(16), stride_multiple(8, 0), limit(2147483648)}",
     "%i +: 64, %i +: 64",
     "index, [64, 64], slots(1), " SWIZZLED,
     "no tensor map has",
     0,
     {0},
     {0}},
    {"view<bf16, [1, 1, 1, 1, ?, ?], [8, 8, 8, 8, ?, 1], in> {align(16), stride_multiple(0, 0, 0, 0, 8, 0)}",
     "%i, %i, %i, %i, %i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "more than 5",
     0,
     {0},
     {0}},
    {"view<bf16, [?, ?], [?, 1], in> {align(8), stride_multiple(8, 0), limit(2147483648)}",
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "base",
     0,
     {0},
     {0}},
    {"view<bf16, [?, ?], [?, 1], in> {align(16), stride_multiple(4, 0), limit(2147483648)}",
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "a stride of the view",
     0,
     {0},
     {0}},
    {"view<bf16, [?, ?], [100, 1], in> {align(16), stride_multiple(8, 0), limit(2147483648)}",
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "a stride of the view",
     0,
     {0},
     {0}},
    {"view<bf16, [?, ?], [?, 1], in> {align(16), stride_multiple(8, 0)}",
     "%i +: 64, %i +: 64",
     "bf16, [64, 64], slots(1), " SWIZZLED,
     "2^31",
     0,
     {0},
     {0}},
};

static void check_map(struct arena *arena, const struct map_case *c)
{
    const char *text = arena_printf(arena,
                                    "kernel @f(%%a: %s, %%i: i32, %%t: i32[64] #(64; register a0:5; lane .5)) grid(1)\n"
                                    "    level(machine) warps(1) {\n    %%b = buffer : buffer<%s>\n"
                                    "    %%m = mbarrier arrivals(1) : mbarrier<1>\n"
                                    "    tma_load %%a[%s], %%b, %%m, %%i\n    return\n}\n",
                                    c->view, c->buffer, c->place);
    const struct ir_function *function = parse(arena, text)->first;
    const struct ir_operation *load = function->body->first->next->next;
    struct tensor_map map, *maps;
    const char *reason = NULL;
    bool found = tensor_map_of(load, &map, &reason);
    check(found == !c->reason, c->view, reason ? reason : "has a map");
    check(tensor_map_collect(arena, function, &maps) == (c->reason ? 0 : 1), c->view, "maps of the function");
    if (c->reason) {
        check(reason && strstr(reason, c->reason), c->view, reason ? reason : "gives no reason");
    } else if (found) {
        check(map.rank == c->rank && map.argument == 0 && map.element == IR_BF16 && map.swizzle == 128, c->view, "map");
        for (int i = 0; i < c->rank; i++)
            check(map.dimension[i] == c->dimension[i] && map.box[i] == c->box[i], c->view, "dimensions and boxes");
    }
}

/* Parts of an argument: along the rows, along two dimensions, along what is contiguous, of an argument of four. */
static void check_parts(struct arena *arena)
{
    static const struct {
        const char *argument, *part, *type, *place, *reason;
    } cases[] = {
        {"view<bf16, [?, ?, 64], [?, ?, 1], in> {align(16), stride_multiple(8, 8, 0), limit(2147483648)}",
         "%f .. %t, %z .. %e1, %z .. %c64", "view<bf16, [?, ?, 64], [?, ?, 1], in>", "%f +: 64, %f, %f +: 64", NULL},
        {"view<bf16, [?, ?, 64], [?, ?, 1], in> {align(16), stride_multiple(8, 8, 0), limit(2147483648)}",
         "%f .. %t, %z .. %t, %z .. %c64", "view<bf16, [?, ?, 64], [?, ?, 1], in>", "%f +: 64, %f, %f +: 64",
         "a part of another"},
        {"view<bf16, [?, ?, ?], [?, ?, 1], in> {align(16), stride_multiple(8, 8, 0), limit(2147483648)}",
         "%z .. %e0, %z .. %e1, %z .. %t", "view<bf16, [?, ?, ?], [?, ?, 1], in>", "%f +: 64, %f, %f +: 64",
         "along what is contiguous"},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        const char *text = arena_printf(
            arena,
            "kernel @f(%%a: %s, %%f: index, %%t: index, %%i: i32) grid(1)\n    level(machine) warps(1) {\n"
            "    %%z = constant value(0) : index\n    %%c64 = constant value(64) : index\n"
            "    %%e0 = extent dimension(0) %%a : index\n    %%e1 = extent dimension(1) %%a : index\n"
            "    %%p = subview %%a[%s] : %s\n    %%b = buffer : buffer<bf16, [64, 64], slots(1), " SWIZZLED ">\n"
            "    %%m = mbarrier arrivals(1) : mbarrier<1>\n    tma_load %%p[%s], %%b, %%m, %%i\n    return\n}\n",
            cases[i].argument, cases[i].part, cases[i].type, cases[i].place);
        const struct ir_operation *load = ir_terminator(parse(arena, text)->first->body)->previous;
        struct tensor_map map;
        const char *reason = NULL;
        bool found = tensor_map_of(load, &map, &reason);
        check(found == !cases[i].reason && (found || strstr(reason, cases[i].reason)), cases[i].part,
              reason ? reason : "has a map");
        check(!found || (map.rank == 5 && map.part == 0 && map.dimension[3] == 0 && map.dimension[4] == 0 &&
                         map.box[1] == 64 && map.box[3] == 1 && map.box[4] == 1),
              cases[i].part, "two dimensions more");
    }
}

/* Each map once, in the order of operations, those of roles included. */
static void check_collection(struct arena *arena)
{
    const struct ir_module *module = parse(
        arena,
        "kernel @f(%a: " GOOD ", %c: " GOOD ", %i: i32) grid(1) level(machine) warps(2) {\n"
        "    %b = buffer : buffer<bf16, [64, 64], slots(1), " SWIZZLED ">\n"
        "    %d = buffer : buffer<bf16, [32, 64], slots(1), #(32, 64; offset b0:5 a0^b3 a1^b4 a2^b5 a3:4)>\n"
        "    %m = mbarrier arrivals(1) : mbarrier<1>\n    roles role_warps(1, 1) {\n"
        "        tma_store %c[%i +: 64, %i +: 64], %b\n        yield\n    } {\n"
        "        tma_load %a[%i +: 64, %i +: 64], %b, %m, %i\n        tma_load %a[%i +: 32, %i +: 64], %d, %m, %i\n"
        "        tma_load %c[%i +: 64, %i +: 64], %b, %m, %i\n        yield\n    }\n    return\n}\n");
    struct tensor_map *maps;
    int count = tensor_map_collect(arena, module->first, &maps);
    check(count == 3, "collection", "three maps");
    check(count == 3 && maps[0].argument == 1 && maps[1].argument == 0 && maps[2].argument == 0, "collection", "order");
    check(count == 3 && maps[1].box[1] == 64 && maps[2].box[1] == 32, "collection", "boxes");
    const struct ir_module *function = parse(
        arena, "function @f(%a: view<bf16, [64, 64], [64, 1], in>, %i: i32) level(machine) {\n"
               "    %b = buffer : buffer<bf16, [64, 64], slots(1), " SWIZZLED ">\n"
               "    %m = mbarrier arrivals(1) : mbarrier<1>\n"
               "    tma_load %a[%i +: 64, %i +: 64], %b, %m, %i\n    return\n}\n");
    struct tensor_map map;
    const char *reason;
    check(!tensor_map_of(function->first->body->first->next->next, &map, &reason) && strstr(reason, "no argument"),
          "a function's parameter", "is no argument of a kernel");
}

int main(void)
{
    struct arena *arena = arena_create();
    struct ir_context *context = ir_context_create(arena);
    check_forms(arena, context);
    check_rows(arena, context);
    check_other_layouts(arena, context);
    for (size_t i = 0; i < sizeof map_cases / sizeof *map_cases; i++)
        check_map(arena, &map_cases[i]);
    check_parts(arena);
    check_collection(arena);
    arena_destroy(arena);
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
