/* Memory for generated programs, runs by the interpreter, exact comparison. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

static void fill(const struct fuzz_program *program, int which, unsigned char *data)
{
    const struct fuzz_argument *argument = &program->arguments[which];
    enum ir_element element = argument->type->element;
    size_t size = (size_t)ir_element_info[element].bits / 8;
    struct random random = { argument->fill };
    for (int64_t i = 0; i < argument->elements; i++) {
        uint64_t bits = random_next(&random);
        int largest = element == IR_F8E5M2 ? 4 : 8;
        if (element == IR_BOOL)
            bits &= 1;
        else if (element == IR_POINTER)
            bits = 0;
        else if (argument->content == FUZZ_SMALL_INTEGERS)
            bits = ir_int_to_bits(
                element,
                random_between(&random, ir_is_float(element) || ir_is_signed(element) ? -largest : 0, largest));
        memcpy(data + (size_t)i * size, &bits, size);
    }
}

struct fuzz_memory *fuzz_memory_create(const struct fuzz_program *program)
{
    struct fuzz_memory *memory = calloc(1, sizeof *memory);
    for (int i = 0; memory && i < program->argument_count; i++) {
        const struct fuzz_argument *argument = &program->arguments[i];
        struct interp_argument *out = &memory->arguments[i];
        out->bits = argument->bits;
        if (argument->type->kind != IR_VIEW)
            continue;
        memcpy(out->extent, argument->extent, sizeof out->extent);
        memcpy(out->stride, argument->stride, sizeof out->stride);
        if (argument->absent)
            continue;
        size_t size = (size_t)argument->elements * (size_t)ir_element_info[argument->type->element].bits / 8;
        out->data = aligned_alloc(FUZZ_ALIGNMENT, (size + FUZZ_ALIGNMENT) / FUZZ_ALIGNMENT * FUZZ_ALIGNMENT);
        if (!out->data)
            die("no memory");
        fill(program, i, out->data);
        memory->memories[memory->count++] =
            (struct interp_memory){out->data, size, NULL, !argument->output && !argument->atomic, "view"};
    }
    return memory;
}

void fuzz_memory_free(struct fuzz_memory *memory)
{
    for (int i = 0; i < memory->count; i++)
        free(memory->memories[i].data);
    free(memory);
}

bool fuzz_interpret(const struct fuzz_program *program, const struct ir_function *function, struct fuzz_memory *memory,
                    bool reverse, struct interp_problem *problem)
{
    struct interp_options options = {.memory_count = memory->count,
                                     .memories = memory->memories,
                                     .step_limit = 40000000,
                                     .reverse = reverse,
                                     .seed = program->seed,
                                     .blocks = 1 + (int64_t)(program->seed % 3)};
    memcpy(options.grid, program->grid, sizeof options.grid);
    return interp_run(function, program->argument_count, memory->arguments, &options, NULL, problem);
}

bool fuzz_same(const struct fuzz_program *program, const struct fuzz_memory *a, const struct fuzz_memory *b, char *text,
               size_t size)
{
    for (int i = 0; i < program->argument_count; i++) {
        const struct fuzz_argument *argument = &program->arguments[i];
        enum ir_element element = argument->type->element;
        size_t width = (size_t)ir_element_info[element].bits / 8;
        const unsigned char *x = a->arguments[i].data, *y = b->arguments[i].data;
        for (int64_t k = 0; x && k < argument->elements; k++) {
            uint64_t left = 0, right = 0;
            memcpy(&left, x + (size_t)k * width, width);
            memcpy(&right, y + (size_t)k * width, width);
            bool both_point = element == IR_POINTER && left && right; /* into the memory of two runs */
            if (left == right || both_point ||
                (ir_is_float(element) && isnan(ir_bits_to_double(element, left)) &&
                 isnan(ir_bits_to_double(element, right))))
                continue;
            snprintf(text, size, "argument %d element %lld: %llx and %llx", i, (long long)k, (unsigned long long)left,
                     (unsigned long long)right);
            return false;
        }
    }
    return true;
}
