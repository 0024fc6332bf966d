/* The checker of the machine level: kernels that are right, and what it says when a line of them is dropped or
 * changed.  Each change is one that a person might make by hand in printed IR. */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "passes/checked_text.h"
#include "targets/target.h"

static int cases, failures;
static bool aloud; /* prints what is said, for check_machine.bats */

/* A producer, a consumer, a ring of two, and a store through shared memory: persistent. */
static const char product[] = "kernel @product(%a: view<bf16, [?, ?], [?, 1], in> " FACTS ", extent_class(1, 2)}, "
                              "%c: view<bf16, [?, ?], [?, 1], out> " FACTS
                              ", extent_class(1, 0)}) grid(1) grid_class(1) grid_step(64) "
                              "level(machine) warps(8) persistent(1) shared(25600) {\n"
                              "    %ring = buffer shared_offset(0) shared_bytes(16384) : " RING "\n"
                              "    %out = buffer shared_offset(16384) shared_bytes(8192) : " SLOT "\n"
                              "    %full = mbarrier shared_offset(24576) arrivals(1) : mbarrier<2>\n"
                              "    %empty = mbarrier shared_offset(24592) arrivals(4) : mbarrier<2>\n"
                              "    mbarrier_ready\n"
                              "    %zero = constant value(0) : i32\n"
                              "    %one = constant value(1) : i32\n"
                              "    %two = constant value(2) : i32\n"
                              "    %n0 = constant value(0) : index\n"
                              "    %n64 = constant value(64) : index\n" CONSUMER_BEGINS
                              "                %A = slot %ring, %slot : " SLOT "\n"
                              "                %more = compare predicate(ne) %k, %n0 : bool\n"
                              "                %d = dot_async instruction(wgmma) %A, %A, %sum, %more : " ACCUMULATOR
                              "\n" CONSUMER_ENDS PRODUCER_BEGINS
                              "                mbarrier_expect bytes(8192) %full, %uslot\n"
                              "                %B = slot %ring, %uslot : " SLOT "\n"
                              "                tma_load %a[%row2 +: 64, %k2 +: 64], %B, %full, %uslot\n" PRODUCER_ENDS;

/* cp.async one iteration ahead, mma, and scratch where the ring was. */
static const char copies[] =
    "kernel @copies(%a: view<bf16, [?, ?], [?, 1], in> " FACTS "}, %c: view<f32, [?], [1], out>) grid(1) "
    "level(machine) warps(4) shared(16384) {\n"
    "    %ring = buffer shared_offset(0) shared_bytes(16384) : " RING "\n"
    "    %zero = constant value(0) : i32\n"
    "    %one = constant value(1) : i32\n"
    "    %n0 = constant value(0) : index\n"
    "    %n64 = constant value(64) : index\n"
    "    %K = extent dimension(1) %a : index\n"
    "    %none = constant value(0.0) : " ACCUMULATOR "\n"
    "    %P = slot %ring, %zero : " SLOT "\n"
    "    cp_async %a[%n0 +: 64, %n0 +: 64], %P\n"
    "    cp_commit\n"
    "    %acc, %last = for %k: index = %n0 to %K step %n64 iter(%sum: " ACCUMULATOR " = %none, %read: i32 = %zero) {\n"
    "        cp_wait pending(0)\n"
    "        barrier\n"
    "        %write = sub %one, %read : i32\n"
    "        %W = slot %ring, %write : " SLOT "\n"
    "        %k2 = add %k, %n64 : index\n"
    "        cp_async %a[%n0 +: 64, %k2 +: 64], %W\n"
    "        cp_commit\n"
    "        %R = slot %ring, %read : " SLOT "\n"
    "        %d = dot_async instruction(mma) %R, %R, %sum : " ACCUMULATOR "\n"
    "        yield %d, %write\n"
    "    }\n"
    "    cp_wait pending(0) // the last\n"
    "    barrier // the last\n"
    "    %rows = reduce axis(0) kind(add) shared_offset(0) shared_bytes(4096) %acc : f32[64] #(64; register a0 a3:5; "
    "lane a1:2 .3; warp .2)\n"
    "    store %c[%n0 +: 64], %rows\n"
    "    return\n"
    "}\n";

