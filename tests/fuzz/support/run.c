/* Memory for generated programs, runs by the interpreter, exact comparison. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "generate.h"
#include "ir/kernel.h"

int fuzz_windows(const struct fuzz_argument *argument, int64_t *first, int64_t *elements)
{
    first[0] = 0;
    *elements = argument->windows ? argument->window_elements : argument->elements;
    for (int i = 0; i < argument->windows; i++)
        first[i] = argument->window[i];
    return argument->windows ? argument->windows : 1;
}

void *fuzz_map(size_t size)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        die("no memory for %zu bytes", size);
    return data;
}

/* What random bits of 32 or 64 hardly ever are: ends of integers, infinities, zeros, the ends of what a float has. */
static uint64_t special_bits(enum ir_element element, struct random *random)
{
    int bits = ir_element_info[element].bits, which = random_below(random, 8);
    uint64_t sign = random_chance(random, 50) ? UINT64_C(1) << (bits - 1) : 0;
    if (!ir_is_float(element))
        return which < 4 ? sign + (uint64_t)(int64_t)(which - 2) : sign ? (uint64_t)(3 - which) : (uint64_t)(which - 3);
    uint64_t infinity = ir_double_to_bits(element, (double)INFINITY), one = ir_double_to_bits(element, 1);
    const uint64_t sizes[] = {infinity, infinity, 0, 0, 1, infinity - 1, one, infinity + 1 /* NaN, or the next */};
    return sign | sizes[which];
}

static void fill_window(const struct fuzz_argument *argument, struct random *random, unsigned char *data,
                        int64_t elements)
{
    enum ir_element element = argument->type->element;
    size_t size = (size_t)ir_element_info[element].bits / 8;
    for (int64_t i = 0; i < elements; i++) {
        uint64_t bits = random_next(random);
        int largest = element == IR_F8E5M2 ? 4 : 8;
        if (argument->content == FUZZ_SCRATCH)
            bits = argument->bits;
        else if (element == IR_BOOL)
            bits &= 1;
        else if (element == IR_POINTER)
            bits = 0;
        else if (argument->content == FUZZ_SMALL_INTEGERS)
            bits = ir_int_to_bits(
                element, random_between(random, ir_is_float(element) || ir_is_signed(element) ? -largest : 0, largest));
        else if (argument->content == FUZZ_WILD && random_chance(random, 20))
            bits = special_bits(element, random);
        memcpy(data + (size_t)i * size, &bits, size);
    }
}

static void fill(const struct fuzz_argument *argument, unsigned char *data)
{
    size_t size = (size_t)ir_element_info[argument->type->element].bits / 8;
    struct random random = {argument->fill};
    int64_t first[FUZZ_MOST_WINDOWS], elements;
    int windows = fuzz_windows(argument, first, &elements);
    for (int w = 0; w < windows; w++)
        fill_window(argument, &random, data + (size_t)first[w] * size, elements);
}

static void add_report(struct fuzz_memory *memory, const struct fuzz_argument *argument, struct interp_argument *out)
{
    uint64_t *words = calloc((size_t)argument->elements, sizeof *words);
    if (!words)
        die("no memory");
    words[KERNEL_REPORT_ROOM] = (uint64_t)(argument->elements - KERNEL_REPORT_RECORDS);
    out->data = words;
    out->bits = (uint64_t)(uintptr_t)words;
    memory->memories[memory->count++] = (struct interp_memory){words, sizeof *words * (size_t)argument->elements, NULL,
                                                               false, "report"};
}

struct fuzz_memory *fuzz_memory_create(const struct fuzz_program *program)
{
    struct fuzz_memory *memory = calloc(1, sizeof *memory);
    for (int i = 0; memory && i < program->argument_count; i++) {
        const struct fuzz_argument *argument = &program->arguments[i];
        struct interp_argument *out = &memory->arguments[i];
        out->bits = argument->bits;
        if (argument->content == FUZZ_REPORT)
            add_report(memory, argument, out);
        if (argument->type->kind != IR_VIEW)
            continue;
        memcpy(out->extent, argument->extent, sizeof out->extent);
        memcpy(out->stride, argument->stride, sizeof out->stride);
        if (argument->absent)
            continue;
        size_t width = (size_t)ir_element_info[argument->type->element].bits / 8;
        size_t size = (size_t)argument->elements * width;
        if (argument->alias) {
            out->data = (unsigned char *)memory->arguments[argument->alias - 1].data + (size_t)argument->offset * width;
            continue;
        }
        out->data = argument->windows
                        ? fuzz_map(size)
                        : aligned_alloc(FUZZ_ALIGNMENT, (size + FUZZ_ALIGNMENT) / FUZZ_ALIGNMENT * FUZZ_ALIGNMENT);
        if (!out->data)
            die("no memory");
        fill(argument, out->data);
        memory->mapped[memory->count] = argument->windows ? size : 0;
        bool read_only = !argument->output && !argument->atomic && argument->content != FUZZ_SCRATCH;
        memory->memories[memory->count++] = (struct interp_memory){out->data, size, NULL, read_only, "view"};
    }
    return memory;
}

