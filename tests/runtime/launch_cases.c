/* Launches that say more than their arguments: a variant of the caller's choice, and options; and TILE_PROFILE.  Run by
 * cuda.bats with the fake libcuda.so.1 in LD_LIBRARY_PATH, and beside it a fake libnvToolsExt.so.1 in group new; the
 * first argument picks the group: none, new (CUDA 13), old (CUDA 11). */
#include "case.h"
#include "fake_open.h"
#include "kernels.h"
#include <dlfcn.h>
#include <pthread.h>

static struct fake_cuda *cuda;
static struct fake_context context0 = {0, 11, 0}, context1 = {1, 22, 0};
static struct fake_stream stream0 = {&context0, 0}, stream1 = {&context1, 0}; /* sm_90 and sm_80 */
static float data[2][600];

static void open_fake(void) { cuda = fake_open(); }

static struct CUstream_st *cu(struct fake_stream *stream) { return (struct CUstream_st *)stream; }

/* scale on 512 elements; shift 1 leaves 16 bytes, which variant 0 of sm_90a relies on. */
struct scale_arguments {
    float a;
    struct view1 x, y;
    const void *list[3];
};
static const void *const *scale_arguments(struct scale_arguments *arguments, int shift)
{
    struct view1 x = {data[0] + shift, {512}, {1}}, y = {data[1] + shift, {512}, {1}};
    arguments->a = 2.0f;
    arguments->x = x;
    arguments->y = y;
    arguments->list[0] = &arguments->a;
    arguments->list[1] = &arguments->x;
    arguments->list[2] = &arguments->y;
    return arguments->list;
}
static int variant(struct CUstream_st *stream, int shift, int number)
{
    struct scale_arguments arguments;
    return tile_rt_launch_variant(&scale_kernel, stream, scale_arguments(&arguments, shift), number);
}
static int with(struct CUstream_st *stream, int shift, const struct tile_launch_options *options)
{
    struct scale_arguments arguments;
    return tile_rt_launch_ex(&scale_kernel, stream, scale_arguments(&arguments, shift), options);
}
static struct tile_launch_options sized(void)
{
    struct tile_launch_options options = {sizeof options, 0, 0, 0};
    return options;
}

/* ---- variants ---- */

static void variant_named(void)
{
    open_fake();
    EXPECT_STATUS(variant(cu(&stream0), 0, 1), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a && cuda->last.cluster == 1 && cuda->last.block[0] == 256);
    EXPECT_STATUS(variant(cu(&stream0), 0, 0), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a_fast && cuda->last.cluster == 2 && cuda->launches == 2);
}
static void variant_does_not_fit(void)
{
    open_fake();
    EXPECT_STATUS(variant(cu(&stream0), 1, 0), TILE_ERR_ARG,
                  "scale: variant 0 for sm_90a, x and y on 16 bytes, does not fit these arguments");
    EXPECT(cuda->launches == 0 && cuda->loads == 0);
    EXPECT_STATUS(variant(cu(&stream0), 1, 1), TILE_OK, "");
}
static void variant_absent(void)
{
    open_fake();
    EXPECT_STATUS(variant(cu(&stream0), 0, 2), TILE_ERR_ARG, "there is no variant 2: it has 2 for sm_90a");
    EXPECT_STATUS(variant(cu(&stream1), 0, 1), TILE_ERR_ARG, "there is no variant 1: it has 1 for sm_80");
    EXPECT_STATUS(variant(cu(&stream0), 0, -1), TILE_ERR_ARG, "there is no variant -1");
    EXPECT_STATUS(variant(TILE_CPU, 0, 1), TILE_ERR_ARG, "it has 1 for cpu-baseline, counted from 0");
    EXPECT(cuda->launches == 0);
}
/* What the call says goes before what the environment says. */
static void variant_and_environment(void)
{
    setenv("TILE_FORCE_VARIANT", "scale:0", 1);
    open_fake();
    EXPECT_STATUS(variant(cu(&stream0), 0, 1), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a);
    EXPECT_STATUS(with(cu(&stream0), 0, NULL), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a_fast);
}
/* All the other checks are those of the plain call. */
static void variant_checks(void)
{
    struct scale_arguments arguments;
    open_fake();
    scale_arguments(&arguments, 0);
    arguments.y.extent[0] = 511;
    EXPECT_STATUS(tile_rt_launch_variant(&scale_kernel, cu(&stream0), arguments.list, 1), TILE_ERR_ARG, "but N is 512");
    arguments.x.extent[0] = arguments.y.extent[0] = 0;
    EXPECT_STATUS(tile_rt_launch_variant(&scale_kernel, cu(&stream0), arguments.list, 1), TILE_OK, "");
    EXPECT(cuda->launches == 0);
}
/* The key of an instance is part of whether it fits. */
static void variant_key(void)
{
    struct view2 x = {data[0], {2, 20}, {20, 1}};
    const void *arguments[2] = {&x, &x};
    EXPECT_STATUS(tile_rt_launch_variant(&rows_kernel, TILE_CPU, arguments, 0), TILE_ERR_ARG, "variant 0");
    EXPECT(seen.calls == 0);
    EXPECT_STATUS(tile_rt_launch_variant(&rows_kernel, TILE_CPU, arguments, 1), TILE_OK, "");
    EXPECT(seen.calls > 0);
}
static void variant_on_processor(void)
{
    data[0][3] = 2.0f;
    data[1][3] = 1.0f;
    EXPECT_STATUS(variant(TILE_CPU, 0, 0), TILE_OK, "");
    EXPECT(data[1][3] == 5.0f);
    EXPECT_STATUS(variant(NULL, 0, 0), TILE_ERR_NO_DRIVER, "libcuda.so.1");
}

