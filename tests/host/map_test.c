/* The descriptor of a GPU variant with tensor maps: each map names the entry's parameter, not the IR function's
 * argument, which keys have none of; and more maps than a launch takes are reported. */
#include "ir/facts/shared_form.h"
#include "runtime-stub/tile_rt.h"
#include "targets/host/host.h"
#include <llvm-c/Core.h>
#include <string.h>

static int failures;
#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                             \
        }                                                                           \
    } while (0)

/* Fields of the structures in tile_rt.h, by number. */
enum { KERNEL_TARGETS = 24, TARGET_VARIANTS = 5, VARIANT_PERSISTENT = 20, VARIANT_MAP_COUNT = 21, VARIANT_MAPS = 22 };

static LLVMValueRef field(LLVMValueRef structure, unsigned number)
{
    return LLVMGetAggregateElement(structure, number);
}
/* First structure of the array that a field points to. */
static LLVMValueRef behind(LLVMValueRef structure, unsigned number, unsigned element)
{
    return field(LLVMGetInitializer(field(structure, number)), element);
}
static uint64_t number_in(LLVMValueRef structure, unsigned number)
{
    return LLVMConstIntGetZExtValue(field(structure, number));
}

static int row_named(const char *name)
{
    for (int i = 0; i < target_row_count; i++)
        if (strcmp(target_rows[i].name, name) == 0)
            return i;
    die("there is no target %s", name);
}

static LLVMValueRef describe(struct arena *arena, LLVMContextRef llvm, struct diagnostics *diagnostics,
                             const struct tensor_map *maps, int count, bool *failed)
{
    struct target_options options = {.arena = arena, .diagnostics = diagnostics, .host_triple = "x86_64-linux-gnu"};
    struct kernel_module kernels = {.stem = "k"};
    struct kernel_entry entry = {.symbol = "k", .kernel = "k"};
    struct kernel_variant variant = {.target = row_named("sm_90a")};
    struct kernel_image image = {.target = variant.target, .name = "k.sm_90a", .size = 4};
    struct host_builder builder = {.options = &options,
                                   .arena = arena,
                                   .kernels = &kernels,
                                   .llvm = llvm,
                                   .module = LLVMModuleCreateWithNameInContext("k", llvm),
                                   .pointer = LLVMPointerTypeInContext(llvm, 0),
                                   .i8 = LLVMInt8TypeInContext(llvm),
                                   .i16 = LLVMInt16TypeInContext(llvm),
                                   .i32 = LLVMInt32TypeInContext(llvm),
                                   .i64 = LLVMInt64TypeInContext(llvm)};
    static const enum kernel_parameter_kind kinds[] = {KERNEL_KEY, KERNEL_VIEW, KERNEL_KEY, KERNEL_SCALAR, KERNEL_VIEW};
    LLVMValueRef nothing = LLVMConstNull(builder.pointer), result;
    LLVMSetDataLayout(builder.module, "e-m:e-i64:64-i128:128-n8:16:32:64-S128");
    for (int i = 0; i < 5; i++) {
        struct kernel_parameter parameter = {.name = "p",
                                             .kind = kinds[i],
                                             .slot = kinds[i] == KERNEL_KEY ? -1 : i,
                                             .element = IR_BF16,
                                             .rank = kinds[i] == KERNEL_VIEW ? 2 : 0,
                                             .binds = {-1, -1},
                                             .static_extent = {64, 64}};
        vector_push(arena, &entry.parameters, parameter);
    }
    vector_push(arena, &kernels.images, image);
    builder.images = &nothing;
    variant.gpu = (struct kernel_gpu_code){.symbol = "k",
                                           .threads = 384,
                                           .registers = 168,
                                           .cluster = 1,
                                           .persistent = 1,
                                           .map_count = count,
                                           .maps = maps};
    vector_push(arena, &entry.variants, variant);
    result = host_descriptor(&builder, &entry);
    *failed = builder.failed;
    return result;
}

int main(void)
{
    static const struct tensor_map maps[] = {
        {.argument = 0, .element = IR_BF16, .rank = 2, .dimension = {1, 0}, .box = {64, 128}, .swizzle = 128},
        {.argument = 2, .element = IR_F8E4M3, .rank = 2, .dimension = {0, 1}, .box = {32, 16}, .swizzle = 32},
    };
    struct tensor_map many[TILE_RT_MAX_MAPS + 1];
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMValueRef kernel, variant, map;
    bool failed;
    kernel = describe(arena, llvm, diagnostics, maps, 2, &failed);
    CHECK(!failed && kernel);
    variant = behind(behind(LLVMGetInitializer(kernel), KERNEL_TARGETS, 0), TARGET_VARIANTS, 0);
    CHECK(number_in(variant, VARIANT_PERSISTENT) == 1 && number_in(variant, VARIANT_MAP_COUNT) == 2);
    map = behind(variant, VARIANT_MAPS, 0); /* parameter, swizzle, type, rank, dimension 0..4, reserved, box 0..4 */
    CHECK(number_in(map, 0) == 1 && number_in(map, 1) == 128 && number_in(map, 2) == TILE_RT_TYPE_bf16);
    CHECK(number_in(map, 3) == 2 && number_in(map, 4) == 1 && number_in(map, 5) == 0);
    CHECK(number_in(map, 10) == 64 && number_in(map, 11) == 128 && number_in(map, 12) == 0);
    map = behind(variant, VARIANT_MAPS, 1);
    CHECK(number_in(map, 0) == 4 && number_in(map, 1) == 32 && number_in(map, 2) == TILE_RT_TYPE_f8e4m3);
    CHECK(number_in(map, 4) == 0 && number_in(map, 5) == 1 && number_in(map, 10) == 32 && number_in(map, 11) == 16);
    CHECK(diagnostics->errors == 0);
    for (int i = 0; i <= TILE_RT_MAX_MAPS; i++)
        many[i] = maps[0];
    describe(arena, llvm, diagnostics, many, TILE_RT_MAX_MAPS, &failed);
    CHECK(!failed);
    describe(arena, llvm, diagnostics, many, TILE_RT_MAX_MAPS + 1, &failed);
    CHECK(failed && diagnostics->errors == 1);
    LLVMContextDispose(llvm);
    arena_destroy(arena);
    return failures != 0;
}