/* A factor that comes from registers, through a buffer that is used again each time. */
static const char staged[] =
    "kernel @staged(%a: view<bf16, [?, ?], [?, 1], in> " FACTS "}, %c: view<f32, [?, ?], [?, 1], out>) grid(1) "
    "level(machine) warps(8) shared(8192) {\n"
    "    %B = buffer shared_offset(0) shared_bytes(8192) : " SLOT "\n"
    "    %n0 = constant value(0) : index\n"
    "    %n64 = constant value(64) : index\n"
    "    %K = extent dimension(1) %a : index\n"
    "    %zero = constant value(0.0) : bf16\n"
    "    %none = constant value(0.0) : f32[64, 64] #(64, 64; register b0 a3 b3:4; lane b1:2 a0:2; warp a4:5 b5)\n"
    "    %acc = for %k: index = %n0 to %K step %n64 iter(%sum: f32[64, 64] #(64, 64; register b0 a3 b3:4; lane b1:2 "
    "a0:2; warp a4:5 b5) = %none) {\n"
    "        %t = load %a[%n0 +: 64, %k +: 64], %zero : bf16[64, 64] #(64, 64; register b0 a3 b3:4; lane b1:2 a0:2; "
    "warp a4:5 b5)\n"
    "        barrier // first\n"
    "        buffer_store %t, %B\n"
    "        fence_async\n"
    "        barrier // second\n"
    "        %d = dot_async instruction(wgmma) %B, %B, %sum : f32[64, 64] #(64, 64; register b0 a3 b3:4; lane b1:2 "
    "a0:2; warp a4:5 b5)\n"
    "        %e = dot_wait pending(0) %d : f32[64, 64] #(64, 64; register b0 a3 b3:4; lane b1:2 a0:2; warp a4:5 b5)\n"
    "        yield %e\n"
    "    }\n"
    "    store %c[%n0 +: 64, %n0 +: 64], %acc\n"
    "    return\n"
    "}\n";

/* Two warpgroups take turns. */
static const char turns[] =
    "kernel @turns(%x: view<f32, [?], [1], in>, %y: view<f32, [?], [1], out>) grid(1) level(schedule) warps(8) "
    "shared(32) {\n"
    "    %n0 = constant value(0) : index\n"
    "    %n1 = constant value(1) : index\n"
    "    %K = extent dimension(0) %x : index\n"
    "    %zero = constant value(0.0) : f32\n"
    "    turn_start\n"
    "    %v = load %x[%n0 +: 512], %zero : f32[512] #(512; register a0; lane a1:5; warp a6:8)\n"
    "    for %k: index = %n0 to %K step %n1 {\n"
    "        turn_take\n"
    "        turn_pass\n"
    "        barrier\n"
    "        %m = reduce axis(0) kind(max) shared_offset(0) shared_bytes(32) %v : f32\n"
    "        store %y[%n0], %m\n"
    "        yield\n"
    "    }\n"
    "    return\n"
    "}\n";

/* Scratch of two operations in one place. */
static const char scratch[] =
    "kernel @scratch(%x: view<f32, [?], [1], in>, %y: view<f32, [?], [1], out>) grid(1) level(schedule) warps(4) "
    "shared(16) {\n"
    "    %n0 = constant value(0) : index\n"
    "    %zero = constant value(0.0) : f32\n"
    "    %v = load %x[%n0 +: 512], %zero : f32[512] #(512; register a0:1; lane a2:6; warp a7:8)\n"
    "    %m = reduce axis(0) kind(max) shared_offset(0) shared_bytes(16) %v : f32\n"
    "    barrier\n"
    "    %s = reduce axis(0) kind(add) shared_offset(0) shared_bytes(16) %v : f32\n"
    "    %r = add %m, %s : f32\n"
    "    store %y[%n0], %r\n"
    "    return\n"
    "}\n";

/* Three roles that do nothing, with their registers; two named barriers; a wait for one thing, hidden by one for another. */
static const char three[] = "kernel @three(%x: view<f32, [?], [1], in>) grid(1) level(machine) warps(12) {\n"
                            "    roles role_warps(4, 4, 4) role_registers(160, 160, 40) {\n"
                            "        yield\n"
                            "    } {\n"
                            "        yield\n"
                            "    } {\n"
                            "        yield\n"
                            "    }\n"
                            "    return\n"
                            "}\n";