/* ---- options ---- */

static void options_empty(void)
{
    struct tile_launch_options zero = {0, 0, 0, 0}, options = sized();
    const struct tile_launch_options *each[] = {NULL, &zero, &options};
    open_fake();
    for (int i = 0; i < 3; i++) {
        EXPECT_STATUS(with(cu(&stream0), 1, each[i]), TILE_OK, "");
        EXPECT(cuda->launches == i + 1 && cuda->last.attributes == 0);
    }
}
static void options_set(void)
{
    struct tile_launch_options options = sized();
    open_fake();
    options.flags = TILE_LAUNCH_OVERLAP;
    EXPECT_STATUS(with(cu(&stream0), 1, &options), TILE_OK, "");
    EXPECT(cuda->last.attributes == 1 && cuda->last.overlap == 1 && cuda->last.priority == 0);
    options.priority = -3;
    EXPECT_STATUS(with(cu(&stream0), 0, &options), TILE_OK, "");
    EXPECT(cuda->last.attributes == 4 && cuda->last.overlap == 1 && cuda->last.priority == -3 &&
           cuda->last.cluster == 2 && cuda->last.policy == 2 && cuda->last.function == (const void *)cubin_90a_fast);
    options.flags = 0;
    EXPECT_STATUS(with(cu(&stream0), 1, &options), TILE_OK, "");
    EXPECT(cuda->last.attributes == 1 && cuda->last.overlap == 0 && cuda->last.priority == -3);
    EXPECT_STATUS(with(cu(&stream0), 1, NULL), TILE_OK, "");
    EXPECT(cuda->last.attributes == 0);
}
/* A named variant together with the others, or alone by the plain driver call. */
static void options_variant(void)
{
    struct tile_launch_options options = sized();
    open_fake();
    options.flags = TILE_LAUNCH_VARIANT;
    options.variant = 1;
    EXPECT_STATUS(with(cu(&stream0), 0, &options), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a && cuda->last.attributes == 0);
    options.flags |= TILE_LAUNCH_OVERLAP;
    options.priority = -2;
    EXPECT_STATUS(with(cu(&stream0), 0, &options), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a && cuda->last.overlap == 1 && cuda->last.priority == -2);
    options.variant = 0;
    EXPECT_STATUS(with(cu(&stream0), 1, &options), TILE_ERR_ARG, "variant 0 for sm_90a");
    options.variant = 2;
    EXPECT_STATUS(with(cu(&stream0), 0, &options), TILE_ERR_ARG, "there is no variant 2");
    EXPECT(cuda->launches == 2);
}
/* Before sm_90 the hardware has no overlap, and priority is there. */
static void options_older_device(void)
{
    struct tile_launch_options options = sized();
    open_fake();
    options.flags = TILE_LAUNCH_OVERLAP;
    options.priority = -1;
    EXPECT_STATUS(with(cu(&stream1), 0, &options), TILE_OK, "");
    EXPECT(cuda->last.attributes == 1 && cuda->last.overlap == 0 && cuda->last.priority == -1);
}
/* Code of an architecture before sm_90 does not wait for the kernel in front of it, on whatever device it runs. */
static void options_older_code(void)
{
    static struct tile_rt_state state;
    static const struct tile_rt_variant text[] = {
        {.state = &state, .image = "cubin, no: PTX of 80", .symbol = "t", .text = "", .threads = 128, SCALE_COMMON}};
    static const struct tile_rt_target target = {"compute_80", TILE_RT_TARGET_ptx, 80, 0, 1, text};
    static struct tile_rt_kernel kernel;
    struct tile_launch_options options = sized();
    struct scale_arguments arguments;
    open_fake();
    kernel = scale_kernel;
    kernel.targets = &target;
    kernel.target_count = 1;
    options.flags = TILE_LAUNCH_OVERLAP;
    EXPECT_STATUS(tile_rt_launch_ex(&kernel, cu(&stream0), scale_arguments(&arguments, 1), &options), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)text[0].image && cuda->last.overlap == 0);
}
/* A grid beyond the limit goes in several launches, all with the options. */
static void options_split_grid(void)
{
    struct tile_launch_options options = sized();
    int64_t i = INT64_C(1) << 16, j = INT64_C(1) << 16;
    const void *arguments[2] = {&i, &j};
    open_fake();
    cuda->slot_count = 5;
    options.priority = -2;
    EXPECT_STATUS(tile_rt_launch_ex(&huge_kernel, cu(&stream1), arguments, &options), TILE_OK, "");
    EXPECT(cuda->launches == 3 && cuda->last.priority == -2);
}
static void options_wrong(void)
{
    struct {
        struct tile_launch_options known;
        uint64_t later;
    } newer = {sized(), 0};
    struct tile_launch_options options = {0, 0, -1, 0};
    EXPECT_STATUS(with(TILE_CPU, 0, &options), TILE_ERR_ARG,
                  "scale: the launch options do not say their size: options.size = sizeof options");
    options.size = 4;
    EXPECT_STATUS(with(TILE_CPU, 0, &options), TILE_ERR_ARG, "is 4, less than the least, 16");
    options = sized();
    options.flags = 8;
    EXPECT_STATUS(with(TILE_CPU, 0, &options), TILE_ERR_ARG, "flags 0x8; this run time knows 0x7");
    options = sized();
    options.variant = 1;
    EXPECT_STATUS(with(TILE_CPU, 0, &options), TILE_ERR_ARG, "variant 1 without TILE_LAUNCH_VARIANT");
    newer.known.size = sizeof newer;
    EXPECT_STATUS(with(TILE_CPU, 0, &newer.known), TILE_OK, "");
    newer.later = UINT64_C(1) << 8;
    EXPECT_STATUS(with(TILE_CPU, 0, &newer.known), TILE_ERR_ARG, "byte 17 of the launch options is set");
}
static void options_on_processor(void)
{
    struct tile_launch_options options = {sizeof options, TILE_LAUNCH_OVERLAP, -1, 0};
    data[0][3] = 2.0f;
    data[1][3] = 1.0f;
    EXPECT_STATUS(with(TILE_CPU, 0, &options), TILE_OK, "");
    EXPECT(data[1][3] == 5.0f);
    options.flags |= TILE_LAUNCH_THIS_THREAD;
    EXPECT_STATUS(with(TILE_CPU, 0, &options), TILE_OK, "");
    EXPECT(data[1][3] == 9.0f);
}
/* A device has no threads of the caller's: as without, and no call that an old driver lacks. */
static void options_this_thread(void)
{
    struct tile_launch_options options = sized();
    open_fake();
    options.flags = TILE_LAUNCH_THIS_THREAD;
    EXPECT_STATUS(with(cu(&stream1), 0, &options), TILE_OK, "");
    EXPECT(cuda->launches == 1);
}
static void options_refused(void)
{
    struct tile_launch_options options = {sizeof options, 0, -1, 0};
    open_fake();
    cuda->scripts[cuda->script_count++] = (struct fake_script){"cuLaunchKernelEx", 1, 1, 1};
    EXPECT_STATUS(with(cu(&stream0), 1, &options), TILE_ERR_DRIVER, "cuLaunchKernelEx gives 1");
    EXPECT(tile_last_cuda_error() == 1);
}
static void old_options(void)
{
    struct tile_launch_options options = sized();
    open_fake();
    EXPECT_STATUS(with(cu(&stream1), 0, &options), TILE_OK, "");
    options.priority = -1;
    EXPECT_STATUS(with(cu(&stream1), 0, &options), TILE_ERR_DRIVER, "cuLaunchKernelEx gives 801");
    EXPECT(tile_last_cuda_error() == 801 && cuda->launches == 1);
}

