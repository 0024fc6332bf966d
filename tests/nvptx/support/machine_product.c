/* See machine_product.h.
 *
 *   buffers, mbarriers
 *   roles {                                        } {
 *       for programs                                   for programs
 *           for k                                          for k
 *               wait full; product; wait for the               wait empty; announce; load A, B
 *               one before; free its slot
 *           wait for the last; panels to memory
 *   }
 */
#include "machine_product.h"

#include "ir/layout/layout.h"
#include "ir/facts/shared_form.h"

struct texts {
    const char *a_tile, *a, *b, *a_factor, *b_factor, *sum, *panel, *panel_sum;
};

static const char *buffer_text(struct arena *arena, const char *element, const struct layout *layout, int slots)
{
    return arena_printf(arena, "buffer<%s, [%d, %d], slots(%d), %s>", element, layout->extent[0], layout->extent[1],
                        slots, layout_text(arena, layout));
}

static const char *tile_text(struct arena *arena, const char *element, const struct layout *layout)
{
    return arena_printf(arena, "%s[%d, %d] %s", element, layout->extent[0], layout->extent[1],
                        layout_text(arena, layout));
}

/* Values inside roles are written %.name; here the dot becomes the role's own letter: names are unique in a function. */
static void put_role(struct buffer *out, const struct buffer *text, char letter)
{
    for (size_t i = 0; i < text->size; i++) {
        buffer_putc(out, text->data[i]);
        if (text->data[i] != '%' || text->data[i + 1] != '.')
            continue;
        buffer_printf(out, "%c_", letter);
        i++;
    }
}

/* The number of programs side by side is 8 along m: as the raster of the front end. */
static void put_place(struct buffer *out, const struct machine_product *p)
{
    buffer_printf(out,
                  "            %%.per = mul %%eight, %%tiles_n : i32\n"
                  "            %%.group = div %%.p, %%.per : i32\n"
                  "            %%.before = mul %%.group, %%.per : i32\n"
                  "            %%.rest = sub %%.p, %%.before : i32\n"
                  "            %%.first = mul %%.group, %%eight : i32\n"
                  "            %%.left = sub %%tiles_m, %%.first : i32\n"
                  "            %%.high = min %%.left, %%eight : i32\n"
                  "            %%.column = div %%.rest, %%.high : i32\n"
                  "            %%.passed = mul %%.column, %%.high : i32\n"
                  "            %%.in = sub %%.rest, %%.passed : i32\n"
                  "            %%.row = add %%.first, %%.in : i32\n"
                  "            %%.bm = constant value(%d) : i32\n            %%.bn = constant value(%d) : i32\n"
                  "            %%.m = mul %%.row, %%.bm : i32\n            %%.n = mul %%.column, %%.bn : i32\n",
                  p->m, p->n);
}

/* slot and phase after s and ph under the names NAME_s and NAME_ph. */
static void put_next(struct buffer *out, const char *s, const char *phase, const char *name)
{
    buffer_printf(out,
                  "                %%.%s_up = add %s, %%one : i32\n"
                  "                %%.%s_wraps = compare predicate(eq) %%.%s_up, %%stages : bool\n"
                  "                %%.%s_s = select %%.%s_wraps, %%zero, %%.%s_up : i32\n"
                  "                %%.%s_flip = xor %s, %%one : i32\n"
                  "                %%.%s_ph = select %%.%s_wraps, %%.%s_flip, %s : i32\n",
                  name, s, name, name, name, name, name, name, phase, name, name, name, phase);
}

static void put_epilogue(struct buffer *out, const struct machine_product *p, const struct texts *t)
{
    int panels = p->n / p->panel;
    for (int i = 0; i < panels; i++) {
        buffer_printf(out, "            %%.part%d = extract start(0, %d) %%.done : %s\n", i, i * p->panel,
                      t->panel_sum);
        buffer_printf(out, "            %%.narrow%d = cast %%.part%d : %s\n", i, i, t->panel);
        buffer_printf(out,
                      "            %%.at%d = constant value(%d) : i32\n            %%.n%d = add %%.n, %%.at%d : i32\n",
                      i, i * p->panel, i, i);
        if (!p->staged) {
            buffer_printf(out, "            store %%c[%%.m +: %d, %%.n%d +: %d], %%.narrow%d\n", p->m, i, p->panel, i);
            continue;
        }
        buffer_printf(out, "            tma_wait pending(%d)\n            barrier\n", p->staged - 1);
        buffer_printf(out,
                      "            buffer_store %%.narrow%d, %%staging%d\n            fence_async\n"
                      "            barrier\n",
                      i, i % p->staged);
        buffer_printf(out, "            tma_store %%c[%%.m +: %d, %%.n%d +: %d], %%staging%d\n            tma_commit\n",
                      p->m, i, p->panel, i % p->staged);
    }
}