static const char named[] = "kernel @named(%a: view<bf16, [?, ?], [?, 1], in> " FACTS
                            "}) grid(1) level(machine) warps(8) shared(8192) {\n"
                            "    %B = buffer shared_offset(0) shared_bytes(8192) : " SLOT "\n"
                            "    %n0 = constant value(0) : index\n"
                            "    %zero = constant value(0.0) : bf16\n"
                            "    roles role_warps(4, 4) role_registers(0, 0) {\n"
                            "        %t = load %a[%n0 +: 64, %n0 +: 64], %zero : " NARROW "\n"
                            "        buffer_store %t, %B\n"
                            "        barrier id(8) warps(8)\n"
                            "        yield\n"
                            "    } {\n"
                            "        barrier id(8) warps(8) // reader\n"
                            "        %u = buffer_load %B : " NARROW "\n"
                            "        yield\n"
                            "    }\n"
                            "    return\n"
                            "}\n";
/* Two groups that write out what they have, a third that brings; each meets at a barrier of its own number. */
static const char epilogues[] = "kernel @epilogues(%c: view<f32, [?], [1], out>) grid(1) level(machine) warps(12) {\n"
                                "    %n0 = constant value(0) : index\n"
                                "    roles role_warps(4, 4, 4) role_registers(0, 0, 0) {\n"
                                "        %x = constant value(1.0) : f32[128] #(128; lane a0:4; warp a5:6)\n"
                                "        barrier id(4) warps(4)\n"
                                "        store %c[%n0 +: 128], %x\n"
                                "        yield\n"
                                "    } {\n"
                                "        %y = constant value(2.0) : f32[128] #(128; lane a0:4; warp a5:6)\n"
                                "        barrier id(5) warps(4)\n"
                                "        store %c[%n0 +: 128], %y\n"
                                "        yield\n"
                                "    } {\n"
                                "        %z = constant value(3.0) : f32[128] #(128; lane a0:4; warp a5:6)\n"
                                "        barrier id(6) warps(4)\n"
                                "        store %c[%n0 +: 128], %z\n"
                                "        yield\n"
                                "    }\n"
                                "    return\n"
                                "}\n";
/* q comes once, k behind it; the consumer waits for each. */
static const char factors[] = "kernel @factors(%a: view<bf16, [?, ?], [?, 1], in> " FACTS
                              "}, %c: view<f32, [?, ?], [?, 1], out>) grid(1) "
                              "level(machine) warps(8) shared(17408) {\n"
                              "    %q = buffer shared_offset(0) shared_bytes(8192) : " SLOT "\n"
                              "    %k = buffer shared_offset(8192) shared_bytes(8192) : " SLOT "\n"
                              "    %q_full = mbarrier shared_offset(16384) arrivals(1) : mbarrier<1>\n"
                              "    %k_full = mbarrier shared_offset(16392) arrivals(1) : mbarrier<1>\n"
                              "    mbarrier_ready\n"
                              "    %zero = constant value(0) : i32\n"
                              "    %n0 = constant value(0) : index\n"
                              "    roles role_warps(4, 4) role_registers(232, 40) {\n"
                              "        %none = constant value(0.0) : " ACCUMULATOR "\n"
                              "        mbarrier_wait %q_full, %zero, %zero\n"
                              "        mbarrier_wait %k_full, %zero, %zero\n"
                              "        %d = dot_async instruction(wgmma) %q, %k, %none : " ACCUMULATOR "\n"
                              "        %done = dot_wait pending(0) %d : " ACCUMULATOR "\n"
                              "        store %c[%n0 +: 64, %n0 +: 64], %done\n"
                              "        yield\n"
                              "    } {\n"
                              "        mbarrier_expect bytes(8192) %q_full, %zero\n"
                              "        tma_load %a[%n0 +: 64, %n0 +: 64], %q, %q_full, %zero\n"
                              "        mbarrier_expect bytes(8192) %k_full, %zero\n"
                              "        tma_load %a[%n0 +: 64, %n0 +: 64], %k, %k_full, %zero\n"
                              "        yield\n"
                              "    }\n"
                              "    return\n"
                              "}\n";
/* A role of two warpgroups that take turns, one load after the other: with one slot and the wait inside the turn, the second
 * warpgroup would have to let go of what it can only read in its turn. */