/* ---- records ---- */

/* A name for this case's file, made ready in TILE_PROFILE. */
static char profile_name[64];
static void profile_to(const char *suffix)
{
    snprintf(profile_name, sizeof profile_name, "launches-%ld%s", (long)getpid(), suffix);
    setenv("TILE_PROFILE", profile_name, 1);
}
static const char *contents(const char *name)
{
    static char text[8192];
    FILE *file = fopen(name, "r");
    size_t size = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[size] = 0;
    return text;
}
/* The record at text, a line with this name and this end; what follows the line, NULL if it is not so. */
static const char *record(const char *text, const char *name, const char *wanted)
{
    char format[100], rest[600];
    long process, thread;
    unsigned long long begin, length, ns;
    unsigned begin_rest, length_rest;
    int status = -1;
    const char *end = strchr(text, '\n'), *tail;
    snprintf(format, sizeof format, "{\"name\":\"%s\",\"cat\":\"launch\",\"ph\":\"X\",", name);
    if (end == NULL || strncmp(text, format, strlen(format)) != 0)
        return NULL;
    if (sscanf(text + strlen(format), "\"pid\":%ld,\"tid\":%ld,\"ts\":%llu.%3u,\"dur\":%llu.%3u,\"args\":{%599[^\n]",
               &process, &thread, &begin, &begin_rest, &length, &length_rest, rest) != 7)
        return NULL;
    tail = strstr(rest, ",\"ns\":");
    if (process != (long)getpid() || strncmp(rest, wanted, strlen(wanted)) != 0 || tail != rest + strlen(wanted))
        return NULL;
    if (sscanf(tail, ",\"ns\":%llu,\"status\":%d}}", &ns, &status) != 2 || ns != 1000 * length + length_rest)
        return NULL;
    return status == 0 || status == TILE_ERR_DRIVER ? end + 1 : NULL;
}
static void profile(void)
{
    const char *(*ranges)(void);
    const char *at;
    void *library, *address;
    profile_to(".json");
    open_fake();
    EXPECT_STATUS(with(cu(&stream0), 0, NULL), TILE_OK, "");
    at = contents(profile_name);
    EXPECT(strncmp(at, "[\n", 2) == 0);
    at = record(at + 2, "scale",
                "\"target\":\"sm_90a\",\"variant\":0,\"facts\":\"x and y on 16 bytes\",\"device\":0,"
                "\"grid\":[2],\"programs\":2,\"threads\":128");
    EXPECT(at != NULL && strcmp(at, "]\n") == 0); /* whole after each */
    EXPECT_STATUS(variant(cu(&stream1), 1, 0), TILE_OK, "");
    EXPECT_STATUS(variant(cu(&stream1), 1, 7), TILE_ERR_ARG, "variant 7");
    cuda->scripts[cuda->script_count++] = (struct fake_script){"cuLaunchKernelEx", 3, 1, 1};
    EXPECT_STATUS(with(cu(&stream1), 1, NULL), TILE_ERR_DRIVER, "cuLaunchKernelEx gives 1");
    at = contents(profile_name);
    EXPECT(strstr(at, "}},\n{") != NULL && strstr(at, "\"status\":7}}\n]\n") != NULL);
    at = record(strchr(at + 2, '\n') + 1, "scale",
                "\"target\":\"sm_80\",\"variant\":0,\"facts\":\"\",\"device\":1,"
                "\"grid\":[2],\"programs\":2,\"threads\":128");
    EXPECT(at != NULL);
    library = dlopen("libnvToolsExt.so.1", RTLD_NOW | RTLD_NOLOAD);
    address = library ? dlsym(library, "fake_nvtx") : NULL;
    EXPECT(address != NULL);
    if (address != NULL) {
        memcpy(&ranges, &address, sizeof address);
        EXPECT(strcmp(ranges(), "+scale-+scale-+scale-") == 0);
    }
    unlink(profile_name);
}
static void profile_on_processor(void)
{
    struct tile_rt_kernel kernel = scale_kernel;
    struct scale_arguments arguments;
    const char *at;
    kernel.name = "a \"b\"\\\n\xc3\xa4";
    profile_to(".json");
    setenv("TILE_CPU_THREADS", "1", 1);
    EXPECT_STATUS(tile_rt_launch(&kernel, TILE_CPU, scale_arguments(&arguments, 0)), TILE_OK, "");
    at = record(contents(profile_name) + 2, "a \\\"b\\\"\\\\\\u000a\xc3\xa4",
                "\"target\":\"cpu-baseline\",\"variant\":0,\"facts\":\"\",\"device\":-1,\"grid\":[2],\"programs\":2,"
                "\"threads\":1");
    EXPECT(at != NULL && strcmp(at, "]\n") == 0);
    unlink(profile_name);
}
static void profile_refused(void)
{
    setenv("TILE_PROFILE", "no such folder/file.json", 1);
    data[1][3] = 1.0f;
    EXPECT_STATUS(with(TILE_CPU, 0, NULL), TILE_ERR_ENVIRONMENT, "TILE_PROFILE=no such folder/file.json: No such file");
    EXPECT_STATUS(with(TILE_CPU, 0, NULL), TILE_ERR_ENVIRONMENT, "No such file");
    EXPECT(data[1][3] == 1.0f);
}
static void profile_no_file(void)
{
    setenv("TILE_PROFILE", "/dev/null", 1);
    EXPECT_STATUS(with(TILE_CPU, 0, NULL), TILE_ERR_ENVIRONMENT, "not a file");
}
/* The parent's file stays the parent's. */
static void profile_fork(void)
{
    for (int own = 0; own < 2; own++) {
        pid_t process = fork(), child;
        int status = -1;
        if (process == 0) {
            char name[64], before[8192];
            profile_to(own ? "-%p.json" : ".json");
            snprintf(name, sizeof name, "launches-%ld-%ld.json", (long)getpid(), (long)getpid());
            if (!own)
                snprintf(name, sizeof name, "%s", profile_name);
            EXPECT_STATUS(with(TILE_CPU, 0, NULL), TILE_OK, "");
            snprintf(before, sizeof before, "%s", contents(name));
            EXPECT(strlen(before) > 100);
            child = fork();
            if (child == 0) {
                long parent = (long)getppid();
                char its[64];
                EXPECT_STATUS(with(TILE_CPU, 0, NULL), TILE_OK, "");
                snprintf(its, sizeof its, "launches-%ld-%ld.json", parent, (long)getpid());
                EXPECT((access(its, F_OK) == 0) == own);
                unlink(its);
                _exit(failures != 0);
            }
            waitpid(child, &status, 0);
            EXPECT(status == 0 && strcmp(before, contents(name)) == 0);
            unlink(name);
            _exit(failures != 0);
        }
        waitpid(process, &status, 0);
        EXPECT(status == 0);
    }
}
static void *launch_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++)
        EXPECT_STATUS(with(cu(&stream0), 1, NULL), TILE_OK, "");
    return NULL;
}
static void profile_threads(void)
{
    pthread_t threads[4];
    const char *at;
    int records = 0;
    profile_to(".json");
    open_fake();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, launch_often, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (at = contents(profile_name) + 2; at != NULL && at[0] == '{'; records++)
        at = record(at, "scale",
                    "\"target\":\"sm_90a\",\"variant\":1,\"facts\":\"\",\"device\":0,\"grid\":[2],"
                    "\"programs\":2,\"threads\":256");
    EXPECT(records == 20 && at != NULL && strcmp(at, "]\n") == 0);
    unlink(profile_name);
}