static void put_consumer(struct buffer *out, const struct machine_product *p, const struct texts *t)
{
    buffer_printf(
        out,
        "        %%.end_s, %%.end_ph = for %%.p: i32 = %%mine to %%all step %%blocks iter(%%.s0: i32 = %%zero, %%.ph0: i32 = "
        "%%zero) {\n");
    put_place(out, p);
    buffer_printf(out, "            %%.start = undefined : %s\n", t->sum);
    buffer_printf(
        out,
        "            %%.sum, %%.s, %%.ph, %%.last = for %%.k: i32 = %%zero to %%K step %%bk iter(%%.acc: %s = "
        "%%.start, %%.si: i32 = %%.s0, %%.phi: i32 = %%.ph0, %%.old: i32 = %%.s0) {\n",
        t->sum);
    buffer_printf(out, "                %%.more = compare predicate(ne) %%.k, %%zero : bool\n"
                       "                mbarrier_wait %%full, %%.si, %%.phi\n");
    buffer_printf(out,
                  "                %%.ta = slot %%ring_a, %%.si : %s\n                %%.tb = slot %%ring_b, %%.si : "
                  "%s\n",
                  t->a, t->b);
    if (p->a_across)
        buffer_printf(out, "                %%.fa = buffer_permute permutation(1, 0) %%.ta : %s\n", t->a_factor);
    if (!p->b_across)
        buffer_printf(out, "                %%.fb = buffer_permute permutation(1, 0) %%.tb : %s\n", t->b_factor);
    const char *factor = p->a_across ? "%.fa" : "%.ta";
    if (p->by_registers)
        buffer_printf(out, "                %%.tile = buffer_load %s : %s\n", factor, t->a_tile);
    buffer_printf(
        out, "                %%.sent = dot_async precision(%s) instruction(wgmma) %s, %s, %%.acc, %%.more : %s\n",
        p->bytes == 4 ? "tf32" : "ieee", p->by_registers ? "%.tile" : factor, p->b_across ? "%.tb" : "%.fb", t->sum);
    if (p->by_registers)
        buffer_printf(out, "                %%.there = dot_wait pending(0) %%.sent : %s\n", t->sum);
    else
        buffer_printf(out, "                %%.there = dot_wait pending(1) %%.acc : %s\n", t->sum);
    buffer_printf(out, "                mbarrier_arrive %%empty, %%.old, %%.more\n");
    put_next(out, "%.si", "%.phi", "c");
    buffer_printf(out, "                yield %%.%s, %%.c_s, %%.c_ph, %%.si\n            }\n",
                  p->by_registers ? "there" : "sent");
    buffer_printf(out,
                  "            %%.done = dot_wait pending(0) %%.sum : %s\n            mbarrier_arrive %%empty, "
                  "%%.last\n",
                  t->sum);
    put_epilogue(out, p, t);
    buffer_printf(out, "            yield %%.s, %%.ph\n        }\n");
    if (p->staged)
        buffer_printf(out, "        tma_wait pending(0)\n");
    buffer_printf(out, "        yield\n");
}

static void put_producer(struct buffer *out, const struct machine_product *p, const struct texts *t)
{
    buffer_printf(
        out,
        "        %%.end_s, %%.end_ph = for %%.p: i32 = %%mine to %%all step %%blocks iter(%%.s0: i32 = %%zero, %%.ph0: i32 = "
        "%%one) {\n");
    put_place(out, p);
    buffer_printf(out,
                  "            %%.s, %%.ph = for %%.k: i32 = %%zero to %%K step %%bk iter(%%.si: i32 = %%.s0, %%.phi: "
                  "i32 = %%.ph0) {\n"
                  "                mbarrier_wait %%empty, %%.si, %%.phi\n"
                  "                mbarrier_expect bytes(%d) %%full, %%.si\n",
                  (p->m + p->n) * p->k * p->bytes);
    buffer_printf(out,
                  "                %%.ta = slot %%ring_a, %%.si : %s\n                %%.tb = slot %%ring_b, %%.si : "
                  "%s\n",
                  t->a, t->b);
    if (p->a_across)
        buffer_printf(out, "                tma_load %%a[%%.k +: %d, %%.m +: %d], %%.ta, %%full, %%.si\n", p->k, p->m);
    else
        buffer_printf(out, "                tma_load %%a[%%.m +: %d, %%.k +: %d], %%.ta, %%full, %%.si\n", p->m, p->k);
    if (p->b_across)
        buffer_printf(out, "                tma_load %%b[%%.k +: %d, %%.n +: %d], %%.tb, %%full, %%.si\n", p->k, p->n);
    else
        buffer_printf(out, "                tma_load %%b[%%.n +: %d, %%.k +: %d], %%.tb, %%full, %%.si\n", p->n, p->k);
    put_next(out, "%.si", "%.phi", "p");
    buffer_printf(out,
                  "                yield %%.p_s, %%.p_ph\n            }\n            yield %%.s, %%.ph\n        }\n"
                  "        yield\n");
}