static const char rounds[] =
    "kernel @rounds(%a: view<bf16, [?, ?], [?, 1], in> " FACTS "}, %c: view<bf16, [?], [1], out>) grid(1) "
    "level(machine) warps(12) shared(17408) {\n"
    "    %B = buffer shared_offset(0) shared_bytes(8192) : " SLOT "\n"
    "    %full = mbarrier shared_offset(16384) arrivals(1) : mbarrier<1>\n"
    "    %empty = mbarrier shared_offset(16392) arrivals(8) : mbarrier<1>\n"
    "    mbarrier_ready\n"
    "    %zero = constant value(0) : i32\n"
    "    %one = constant value(1) : i32\n"
    "    %n0 = constant value(0) : index\n"
    "    %n64 = constant value(64) : index\n"
    "    %K = extent dimension(1) %a : index\n"
    "    roles role_warps(8, 4) role_registers(0, 0) {\n"
    "        turn_start\n"
    "        %r = for %k: index = %n0 to %K step %n64 iter(%phase: i32 = %zero) {\n"
    "            turn_take\n"
    "            mbarrier_wait %full, %zero, %phase\n"
    "            %t = buffer_load %B : bf16[64, 64] #(64, 64; register b0 a3 b3:4; lane b1:2 a0:2; warp a4:5 b5)\n"
    "            turn_pass\n"
    "            mbarrier_arrive %empty, %zero\n"
    "            %other = xor %phase, %one : i32\n"
    "            yield %other\n"
    "        }\n"
    "        yield\n"
    "    } {\n"
    "        %s = for %j: index = %n0 to %K step %n64 iter(%turn: i32 = %one) {\n"
    "            mbarrier_wait %empty, %zero, %turn\n"
    "            mbarrier_expect bytes(8192) %full, %zero\n"
    "            tma_load %a[%n0 +: 64, %j +: 64], %B, %full, %zero\n"
    "            %next = xor %turn, %one : i32\n"
    "            yield %next\n"
    "        }\n"
    "        yield\n"
    "    }\n"
    "    return\n"
    "}\n";

struct change {
    const char *program, *line, *by;
    const char *says;
}; /* by NULL: the line is dropped; says NULL: "
    "good */