int main(int count, char **arguments)
{
    static const struct test_case none[] = {
        CASE(variant_key),          CASE(variant_on_processor), CASE(options_on_processor), CASE(options_wrong),
        CASE(profile_on_processor), CASE(profile_refused),      CASE(profile_no_file),      CASE(profile_fork)};
    static const struct test_case new[] = {
        CASE(variant_named),
        CASE(variant_does_not_fit),
        CASE(variant_absent),
        CASE(variant_and_environment),
        CASE(variant_checks),
        CASE(options_empty),
        CASE(options_set),
        CASE(options_variant),
        CASE(options_older_device),
        CASE(options_older_code),
        CASE(options_split_grid),
        CASE(options_refused),
        CASE(profile),
        CASE(profile_threads),
    };
    static const struct test_case old[] = {CASE(variant_checks), CASE(old_options), CASE(options_this_thread)};
    const char *group = count > 1 ? arguments[1] : "", *only = count > 2 ? arguments[2] : NULL;
    if (strcmp(group, "none") == 0)
        return run_cases(none, (int)(sizeof none / sizeof none[0]), only);
    if (strcmp(group, "new") == 0)
        return run_cases(new, (int)(sizeof new / sizeof new[0]), only);
    if (strcmp(group, "old") == 0)
        return run_cases(old, (int)(sizeof old / sizeof old[0]), only);
    return 2;
}