static const struct layout *form(struct layout_table *table, int rows, int columns, int bytes)
{
    const struct layout *layout = shared_form_layout(table, 2, (int[]){rows, columns}, bytes, 1);
    if (!layout)
        die("no buffer of %d x %d", rows, columns);
    return layout;
}

static const struct layout *transposed(struct layout_table *table, const struct layout *layout)
{
    return layout_permute(table, layout, (int[]){1, 0});
}

void machine_product_text(struct arena *arena, struct layout_table *table, const struct machine_product *p,
                          struct buffer *out)
{
    const struct layout *a = p->a_across ? form(table, p->k, p->m, p->bytes) : form(table, p->m, p->k, p->bytes);
    const struct layout *b = p->b_across ? form(table, p->k, p->n, p->bytes) : form(table, p->n, p->k, p->bytes);
    const struct layout *sum = layout_wgmma_accumulator(table, (int[]){p->m, p->n}, p->warps);
    const struct layout *panel = layout_wgmma_accumulator(table, (int[]){p->m, p->panel}, p->warps);
    if (!sum || !panel)
        die("no accumulator of %d x %d", p->m, p->n);
    const struct layout *a_tile = NULL;
    if (p->by_registers)
        a_tile = layout_mma_operand(table, 2, (int[]){p->m, p->k}, 0, p->bytes, p->warps, 1);
    if (p->by_registers && !a_tile)
        die("no factor of %d x %d in registers", p->m, p->k);
    struct texts t = {.a_tile = a_tile ? tile_text(arena, p->element, a_tile) : NULL,
                      .a = buffer_text(arena, p->element, a, 1),
                      .b = buffer_text(arena, p->element, b, 1),
                      .a_factor = buffer_text(arena, p->element, transposed(table, a), 1),
                      .b_factor = buffer_text(arena, p->element, transposed(table, b), 1),
                      .sum = tile_text(arena, p->sum, sum),
                      .panel = tile_text(arena, p->out, panel),
                      .panel_sum = tile_text(arena, p->sum, panel)};
    int a_bytes = p->m * p->k * p->bytes, b_bytes = p->n * p->k * p->bytes, staging = p->m * p->panel * p->out_bytes;
    int b_start = p->stages * a_bytes, c_start = b_start + p->stages * b_bytes, bars = c_start + p->staged * staging;
    static const char facts[] = "{align(16), stride_multiple(16, 0), limit(2147483648)}";
    buffer_printf(out,
                  "kernel @product(%%a: view<%s, [?, ?], [?, 1], in> %s, %%b: view<%s, [?, ?], [?, 1], in> %s, "
                  "%%c: view<%s, [?, ?], [?, 1], out> %s) grid(2) level(machine) warps(%d) persistent(1) "
                  "shared(%d) {\n",
                  p->element, facts, p->element, facts, p->out, facts, p->warps + 4, bars + 16 * p->stages);
    buffer_printf(out,
                  "    %%zero = constant value(0) : i32\n    %%one = constant value(1) : i32\n"
                  "    %%eight = constant value(8) : i32\n    %%stages = constant value(%d) : i32\n"
                  "    %%bk = constant value(%d) : i32\n",
                  p->stages, p->k);
    buffer_printf(out,
                  "    %%K = extent dimension(%d) %%a : i32\n    %%tiles_m = grid_size dimension(0) : i32\n"
                  "    %%tiles_n = grid_size dimension(1) : i32\n    %%mine = program : i32\n"
                  "    %%all = program_count : i32\n    %%blocks = block_count : i32\n",
                  p->a_across ? 0 : 1);
    buffer_printf(out, "    %%ring_a = buffer shared_offset(0) : %s\n", buffer_text(arena, p->element, a, p->stages));
    buffer_printf(out, "    %%ring_b = buffer shared_offset(%d) : %s\n", b_start,
                  buffer_text(arena, p->element, b, p->stages));
    for (int i = 0; i < p->staged; i++)
        buffer_printf(out, "    %%staging%d = buffer shared_offset(%d) : %s\n", i, c_start + i * staging,
                      buffer_text(arena, p->out, form(table, p->m, p->panel, p->out_bytes), 1));
    buffer_printf(out, "    %%full = mbarrier arrivals(1) shared_offset(%d) : mbarrier<%d>\n", bars, p->stages);
    buffer_printf(out, "    %%empty = mbarrier arrivals(%d) shared_offset(%d) : mbarrier<%d>\n", p->warps,
                  bars + 8 * p->stages, p->stages);
    buffer_printf(out, "    mbarrier_ready\n    roles role_warps(%d, 4) role_registers(%d, %d) {\n", p->warps,
                  p->registers[0], p->registers[1]);
    struct buffer role = {0};
    put_consumer(&role, p, &t);
    put_role(out, &role, 'c');
    buffer_printf(out, "    } {\n");
    role.size = 0;
    put_producer(&role, p, &t);
    put_role(out, &role, 'p');
    buffer_free(&role);
    buffer_printf(out, "    }\n    return\n}\n");
}