static const struct change changes[] = {
    {product, NULL, NULL, NULL},
    {copies, NULL, NULL, NULL},
    {staged, NULL, NULL, NULL},
    {scratch, NULL, NULL, NULL},
    {turns, NULL, NULL, NULL},
    {three, NULL, NULL, NULL},
    {named, NULL, NULL, NULL},
    {factors, NULL, NULL, NULL},
    {rounds, NULL, NULL, NULL},
    /* fences */
    {staged, "        %d = dot_async",
     "        barrier\n        buffer_store %t, %B\n        barrier\n        %d = dot_async", "without fence_async"},
    {product, "            fence_async\n", NULL,
     "`tma_store %c[%row +: 64, %n0 +: 64], %out` reads shared memory "
     "that ordinary stores wrote without fence_async"},
    {staged, "        fence_async\n", NULL, "`%d = dot_async"},
    {staged, "        fence_async\n        barrier // second\n", "        barrier\n        fence_async\n",
     "without fence_async"},
    /* phases */
    {product, "mbarrier_wait %full, %slot, %phase\n", "mbarrier_wait %full, %slot, %one\n", "`%d = dot_async"},
    {product, "mbarrier_wait %empty, %uslot, %free\n", "mbarrier_wait %empty, %uslot, %gphase\n",
     "waits for a phase that never ends"},
    {product, "%phase2 = select %wraps, %other, %phase : i32", "%phase2 = select %wraps, %phase, %other : i32",
     "[E1006]"},
    {product, "%gphase2 = select %uwraps, %gother, %gphase : i32", "%gphase2 = select %uwraps, %gphase, %gother : i32",
     "[E1006]"},
    {product, "yield %s1, %f1\n", "yield %zero, %zero\n", "[E1006]"},
    {product, "yield %u1, %g1\n", "yield %u1, %zero\n", "[E1006]"},
    /* waits */
    {product, "                mbarrier_wait %full, %slot, %phase\n", NULL, "[E1006]"},
    {product, "                mbarrier_wait %empty, %uslot, %free\n", NULL, "[E1006]"},
    {product, "                %done = dot_wait pending(0) %d", "                %done = dot_wait pending(1) %d",
     "writes shared memory that is read by an operation that may not be over"},
    {product, "            tma_wait pending(0)\n            barrier\n", "            barrier\n",
     "`buffer_store %narrow, %out` writes shared memory that is read"},
    {product, "        }\n        tma_wait pending(0)\n", "        }\n", "may still be on its way when the block ends"},
    {product, "            tma_commit\n", NULL, "`buffer_store %narrow, %out` writes shared memory that is read"},
    {copies, "        cp_wait pending(0)\n", NULL, "reads shared memory before it is sure that it was written"},
    {copies, "        cp_wait pending(0)\n", "        cp_wait pending(1)\n",
     "reads shared memory before it is sure that it was written"},
    {copies, "    cp_wait pending(0) // the last\n", NULL, "bytes of shared memory that another object still has"},
    {copies, "        cp_commit\n", NULL, "[E1006]"},
    {factors, "        mbarrier_wait %q_full, %zero, %zero\n", NULL, "reads shared memory before it is sure"},
    {factors, "        mbarrier_wait %k_full, %zero, %zero\n", NULL, "reads shared memory before it is sure"},
    {copies,
     "    cp_wait pending(0) // the last\n    barrier // the last\n    %rows = reduce axis(0) kind(add) "
     "shared_offset(0) shared_bytes(4096) %acc : f32[64] #(64; register a0 a3:5; lane a1:2 .3; warp .2)\n"
     "    store %c[%n0 +: 64], %rows\n",
     NULL, "may still be on its way when the block ends"},
    {factors, "dot_wait pending(0)", "dot_wait pending(1)", "uses the result of a product that nobody has waited for"},
    {product, "            tma_store %c[%row +: 64, %n0 +: 64], %out\n            tma_commit\n",
     "            mbarrier_expect bytes(8192) %full, %zero\n"
     "            tma_load %a[%row +: 64, %n0 +: 64], %out, %full, %zero\n",
     "may arrive too early"},
    /* barriers */
    {product, "            tma_wait pending(0)\n            barrier\n", "            tma_wait pending(0)\n",
     "`buffer_store %narrow, %out` writes shared memory that is read"},
    {product, "            fence_async\n            barrier\n", "            fence_async\n", "`tma_store"},
    {product, "    mbarrier_ready\n", NULL, "before mbarrier_ready"},
    {copies, "        barrier\n", NULL, "[E1006]"},
    {copies, "    barrier // the last\n", NULL, "`%rows = reduce"},
    {staged, "        barrier // first\n", NULL, "`buffer_store %t, %B` writes shared memory that is read"},
    {staged, "        barrier // second\n", NULL, "`%d = dot_async"},
    {scratch, "    barrier\n", NULL, "`%s = reduce"},
    /* arrivals and bytes */
    {product, "                mbarrier_arrive %empty, %slot\n", NULL, "0 of 4 arrivals came"},
    {product, "                mbarrier_arrive %empty, %slot\n",
     "                mbarrier_arrive %empty, %slot\n                mbarrier_arrive %empty, %slot\n", "[E1006]"},
    {product, "arrivals(4)", "arrivals(5)", "4 of 5 arrivals came"},
    {product, "arrivals(4)", "arrivals(3)", "arrives 4 times in a phase that 3 arrivals end"},
    {product, "arrivals(1)", "arrivals(2)", "1 of 2 arrivals came"},
    {product, "expect bytes(8192)", "expect bytes(8320)", "128 bytes fewer come than were announced"},
    {product, "expect bytes(8192)", "expect bytes(4096)", "4096 bytes more come than were announced"},
    {product, "                mbarrier_expect bytes(8192) %full, %uslot\n", NULL, "0 of 1 arrivals came"},
    {product, "                tma_load %a[%row2 +: 64, %k2 +: 64], %B, %full, %uslot\n", NULL,
     "8192 bytes fewer "
     "come"},
    {product,
     "                mbarrier_wait %empty, %uslot, %free\n                mbarrier_expect bytes(8192) %full, %uslot\n",
     "                mbarrier_expect bytes(8192) %full, %uslot\n                mbarrier_wait %empty, %uslot, %free\n",
     "may arrive too early"},
    {product, "                mbarrier_arrive %empty, %slot\n", "                mbarrier_arrive %empty, %two\n",
     "[E1004]"},
    {product, "%two = constant value(2)", "%two = constant value(3)", "uses mbarrier 2 of 2"},
    /* order */
    {product, "                mbarrier_arrive %empty, %slot\n", "", "0 of 4 arrivals came"},
    {product,
     "                %done = dot_wait pending(0) %d : " ACCUMULATOR "\n                mbarrier_arrive "
     "%empty, %slot\n",
     "                mbarrier_arrive %empty, %slot\n"
     "                %done = dot_wait pending(0) %d : " ACCUMULATOR "\n",
     "writes shared memory that is read by an operation that may not be over"},
    /* rings and places */
    {product, "%wraps = compare predicate(eq) %next, %two : bool", "%wraps = compare predicate(gt) %next, %two : bool",
     "[E1006]"},
    {product, "shared_offset(16384)", "shared_offset(15360)", "[E1006]"},
    {product, "shared_offset(16384)", "shared_offset(16896)", "where swizzles do"},
    {product, "mbarrier_ready",
     "%few = buffer shared_offset(64) shared_bytes(256) : buffer<f32, [64], slots(1), #(64; offset a0:5)>\n"
     "    mbarrier_ready",
     "where copies do"},
    {product, "shared(25600)", "shared(24576)", "lies behind the 24576 bytes"},
    {product, "tma_load %a[%row2 +: 64, %k2 +: 64], %B, %full, %uslot",
     "tma_load %a[%row2 +: 64, %k2 +: 64], %out, %full, %uslot", "[E1006]"},
    {product, "%B = slot %ring, %uslot", "%far = add %uslot, %one : i32\n                %B = slot %ring, %far",
     "uses slot 2 of a ring of 2"},
    {product, "tma_load %a[%row2 +: 64, %k2 +: 64], %B, %full, %uslot",
     "%same = slot %ring, %zero : " SLOT "\n                tma_load %a[%row2 +: 64, %k2 +: 64], %same, %full, %uslot",
     "[E1006]"},
    {product, "shared_offset(24592)", "shared_offset(24576)", "lies on an mbarrier"},
    {product, "shared_offset(24592)", "shared_offset(24584)", "lies on an mbarrier"},
    {product, "shared_offset(24576)", "shared_offset(24560)", "lies on an mbarrier"},
    {product, "shared_offset(24592)", "shared_offset(24596)", "is not aligned to 8 bytes"},
    {product, "shared_bytes(16384)", "shared_bytes(8192)", "has room for 8192 bytes and needs 16384"},
    {product, "buffer shared_offset(16384) shared_bytes(8192)", "buffer shared_offset(8192) shared_bytes(8192)",
     "bytes of shared memory that another object still has"},
    {copies, "    cp_commit\n    %acc",
     "    cp_commit\n    cp_wait pending(0)\n    barrier\n    %early = reduce axis(0) kind(add) "
     "shared_offset(0) shared_bytes(4096) %none : f32[64] #(64; register a0 a3:5; lane a1:2 .3; warp .2)\n    barrier\n    %acc",
     "reads a buffer whose bytes another object has overwritten"},
    {named, "        buffer_store %t, %B\n", NULL, "reads a slot of a buffer that nobody has written"},
    {named, "        barrier id(8) warps(8) // reader\n", NULL, "[E1006]"},
    {named, "        barrier id(8) warps(8) // reader\n", "        barrier id(9) warps(8)\n",
     "waits at a barrier that not all its warps come to"},
    /* numbered barriers: two groups were given 4 and 5; roles have 1 to 3 */
    {epilogues, NULL, NULL, NULL},
    {epilogues, "barrier id(4) warps(4)", "barrier id(5) warps(4)", "groups of 8 in all come to it"},
    {epilogues, "barrier id(5) warps(4)", "barrier id(6) warps(4)", "groups of 8 in all come to it"},
    {epilogues, "barrier id(4) warps(4)", "barrier id(3) warps(4)", "groups of 8 in all come to it"}, /* role 2's own */
    {epilogues, "barrier id(4) warps(4)", "barrier id(1) warps(4)", NULL},                            /* its own */
    {epilogues, "barrier id(4) warps(4)", "barrier id(4) warps(2)", "groups of 4 in all come to it"},
    {epilogues, "barrier id(4) warps(4)", "barrier id(5) warps(2)", "which is one of"},
    {turns, "        turn_pass\n        barrier\n", "        turn_pass\n        barrier id(7) warps(8)\n", NULL},
    {turns, "        turn_pass\n        barrier\n", "        turn_pass\n        barrier id(9) warps(4)\n",
     "which is one of 8 elsewhere"},
    /* turns */
    {rounds,
     "            turn_pass\n            mbarrier_arrive %empty, %zero\n            %other = xor %phase, %one : i32\n",
     "            %other = xor %phase, %one : i32\n            mbarrier_arrive %empty, %zero\n            mbarrier_wait %full, "
     "%zero, %other\n            turn_pass\n",
     "[E1006]"},
    {rounds, "            turn_pass\n            mbarrier_arrive %empty, %zero\n",
     "            mbarrier_arrive %empty, %zero\n            mbarrier_wait %empty, %zero, %phase\n            turn_pass\n",
     "waits for a turn that another warpgroup does not hand on"},
    {turns, "        turn_pass\n        barrier\n",
     "        turn_pass\n        turn_take\n        turn_pass\n        barrier\n", NULL},
    {turns, "        yield\n    }\n    return", "        yield\n    }\n    turn_take\n    return",
     "a turn that is never handed on"},
    {turns, "    turn_start\n", NULL, "nothing started"},
    {turns, "        turn_take\n", NULL, "was not taken"},
    {turns, "        turn_pass\n", NULL, "lets all warps meet while one warpgroup has the turn"},
    {turns, "        turn_pass\n        barrier\n", "        barrier\n        turn_pass\n",
     "lets all warps meet while"},
    {turns, "        turn_take\n        turn_pass\n", "        turn_take\n        turn_take\n", "waits for a turn"},
    {turns, "    turn_start\n", "    turn_start\n    turn_start\n", "a second time"},
    /* registers */
    {product, "role_registers(232, 40)", "role_registers(236, 40)", "steps of 8"},
    {product, "role_registers(232, 40)", "role_registers(256, 256)", NULL},
    {product, "role_warps(4, 4) role_registers(232, 40)", "role_warps(4, 4) role_registers(256, 264)", "[E1004]"},
    {product, "role_registers(232, 40)", "role_registers(232, 16)", "gives a role 16 registers"},
    {three, "role_registers(160, 160, 40)", "role_registers(232, 232, 56)", "gives its roles 66560 registers"},
    {three, "role_registers(160, 160, 40)", "role_registers(232, 232, 48)", NULL},
    {three, "warps(12) {", "warps(12) registers(112) {", "the block has 43008"}, /* no more than it starts with */
    {three, "warps(12) {", "warps(12) registers(120) {", NULL},
};

