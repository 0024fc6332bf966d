/* What tests of the checkers share: a product of the machine level as text, with a producer, a consumer, a ring of two and a
 * store through shared memory, and kernels of which one line is another. */
#ifndef TILECC_TESTS_CHECKED_TEXT_H
#define TILECC_TESTS_CHECKED_TEXT_H
#include <string.h>

#include "base/base.h"

#define SWIZZLED "#(64, 64; offset b0:5 a0^b3 a1^b4 a2^b5 a3:5)"
#define SLOT "buffer<bf16, [64, 64], slots(1), " SWIZZLED ">"
#define RING "buffer<bf16, [64, 64], slots(2), " SWIZZLED ">"
#define ACCUMULATOR "f32[64, 64] #(64, 64; register b0 a3 b3:5; lane b1:2 a0:2; warp a4:5)"
#define NARROW "bf16[64, 64] #(64, 64; register b0 a3 b3:5; lane b1:2 a0:2; warp a4:5)"
#define FACTS "{align(16), stride_multiple(8, 0), limit(2147483648), restrict"

/* Behind the constants, up to the slots of the factors: %A, and whatever else is multiplied into %d. */
#define CONSUMER_BEGINS                                                                                       \
    "    %K = extent dimension(1) %a : index\n"                                                               \
    "    %first = program : index\n"                                                                          \
    "    %all = program_count : index\n"                                                                      \
    "    %step = block_count : index\n"                                                                       \
    "    roles role_warps(4, 4) role_registers(232, 40) {\n"                                                  \
    "        %fresh = undefined : " ACCUMULATOR "\n"                                                          \
    "        %r0, %r1 = for %p: index = %first to %all step %step iter(%s: i32 = %zero, %f: i32 = %zero) {\n" \
    "            %row = mul %p, %n64 : index\n"                                                               \
    "            %acc, %s1, %f1 = for %k: index = %n0 to %K step %n64 iter(%sum: " ACCUMULATOR                \
    " = %fresh, %slot: i32 = %s, %phase: i32 = %f) {\n"                                                       \
    "                mbarrier_wait %full, %slot, %phase\n"
/* From %d to the end of the role. */
#define CONSUMER_ENDS                                                     \
    "                %done = dot_wait pending(0) %d : " ACCUMULATOR "\n"  \
    "                mbarrier_arrive %empty, %slot\n"                     \
    "                %next = add %slot, %one : i32\n"                     \
    "                %wraps = compare predicate(eq) %next, %two : bool\n" \
    "                %other = xor %phase, %one : i32\n"                   \
    "                %slot2 = select %wraps, %zero, %next : i32\n"        \
    "                %phase2 = select %wraps, %other, %phase : i32\n"     \
    "                yield %done, %slot2, %phase2\n"                      \
    "            }\n"                                                     \
    "            %narrow = cast %acc : " NARROW "\n"                      \
    "            tma_wait pending(0)\n"                                   \
    "            barrier\n"                                               \
    "            buffer_store %narrow, %out\n"                            \
    "            fence_async\n"                                           \
    "            barrier\n"                                               \
    "            tma_store %c[%row +: 64, %n0 +: 64], %out\n"             \
    "            tma_commit\n"                                            \
    "            yield %s1, %f1\n"                                        \
    "        }\n"                                                         \
    "        tma_wait pending(0)\n"                                       \
    "        yield\n"                                                     \
    "    } {\n"
/* Up to the bytes that are expected, and the copies to slot %uslot of the rings. */
#define PRODUCER_BEGINS                                                                                         \
    "        %q0, %q1 = for %p2: index = %first to %all step %step iter(%u: i32 = %zero, %g: i32 = %zero) {\n"  \
    "            %row2 = mul %p2, %n64 : index\n"                                                               \
    "            %u1, %g1 = for %k2: index = %n0 to %K step %n64 iter(%uslot: i32 = %u, %gphase: i32 = %g) {\n" \
    "                %free = xor %gphase, %one : i32\n"                                                         \
    "                mbarrier_wait %empty, %uslot, %free\n"
/* From the copies to the end of the kernel. */
#define PRODUCER_ENDS                                                       \
    "                %unext = add %uslot, %one : i32\n"                     \
    "                %uwraps = compare predicate(eq) %unext, %two : bool\n" \
    "                %gother = xor %gphase, %one : i32\n"                   \
    "                %uslot2 = select %uwraps, %zero, %unext : i32\n"       \
    "                %gphase2 = select %uwraps, %gother, %gphase : i32\n"   \
    "                yield %uslot2, %gphase2\n"                             \
    "            }\n"                                                       \
    "            yield %u1, %g1\n"                                          \
    "        }\n"                                                           \
    "        yield\n"                                                       \
    "    }\n"                                                               \
    "    return\n"                                                          \
    "}\n"

/* The text with the first `line` replaced by `by`, or dropped; the text itself where `line` is NULL; NULL where it is not
 * there. */
static inline const char *text_with(struct arena *arena, const char *text, const char *line, const char *by)
{
    const char *at = line ? strstr(text, line) : text;
    if (!line || !at)
        return at;
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, by ? by : "", at + strlen(line));
}
#endif
