/* The C program of `tilecc bench`, in two files.  That of calls has a function a call:
 *
 *     int tile_rt_bench_call_0(struct CUstream_st *tile_rt_stream, void *const *tile_rt_memory)
 *     {
 *         const struct tile_f16_2 tile_rt_p0 = {tile_rt_memory[0], {16384, 4096}, {4096, 1}};
 *         const struct tile_f16_2 tile_rt_p1 = {tile_rt_memory[1], {16384, 4096}, {4096, 1}};
 *         return softmax_f16(tile_rt_stream, &tile_rt_p0, &tile_rt_p1);
 *     }
 *
 * The other has the memory that each passes, and measure.h, which does the rest.  It does not see the header of the
 * kernels, and what the first adds to that begins with tile_rt_, as no name of a source may in C: nothing can clash. */
#include "driver/bench/bench.h"

#include <math.h>
#include <string.h>

/* Of views, integers and floats, as the header has them. */
static const char *element_name(const struct kernel_parameter *p)
{
    return p->nibbles ? "u8" : ir_element_info[p->element].text;
}

static void put_view(struct buffer *out, const struct bench_call *call, int index, int memory)
{
    const struct kernel_parameter *p = &call->asked->entry->parameters.data[index];
    const struct host_argument *a = &call->asked->arguments[index];
    buffer_printf(out, "    const struct tile_%s_%d tile_rt_p%d = {tile_rt_memory[%d]", element_name(p), p->rank, index,
                  memory);
    for (int list = 0; p->rank && list < 2; list++)
        for (int d = 0; d < p->rank; d++)
            buffer_printf(out, "%s%lld%s", d ? ", " : ", {", (long long)(list ? a->stride : a->extent)[d],
                          d == p->rank - 1 ? "}" : "");
    buffer_puts(out, "};\n");
}

static void put_number(struct buffer *out, enum ir_element element, uint64_t bits)
{
    if (ir_is_float(element)) { /* the small ones are floats in C */
        double value = ir_bits_to_double(element, bits);
        if (isnan(value))
            buffer_puts(out, "NAN");
        else if (isinf(value))
            buffer_puts(out, value < 0 ? "-INFINITY" : "INFINITY");
        else
            buffer_printf(out, "%a%s", value, element == IR_F64 ? "" : "f");
    } else if (ir_is_signed(element) && element != IR_I64)
        buffer_printf(out, "%lld", (long long)ir_bits_to_int(element, bits));
    else /* also of the least i64, which C cannot write */
        buffer_printf(out, "%s0x%llxu", element == IR_I64 ? "(int64_t)" : "", (unsigned long long)bits);
}

static enum ir_element scalar_element(const struct kernel_parameter *p)
{
    return p->kind == KERNEL_SCALAR ? p->element : IR_I32;
}

/* The value of a scalar, enum or pointer; `memory`: of what it points to, -1: nothing. */
static void put_value(struct buffer *out, const struct bench_call *call, int index, int memory)
{
    const struct kernel_parameter *p = &call->asked->entry->parameters.data[index];
    if (p->kind == KERNEL_ENUM)
        buffer_printf(out, "(enum %s)", p->enumeration->c_name);
    if (p->kind != KERNEL_POINTER)
        put_number(out, scalar_element(p), call->asked->arguments[index].bits);
    else if (memory >= 0)
        buffer_printf(out, "tile_rt_memory[%d]", memory);
    else
        buffer_puts(out, "NULL");
}

static void put_struct(struct buffer *out, const struct bench_call *call, int index, const int *memory)
{
    const struct kernel_entry *entry = call->asked->entry;
    buffer_printf(out, "    const struct %s tile_rt_p%d = {", entry->parameters.data[index].structure->c_name, index);
    for (int i = index + 1; i < entry->parameters.count; i++)
        if (entry->parameters.data[i].member_of == index + 1) {
            buffer_puts(out, entry->parameters.data[i].member ? ", " : "");
            put_value(out, call, i, memory[i]);
        }
    buffer_puts(out, "};\n");
}

static void put_arguments(struct buffer *out, const struct bench_call *call, const int *memory)
{
    const struct kernel_entry *entry = call->asked->entry;
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        if (p->member_of)
            continue;
        buffer_puts(out, ", ");
        if (p->kind == KERNEL_STRUCT || (p->kind == KERNEL_VIEW && memory[i] >= 0))
            buffer_printf(out, "&tile_rt_p%d", i);
        else if (p->kind == KERNEL_VIEW)
            buffer_puts(out, "NULL");
        else
            put_value(out, call, i, memory[i]);
    }
}