static void check(const struct change *change)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    const char *text = text_with(arena, change->program, change->line, change->by);
    struct source *source = ARENA_NEW(arena, struct source);
    struct pass_context context = {.arena = arena, .diagnostics = diagnostics};
    const struct pass_info *pass = pass_find("check_machine");
    struct pass_run run = {.passes = &pass, .count = 1};
    *source = (struct source){"machine", text, text ? strlen(text) : 0, NULL};
    struct ir_module *module = text ? ir_parse_module(ir_context_create(arena), arena, diagnostics, source) : NULL;
    bool good = module && ir_verify_module(module, diagnostics) && pass_run_all(&run, module->first, &context);
    bool said = false;
    if (aloud)
        diag_print(diagnostics, stdout, false);
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next) {
        const char *code = d->code == DIAGNOSTIC_E1006 ? "[E1006]" : d->code == DIAGNOSTIC_E1004 ? "[E1004]" : "";
        said |= change->says &&
                (!strcmp(code, change->says) || (d->code == DIAGNOSTIC_E1006 && strstr(d->text, change->says)));
    }
    cases++;
    if (!text || good != !change->says || (change->says && !said)) {
        failures++;
        printf("change of `%s`: %s\n", change->line ? change->line : "nothing",
               !text  ? "the line is not there"
               : good ? "is not found"
                      : "is not said as it should be");
        diag_print(diagnostics, stdout, false);
    }
    arena_destroy(arena);
}

int main(int count, char **arguments)
{
    aloud = count > 1 && strcmp(arguments[1], "aloud") == 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        check(&changes[i]);
    printf("%d programs, %d failures\n", cases, failures);
    return failures != 0;
}