void fuzz_memory_free(struct fuzz_memory *memory)
{
    for (int i = 0; i < memory->count; i++)
        if (memory->mapped[i])
            munmap(memory->memories[i].data, memory->mapped[i]);
        else
            free(memory->memories[i].data);
    free(memory);
}

int fuzz_fill_slots(const struct fuzz_program *program, const struct fuzz_memory *memory, uint64_t *slots,
                    int64_t *programs)
{
    int count = 0;
    *programs = 1;
    for (int i = 0; i < program->argument_count; i++) {
        const struct ir_type *type = program->arguments[i].type;
        const struct interp_argument *argument = &memory->arguments[i];
        int bits = ir_element_info[type->element].bits;
        if (type->kind != IR_VIEW) {
            slots[count++] = bits < 64 ? argument->bits & ((UINT64_C(1) << bits) - 1) : argument->bits;
            continue;
        }
        slots[count++] = (uint64_t)(uintptr_t)argument->data;
        for (int d = 0; d < type->rank; d++)
            slots[count++] = (uint64_t)argument->extent[d];
        for (int d = 0; d < type->rank; d++)
            slots[count++] = (uint64_t)argument->stride[d];
    }
    for (int d = 0; d < program->function->grid_rank; d++) {
        slots[count++] = (uint64_t)program->grid[d];
        *programs *= program->grid[d];
    }
    slots[count++] = 0;
    return count;
}

bool fuzz_interpret(const struct fuzz_program *program, const struct ir_function *function, struct fuzz_memory *memory,
                    bool reverse, struct interp_problem *problem)
{
    struct interp_options options = {.memory_count = memory->count,
                                     .memories = memory->memories,
                                     .step_limit = 40000000,
                                     .reverse = reverse,
                                     .distinct = reverse,
                                     .seed = program->seed,
                                     .ordered = program->ordered,
                                     .blocks = 1 + (int64_t)(program->seed % 3)};
    memcpy(options.grid, program->grid, sizeof options.grid);
    return interp_run(function, program->argument_count, memory->arguments, &options, NULL, problem);
}

static bool same_argument(const struct fuzz_argument *argument, const unsigned char *x, const unsigned char *y,
                          int64_t first, int64_t elements, double tolerance, int64_t *at)
{
    enum ir_element element = argument->content == FUZZ_REPORT ? IR_U64 : argument->type->element;
    size_t width = (size_t)ir_element_info[element].bits / 8;
    for (int64_t k = first; k < first + elements; k++) {
        uint64_t left = 0, right = 0;
        memcpy(&left, x + (size_t)k * width, width);
        memcpy(&right, y + (size_t)k * width, width);
        bool both_point = element == IR_POINTER && left && right; /* into the memory of two runs */
        bool nan = ir_is_float(element) && isnan(ir_bits_to_double(element, left)) &&
                   isnan(ir_bits_to_double(element, right));
        *at = k;
        if (left == right || both_point || nan)
            continue;
        double x_number = tolerance > 0 && ir_is_float(element) ? ir_bits_to_double(element, left) : NAN,
               y_number = tolerance > 0 && ir_is_float(element) ? ir_bits_to_double(element, right) : NAN;
        if (!(fabs(x_number - y_number) <= tolerance * fmax(1, fabs(x_number))))
            return false;
    }
    return true;
}

bool fuzz_same(const struct fuzz_program *program, const struct fuzz_memory *a, const struct fuzz_memory *b, char *text,
               size_t size)
{
    return fuzz_near(program, a, b, 0, text, size);
}

bool fuzz_near(const struct fuzz_program *program, const struct fuzz_memory *a, const struct fuzz_memory *b,
               double tolerance, char *text, size_t size)
{
    for (int i = 0; i < program->argument_count; i++) {
        const struct fuzz_argument *argument = &program->arguments[i];
        const unsigned char *x = a->arguments[i].data, *y = b->arguments[i].data;
        int64_t first[FUZZ_MOST_WINDOWS], elements, k = 0;
        bool counts = x && !argument->alias && argument->content != FUZZ_SCRATCH;
        int windows = counts ? fuzz_windows(argument, first, &elements) : 0;
        for (int w = 0; w < windows; w++) {
            if (same_argument(argument, x, y, first[w], elements, tolerance, &k))
                continue;
            size_t width = (size_t)ir_element_info[argument->type->element].bits / 8;
            uint64_t left = 0, right = 0;
            memcpy(&left, x + (size_t)k * width, width);
            memcpy(&right, y + (size_t)k * width, width);
            snprintf(text, size, "argument %d element %lld: %llx and %llx", i, (long long)k, (unsigned long long)left,
                     (unsigned long long)right);
            return false;
        }
    }
    return true;
}