static void put_variables(struct buffer *out, const struct bench_call *call, const int *memory)
{
    const struct kernel_entry *entry = call->asked->entry;
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        if (p->member_of)
            continue;
        if (p->kind == KERNEL_VIEW && memory[i] >= 0)
            put_view(out, call, i, memory[i]);
        if (p->kind == KERNEL_STRUCT)
            put_struct(out, call, i, memory);
    }
}

static void put_head(struct buffer *out, int number, bool query)
{
    buffer_printf(out, "int tile_rt_bench_%s_%d(struct CUstream_st *tile_rt_stream, void *const *tile_rt_memory%s)",
                  query ? "query" : "call", number, query ? ", struct tile_kernel_info *tile_rt_info" : "");
}

static void put_function(struct buffer *out, const struct bench_call *call, int number, const int *memory, bool query)
{
    put_head(out, number, query);
    buffer_puts(out, "\n{\n");
    put_variables(out, call, memory);
    buffer_puts(out, "    (void)tile_rt_memory;\n");
    buffer_printf(out, "    return %s%s(tile_rt_stream", call->asked->entry->symbol, query ? "_query" : "");
    put_arguments(out, call, memory);
    buffer_puts(out, query ? ", tile_rt_info);\n}\n" : ");\n}\n");
}

/* What memory holds while it is timed: what is only written, nothing. */
static const char *fill_of(const struct kernel_parameter *p)
{
    if (p->direction == KERNEL_OUT)
        return "MEASURE_NOTHING";
    switch (p->element) {
    case IR_F16: return "MEASURE_F16";
    case IR_BF16: return "MEASURE_BF16";
    case IR_F32: return "MEASURE_F32";
    case IR_F64: return "MEASURE_F64";
    case IR_BOOL: return "MEASURE_BOOL";
    default: return ir_is_float(p->element) || p->nibbles ? "MEASURE_BYTES" : "MEASURE_SMALL";
    }
}

static void put_memories(struct buffer *out, const struct bench_call *call, int number)
{
    buffer_printf(out, "static const struct measure_memory memories_%d[] = {\n", number);
    for (int i = 0; i < call->asked->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &call->asked->entry->parameters.data[i];
        int width = ir_element_info[p->element].bits / 8;
        if (call->asked->holds[i])
            buffer_printf(out, "    {%lld, %d, %s, %d, %d},\n", (long long)asked_elements(call->asked, i) * width,
                          width, fill_of(p), p->direction != KERNEL_OUT, p->direction != KERNEL_IN);
    }
    buffer_puts(out, "    {0, 1, MEASURE_NOTHING, 0, 0}};\n");
}

/* Which memory each parameter has, -1: none. */
static int number_memories(const struct bench_call *call, int *memory)
{
    int count = 0;
    for (int i = 0; i < call->asked->entry->parameters.count; i++)
        memory[i] = call->asked->holds[i] ? count++ : -1;
    return count;
}

void bench_put_calls(struct buffer *out, const struct bench *bench)
{
    buffer_puts(out, "/* Made by tilecc bench: calls of kernels. */\n#include <math.h>\n#include <stddef.h>\n"
                     "#include \"kernels.h\"\n");
    for (int i = 0; i < bench->call_count; i++) {
        int memory[ASKED_MOST_PARAMETERS];
        number_memories(&bench->calls[i], memory);
        for (int query = 0; query < 2; query++) {
            buffer_putc(out, '\n');
            put_function(out, &bench->calls[i], i, memory, query);
        }
    }
}

void bench_put_program(struct buffer *out, const struct bench *bench)
{
    struct buffer list = {0};
    buffer_puts(out, "/* Made by tilecc bench: calls of calls.c, which measure.h times. */\n#include \"tile_rt.h\"\n"
                     "#include \"measure.h\"\n");
    if (bench->serves)
        buffer_puts(out, "#include \"serve.h\"\n");
    for (int i = 0; i < bench->call_count; i++) {
        int memory[ASKED_MOST_PARAMETERS], count = number_memories(&bench->calls[i], memory);
        buffer_putc(out, '\n');
        for (int query = 0; query < 2; query++) {
            put_head(out, i, query);
            buffer_puts(out, ";\n");
        }
        put_memories(out, &bench->calls[i], i);
        buffer_printf(&list, "    {tile_rt_bench_call_%d, tile_rt_bench_query_%d, %d, %d, memories_%d},\n", i, i, count,
                      (int)bench->calls[i].check, i);
    }
    buffer_printf(out,
                  "\nstatic const struct measure_call calls[] = {\n%s};\n\n"
                  "int main(int count, char **arguments)\n{\n    return %s_main(calls, %d, count, arguments);\n}\n",
                  list.data, bench->serves ? "serve" : "measure", bench->call_count);
    buffer_free(&list);
}
