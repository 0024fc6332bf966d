/* Where memory ends that kernels with checks may reach by a pointer: what the program says, what the driver knows, and
 * what a view covers. */
#include "case.h"
#include "tile_rt_internal.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static float data[100];
static const struct tile_rt_parameter parameters[] = {
    {.name = "n", .kind = TILE_RT_PARAMETER_key},
    {.name = "p", .kind = TILE_RT_PARAMETER_pointer, .type = TILE_RT_TYPE_f32},
    {.name = "a", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_f32},
    {.name = "x", .kind = TILE_RT_PARAMETER_view, .type = TILE_RT_TYPE_f32, .rank = 1},
};
static const struct tile_rt_kernel kernel = {.parameter_count = 4, .parameters = parameters};
static uint64_t report[TILE_RT_REPORT_records];

/* The driver knows that the first 50 numbers are one allocation. */
static int ask(void *value, int attribute, uint64_t pointer)
{
    size_t bytes = 50 * sizeof *data;
    if (pointer - (uintptr_t)data >= bytes)
        return 1;
    if (attribute == 11)
        *(uint64_t *)value = (uintptr_t)data;
    else
        *(size_t *)value = bytes;
    return attribute != 11 && attribute != 12;
}

/* What p and x are told, where both begin at that number and x has `extent` of them: numbers in front and behind. */
static void expect(int first, int extent, tile_rt_pointer_attribute *asked, int p_front, int p_behind, int x_front,
                   int x_behind)
{
    uint64_t address = (uintptr_t)(data + first), slots[] = {address, 0, address, (uint64_t)extent, 1};
    struct tile_rt_range ranges[4] = {{0, 0}, {0, 0}, {0, 0}, {address, address + 4 * (uint64_t)extent}};
    struct tile_rt_call call = {.kernel = &kernel, .slots = slots, .ranges = ranges, .first_slot = {0, 0, 1, 2}};
    uint64_t *bounds = report + TILE_RT_REPORT_bounds;
    tile_rt_note_allocations(&call, report, asked);
    EXPECT(bounds[0] == 4 * (uint64_t)p_front && bounds[1] == 4 * (uint64_t)p_behind);
    EXPECT(bounds[2] == 0 && bounds[3] == 0);
    EXPECT(bounds[4] == 4 * (uint64_t)x_front && bounds[5] == 4 * (uint64_t)x_behind);
    for (int i = 6; i < 2 * TILE_RT_MAX_PARAMETERS; i++)
        EXPECT(bounds[i] == 0);
}

static void nobody_says(void)
{
    report[TILE_RT_REPORT_bounds + 9] = 5; /* of the kernel before */
    expect(10, 7, NULL, 0, 0, 0, 7);
    expect(10, 0, NULL, 0, 0, 0, -2); /* less than none: known to be empty */
}

static void driver_says(void)
{
    expect(10, 7, ask, 10, 40, 0, 7);
    expect(50, 7, ask, 0, 0, 0, 7);
}

static void program_says(void)
{
    EXPECT_STATUS(tile_set_allocation(data + 8, 20 * sizeof *data), TILE_OK, "");
    EXPECT_STATUS(tile_set_allocation(data + 40, 20 * sizeof *data), TILE_OK, "");
    expect(8, 7, ask, 0, 20, 0, 20);
    expect(27, 1, ask, 19, 1, 19, 1);
    expect(28, 1, NULL, 0, 0, 0, 1);
    expect(45, 1, NULL, 5, 15, 5, 15);
    EXPECT_STATUS(tile_set_allocation(data + 8, 10 * sizeof *data), TILE_OK, ""); /* in place of the first */
    expect(18, 1, NULL, 0, 0, 0, 1);
    expect(17, 1, NULL, 9, 1, 9, 1);
    EXPECT_STATUS(tile_set_allocation(data + 8, 0), TILE_OK, "");
    EXPECT_STATUS(tile_set_allocation(data + 40, 0), TILE_OK, "");
    EXPECT_STATUS(tile_set_allocation(data + 40, 0), TILE_OK, "");
    expect(45, 1, NULL, 0, 0, 0, 1);
}

static int over;

static void *say_all_the_time(void *unused)
{
    static char room[64];
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        tile_set_allocation(room, sizeof room);
        tile_set_allocation(room, 0);
    }
    return unused;
}

/* The child of a fork may call, whatever other threads were about to do, and knows nothing of what was said. */
static void forks(void)
{
    pthread_t threads[3];
    int i, status, bad = 0;
    EXPECT_STATUS(tile_set_allocation(data + 8, 20 * sizeof *data), TILE_OK, "");
    for (i = 0; i < 3; i++)
        EXPECT(pthread_create(&threads[i], NULL, say_all_the_time, NULL) == 0);
    for (i = 0; i < 300 && !bad; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            expect(8, 7, NULL, 0, 0, 0, 7);
            EXPECT_STATUS(tile_set_allocation(data + 40, 20 * sizeof *data), TILE_OK, "");
            expect(45, 1, NULL, 5, 15, 5, 15);
            _exit(failures != 0);
        }
        EXPECT(child > 0 && waitpid(child, &status, 0) == child);
        bad = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    EXPECT(!bad);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void wrong(void)
{
    EXPECT_STATUS(tile_set_allocation(NULL, 4), TILE_ERR_ARG, "tile_set_allocation");
    EXPECT_STATUS(tile_set_allocation(data, SIZE_MAX), TILE_ERR_ARG, "tile_set_allocation");
}

int main(int count, char **arguments)
{
    static const struct test_case cases[] = {CASE(nobody_says), CASE(driver_says), CASE(program_says), CASE(wrong),
                                             CASE(forks)};
    return run_cases(cases, (int)(sizeof cases / sizeof cases[0]), count > 1 ? arguments[1] : NULL);
}
