/* What a program that `tilecc tune --native` makes runs, beside measure.h: it does as it is told on standard input, a
 * command a line, and answers each with a line on standard output.
 *
 * Before the first command it says what measure.h says of the device, and of each call and each kernel behind it:
 *
 *   call I                    and: failed TEXT, or
 *   kernel K NANOSECONDS      the kernel that it launches, and what a launch takes
 *   image K SYMBOL PATH       that kernel's cubin, which is in a file
 *   ready
 *
 * Commands; a slot holds a kernel beside the one that the run time has loaded, and slot 0 is that:
 *
 *   load K SLOT AT SIZE       and so many bytes, which stand in the cubin's copy at AT: `done`, or `failed TEXT`
 *   time I A B PAIRS LAUNCHES COLD      so many times so many launches of call I with the kernel in slot A, and with B:
 *                             `times` and a pair of nanoseconds of a launch for each; COLD: with what the caches held
 *                             overwritten before each launch
 *   check I A B FIRST COUNT   call I by A and by B from number FIRST on, each time with other inputs:
 *                             `same ELEMENTS`, or `differs LAUNCH`
 *
 * The run time's calls of the driver go through functions here: they know which cubins it loads, and launch the kernel of a
 * slot in place of the one that the call chose.  The linker puts them there (--wrap=dlsym). */
enum {
    SERVE_IMAGES = 64,
    SERVE_SLOTS = 4,
    SERVE_ATTRIBUTES = 4,
    SERVE_EVENTS = 256,
    SERVE_WINDOW = 4 << 20, /* bytes of the outputs that are compared at a launch */
    SERVE_POOL = 8 << 20    /* bytes from which inputs are put together */
};

/* A cubin that the run time has loaded. */
struct serve_image {
    const unsigned char *code;
    void *library, *kernel;
    char symbol[256];
    int attribute_count, attributes[SERVE_ATTRIBUTES][2];
};
struct serve_slot {
    unsigned char *code; /* the driver reads it as long as it is loaded */
    void *library, *kernel;
};
struct serve_fill {
    uint64_t pool[2]; /* of the GPU: usual values; some NaN and infinite ones among them */
};

static struct {
    int (*load)(void **, const void *, int *, void **, unsigned, int *, void **, unsigned), (*unload)(void *);
    int (*get)(void **, void *, const char *), (*set)(int, int, void *, int);
    int (*launch)(const void *, void *, void **, void **);
    int (*pin)(void **, size_t);
    int (*to_host)(void *, uint64_t, size_t, struct CUstream_st *);
    int image_count, launched; /* the image of the last launch; -1: there was none */
    struct serve_image images[SERVE_IMAGES];
    struct serve_slot slots[SERVE_SLOTS];
    int slot; /* whose kernel is launched */
    void *event[SERVE_EVENTS];
    struct CUstream_st *beside;
    struct serve_fill fills[MEASURE_BYTES + 1];
    unsigned char *windows[2]; /* of the host, pinned */
    void **memory[2];          /* of each call: its own, and that of the launches beside it */
    void **kept;               /* a copy of each call's own inputs, which comparisons overwrite */
    const char *folder;
} serve = {.launched = -1};

/* ---- what the run time sees of the driver ---- */

static int serve_load_library(void **library, const void *code, int *options, void **values, unsigned count,
                              int *library_options, void **library_values, unsigned library_count)
{
    int error = serve.load(library, code, options, values, count, library_options, library_values, library_count);
    if (!error && serve.image_count < SERVE_IMAGES)
        serve.images[serve.image_count++] = (struct serve_image){.code = code, .library = *library};
    return error;
}

static int serve_get_kernel(void **kernel, void *library, const char *name)
{
    int error = serve.get(kernel, library, name);
    for (int i = 0; i < serve.image_count && !error; i++)
        if (serve.images[i].library == library) {
            serve.images[i].kernel = *kernel;
            snprintf(serve.images[i].symbol, sizeof serve.images[i].symbol, "%s", name);
        }
    return error;
}

static int serve_set_attribute(int attribute, int value, void *kernel, int device)
{
    for (int i = 0; i < serve.image_count; i++) {
        struct serve_image *image = &serve.images[i];
        if (image->kernel != kernel || image->attribute_count == SERVE_ATTRIBUTES)
            continue;
        image->attributes[image->attribute_count][0] = attribute;
        image->attributes[image->attribute_count++][1] = value;
    }
    return serve.set(attribute, value, kernel, device);
}

static int serve_launch(const void *config, void *function, void **parameters, void **extra)
{
    for (int i = 0; i < serve.image_count; i++)
        if (serve.images[i].kernel == function)
            serve.launched = i;
    return serve.launch(config, serve.slot ? serve.slots[serve.slot].kernel : function, parameters, extra);
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
    static const struct {
        const char *name;
        void *real, *ours;
    } places[] = {{"cuLibraryLoadData", &serve.load, NULL},
                  {"cuLibraryGetKernel", &serve.get, NULL},
                  {"cuKernelSetAttribute", &serve.set, NULL},
                  {"cuLaunchKernelEx", &serve.launch, NULL}};
    int (*const ours[])(void) = {(int (*)(void))serve_load_library, (int (*)(void))serve_get_kernel,
                                 (int (*)(void))serve_set_attribute, (int (*)(void))serve_launch};
    void *found = strncmp(name, "cuGetProcAddress", 16) == 0 ? NULL : __real_dlsym(library, name);
    for (int i = 0; i < 4 && found; i++)
        if (strcmp(name, places[i].name) == 0) {
            memcpy(places[i].real, &found, sizeof found);
            memcpy(&found, &ours[i], sizeof found);
        }
    return found;
}

/* ---- cubins ---- */

/* Where a cubin ends, by its tables: the driver is given no size. */
static size_t serve_size(const unsigned char *code)
{
    enum { PROGRAM_AT = 32, SECTION_AT = 40, PROGRAM_SIZE = 54, SECTION_SIZE = 58, KIND_EMPTY = 8 };
    uint64_t table[2], at, bytes;
    uint16_t each[2], count[2];
    uint32_t kind;
    memcpy(&table[0], code + PROGRAM_AT, 8);
    memcpy(&table[1], code + SECTION_AT, 8);
    for (int i = 0; i < 2; i++) {
        memcpy(&each[i], code + (i ? SECTION_SIZE : PROGRAM_SIZE), 2);
        memcpy(&count[i], code + (i ? SECTION_SIZE : PROGRAM_SIZE) + 2, 2);
    }
    size_t end = 64;
    for (int i = 0; i < 2; i++) {
        size_t here = count[i] ? table[i] + (size_t)each[i] * count[i] : 0;
        end = here > end ? here : end;
    }
    for (int i = 0; i < count[1]; i++) {
        const unsigned char *section = code + table[1] + (size_t)each[1] * (size_t)i;
        memcpy(&kind, section + 4, 4);
        memcpy(&at, section + 24, 8);
        memcpy(&bytes, section + 32, 8);
        if (kind != KIND_EMPTY && at + bytes > end)
            end = at + bytes;
    }
    return end;
}

static void serve_put_image(int number)
{
    const struct serve_image *image = &serve.images[number];
    char path[4096];
    size_t size = serve_size(image->code);
    snprintf(path, sizeof path, "%s/%d.cubin", serve.folder, number);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(image->code, 1, size, file) != size || fclose(file))
        measure_end("a file of a cubin cannot be written", MEASURE_NO_FILE);
    fprintf(measure_out, "image %d %s %s\n", number, image->symbol, path);
}

static void serve_empty(struct serve_slot *slot)
{
    if (slot->library)
        serve.unload(slot->library);
    free(slot->code);
    memset(slot, 0, sizeof *slot);
}

/* NULL, or what failed. */
static const char *serve_open(const struct serve_image *image, struct serve_slot *slot)
{
    int preserved = 1, value = 1, error;
    void *values[] = {&value};
    error = serve.load(&slot->library, slot->code, NULL, NULL, 0, &preserved, values, 1);
    if (error)
        return "cuLibraryLoadData";
    if (serve.get(&slot->kernel, slot->library, image->symbol))
        return "cuLibraryGetKernel";
    for (int i = 0; i < image->attribute_count; i++)
        if (serve.set(image->attributes[i][0], image->attributes[i][1], slot->kernel, 0))
            return "cuKernelSetAttribute";
    return NULL;
}

static void serve_load(int number, int slot_number, size_t at, size_t bytes)
{
    if (number < 0 || number >= serve.image_count || slot_number < 1 || slot_number >= SERVE_SLOTS)
        measure_stop("a command that is none");
    const struct serve_image *image = &serve.images[number];
    struct serve_slot *slot = &serve.slots[slot_number];
    size_t size = serve_size(image->code);
    serve_empty(slot);
    if (at > size || bytes > size - at || posix_memalign((void **)&slot->code, 64, size))
        measure_stop("a command that is none");
    memcpy(slot->code, image->code, size);
    if (fread(slot->code + at, 1, bytes, stdin) != bytes)
        exit(1);
    const char *failed = serve_open(image, slot);
    fprintf(measure_out, failed ? "failed %s\n" : "done\n", failed);
}

/* ---- time ---- */

static int serve_run(const struct measure_call *call, int slot, struct CUstream_st *stream, void *const *memory)
{
    serve.slot = slot;
    int status = call->run(stream, memory);
    serve.slot = 0;
    return status;
}

static void serve_synchronize(void)
{
    if (measure_gpu.synchronize(measure_gpu.stream))
        measure_stop("the GPU stopped with an error");
}

static void serve_flush(void) { measure_gpu.set(measure_gpu.flush, 0, measure_gpu.flush_bytes, measure_gpu.stream); }

/* All of it stands in the stream before it is waited for, and begins behind a fill of memory, so that the GPU does not wait
 * for us.  Which of the two is first alternates. */
static void serve_time(const struct measure_call *call, int number, const int slots[2], int pairs, int launches,
                       int cold)
{
    double taken[SERVE_EVENTS / 4][2];
    pairs = pairs > SERVE_EVENTS / 4 ? SERVE_EVENTS / 4 : pairs;
    serve_flush();
    for (int i = 0; i < 2; i++)
        measure_must(serve_run(call, slots[i], measure_gpu.stream, serve.memory[0] + number * MEASURE_MOST_MEMORIES),
                     tile_last_error());
    for (int p = 0; p < pairs; p++)
        for (int k = 0; k < 2; k++) {
            int side = (p + k) % 2, event = 2 * (2 * p + side);
            if (cold)
                serve_flush();
            measure_gpu.event_record(serve.event[event], measure_gpu.stream);
            for (int i = 0; i < launches; i++)
                measure_must(
                    serve_run(call, slots[side], measure_gpu.stream, serve.memory[0] + number * MEASURE_MOST_MEMORIES),
                    tile_last_error());
            measure_gpu.event_record(serve.event[event + 1], measure_gpu.stream);
        }
    serve_synchronize();
    for (int p = 0; p < pairs; p++)
        for (int side = 0; side < 2; side++) {
            float milliseconds = 0;
            int event = 2 * (2 * p + side);
            measure_must(measure_gpu.event_elapsed(&milliseconds, serve.event[event], serve.event[event + 1]),
                         "an event was lost");
            taken[p][side] = (double)milliseconds * 1e6 / launches;
        }
    fprintf(measure_out, "times");
    for (int p = 0; p < pairs; p++)
        fprintf(measure_out, " %.2f %.2f", taken[p][0], taken[p][1]);
    fprintf(measure_out, "\n");
}

/* ---- results ---- */

/* NaN, an infinity and the largest number of a float of the fill. */
static uint64_t serve_strange(enum measure_fill fill, int which)
{
    static const uint64_t words[][3] = {[MEASURE_F16] = {0x7e00, 0xfc00, 0x7bff},
                                        [MEASURE_BF16] = {0x7fc0, 0xff80, 0x7f7f},
                                        [MEASURE_F32] = {0x7fc00000, 0xff800000, 0x7f7fffff},
                                        [MEASURE_F64] = {0x7ff8000000000000, 0xfff0000000000000, 0x7fefffffffffffff},
                                        [MEASURE_BYTES] = {0x7f, 0xff, 0x7e}};
    return words[fill][which];
}

static void serve_make_pool(const struct measure_memory *m)
{
    enum { RARE = 1 << 13 };
    struct serve_fill *fill = &serve.fills[m->fill];
    uint64_t state = 2;
    int has_strange = m->fill >= MEASURE_F16;
    if (fill->pool[0] || m->fill == MEASURE_NOTHING)
        return;
    unsigned char *bytes = malloc(SERVE_POOL);
    for (int pool = 0; pool < 2; pool++) {
        measure_must(!bytes || measure_gpu.memory_allocate(&fill->pool[pool], SERVE_POOL), "memory is full");
        for (size_t at = 0; at + (size_t)m->width <= SERVE_POOL; at += (size_t)m->width) {
            measure_element(m, &state, bytes + at);
            if (pool && has_strange && (state >> 40) % RARE == 0) {
                uint64_t word = serve_strange(m->fill, (int)((state >> 20) % 3));
                memcpy(bytes + at, &word, (size_t)m->width);
            }
        }
        measure_gpu.to_device(fill->pool[pool], bytes, SERVE_POOL);
    }
    free(bytes);
}

static uint64_t serve_draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return (z ^ z >> 27) * 0x94d049bb133111ebu >> 16;
}

static void serve_copy(void *to, void *from, size_t bytes)
{
    if (bytes)
        measure_gpu.copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, measure_gpu.stream);
}

/* Pieces of the pool from places drawn by the number of the launch. */
static void serve_fill_memory(const struct measure_memory *m, void *memory, uint64_t launch, int k)
{
    enum { GRAIN = 16, LEAST = 1 << 16 };
    uint64_t state = launch * MEASURE_MOST_MEMORIES + (uint64_t)k;
    const struct serve_fill *fill = &serve.fills[m->fill];
    if (!m->given || m->fill == MEASURE_NOTHING) {
        measure_gpu.set((uint64_t)(uintptr_t)memory, 0xa5, m->bytes, measure_gpu.stream);
        return;
    }
    for (size_t at = 0, piece; at < m->bytes; at += piece) {
        size_t from = (size_t)(serve_draw(&state) % ((SERVE_POOL - LEAST) / GRAIN)) * GRAIN;
        piece = m->bytes - at < SERVE_POOL - from ? m->bytes - at : SERVE_POOL - from;
        measure_gpu.copy((uint64_t)(uintptr_t)memory + at, fill->pool[launch % 4 == 3] + from, piece,
                         measure_gpu.stream);
    }
}

/* Other work beside the launch: another call, or the same with other memory, and memory that is written. */
static void serve_load_gpu(const struct measure_call *calls, int count, uint64_t launch)
{
    int other = (int)(launch / 4 % (uint64_t)count);
    if (launch % 2 == 0)
        return;
    if (launch % 4 == 1)
        measure_gpu.set(measure_gpu.flush, 1, measure_gpu.flush_bytes, serve.beside);
    if (serve.memory[1][other * MEASURE_MOST_MEMORIES])
        serve_run(&calls[other], 0, serve.beside, serve.memory[1] + other * MEASURE_MOST_MEMORIES);
}

/* Runs it with the inputs of the launch, and brings a window of each output to the host, all as much at most: bytes. */
static size_t serve_results(const struct measure_call *calls, int count, int number, int slot, uint64_t launch,
                            unsigned char *window, uint64_t *elements)
{
    const struct measure_call *call = &calls[number];
    void *const *memory = serve.memory[0] + number * MEASURE_MOST_MEMORIES;
    uint64_t state = launch;
    size_t used = 0, outputs = 0;
    for (int k = 0; k < call->memory_count; k++) {
        serve_fill_memory(&call->memory[k], memory[k], launch, k);
        outputs += call->memory[k].wanted != 0;
    }
    serve_load_gpu(calls, count, launch);
    measure_must(serve_run(call, slot, measure_gpu.stream, memory), tile_last_error());
    for (int k = 0; k < call->memory_count; k++) {
        const struct measure_memory *m = &call->memory[k];
        size_t most = SERVE_WINDOW / (outputs ? outputs : 1), bytes = m->bytes < most ? m->bytes : most;
        size_t from = m->bytes > bytes ? (size_t)(serve_draw(&state) % (m->bytes - bytes + 1)) : 0;
        if (!m->wanted)
            continue;
        serve.to_host(window + used, (uint64_t)(uintptr_t)memory[k] + from, bytes, measure_gpu.stream);
        used += bytes;
        *elements += bytes / (size_t)m->width;
    }
    return used;
}

static void serve_check(const struct measure_call *calls, int count, int number, const int slots[2], uint64_t first,
                        uint64_t launches)
{
    uint64_t compared = 0, unused = 0;
    for (int k = 0; k < calls[number].memory_count; k++)
        serve_make_pool(&calls[number].memory[k]);
    for (uint64_t i = first; i < first + launches; i++) {
        size_t bytes = 0;
        for (int side = 0; side < 2; side++)
            bytes = serve_results(calls, count, number, slots[side], i, serve.windows[side],
                                  side ? &compared : &unused);
        serve_synchronize();
        if (memcmp(serve.windows[0], serve.windows[1], bytes) != 0) {
            fprintf(measure_out, "differs %llu\n", (unsigned long long)i);
            return;
        }
    }
    measure_must(measure_gpu.synchronize(serve.beside), "the GPU stopped with an error");
    for (int k = 0; k < calls[number].memory_count; k++)
        serve_copy(serve.memory[0][number * MEASURE_MOST_MEMORIES + k], serve.kept[number * MEASURE_MOST_MEMORIES + k],
                   calls[number].memory[k].bytes);
    fprintf(measure_out, "same %llu\n", (unsigned long long)compared);
}

/* ---- what it begins with ---- */

static void serve_begin_call(const struct measure_call *call, int number)
{
    struct measure_options options = {.on_gpu = 1};
    for (int k = 0; k < call->memory_count; k++) {
        int place = number * MEASURE_MOST_MEMORIES + k;
        void **all[] = {&serve.memory[0][place], &serve.memory[1][place], &serve.kept[place]};
        for (int i = 0; i < 3; i++) {
            *all[i] = measure_allocate(&options, call->memory[k].bytes);
            measure_must(!*all[i], "there is no memory for it");
        }
        for (int set = 0; set < 2; set++)
            measure_fill_memory(&options, &call->memory[k], serve.memory[set][place]);
        serve_copy(serve.kept[place], serve.memory[0][place], call->memory[k].bytes);
    }
}

/* What a launch takes, of a few that were not the first. */
static double serve_first_time(const struct measure_call *call, void *const *memory)
{
    enum { TIMES = 10 };
    float milliseconds = 0;
    measure_gpu.event_record(serve.event[0], measure_gpu.stream);
    for (int i = 0; i < TIMES; i++)
        measure_must(serve_run(call, 0, measure_gpu.stream, memory), tile_last_error());
    measure_gpu.event_record(serve.event[1], measure_gpu.stream);
    serve_synchronize();
    measure_gpu.event_elapsed(&milliseconds, serve.event[0], serve.event[1]);
    return (double)milliseconds * 1e6 / TIMES;
}

static void serve_begin(const struct measure_call *calls, int count)
{
    int (*stream_create)(struct CUstream_st **, unsigned);
    serve.memory[0] = calloc((size_t)count * MEASURE_MOST_MEMORIES, sizeof(void *));
    serve.memory[1] = calloc((size_t)count * MEASURE_MOST_MEMORIES, sizeof(void *));
    serve.kept = calloc((size_t)count * MEASURE_MOST_MEMORIES, sizeof(void *));
    *(void **)&stream_create = measure_find(measure_gpu.library, "cuStreamCreate");
    *(void **)&serve.pin = measure_find(measure_gpu.library, "cuMemAllocHost_v2");
    *(void **)&serve.to_host = measure_find(measure_gpu.library, "cuMemcpyDtoHAsync_v2");
    *(void **)&serve.unload = measure_find(measure_gpu.library, "cuLibraryUnload");
    measure_must(stream_create(&serve.beside, 1), "a stream cannot be made");
    for (int i = 0; i < SERVE_EVENTS; i++)
        measure_must(measure_gpu.event_create(&serve.event[i], 0), "an event cannot be made");
    for (int i = 0; i < 2; i++)
        measure_must(serve.pin((void **)&serve.windows[i], SERVE_WINDOW), "memory is full");
    for (int i = 0; i < count; i++) {
        void *const *memory = serve.memory[0] + i * MEASURE_MOST_MEMORIES;
        fprintf(measure_out, "call %d\n", i);
        serve_begin_call(&calls[i], i);
        serve.launched = -1;
        for (int turn = 0; turn < 3; turn++)
            if (serve_run(&calls[i], 0, measure_gpu.stream, memory))
                measure_stop(tile_last_error());
        serve_synchronize();
        if (serve.launched < 0)
            measure_stop("it launches nothing by the functions of CUDA 12");
        fprintf(measure_out, "kernel %d %.1f\n", serve.launched, serve_first_time(&calls[i], memory));
    }
    for (int i = 0; i < serve.image_count; i++)
        serve_put_image(i);
    fprintf(measure_out, "ready\n");
    fflush(measure_out);
}

static int serve_main(const struct measure_call *calls, int count, int argument_count, char **arguments)
{
    char line[256];
    long long v[6];
    if (argument_count != 2)
        return 2;
    serve.folder = arguments[1];
    measure_open_output();
    measure_open_gpu();
    serve_begin(calls, count);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "load %lld %lld %lld %lld", &v[0], &v[1], &v[2], &v[3]) == 4)
            serve_load((int)v[0], (int)v[1], (size_t)v[2], (size_t)v[3]);
        else if (sscanf(line, "time %lld %lld %lld %lld %lld %lld", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) == 6)
            serve_time(&calls[v[0]], (int)v[0], (int[]){(int)v[1], (int)v[2]}, (int)v[3], (int)v[4], (int)v[5]);
        else if (sscanf(line, "check %lld %lld %lld %lld %lld", &v[0], &v[1], &v[2], &v[3], &v[4]) == 5)
            serve_check(calls, count, (int)v[0], (int[]){(int)v[1], (int)v[2]}, (uint64_t)v[3], (uint64_t)v[4]);
        else
            measure_stop("a command that is none");
        fflush(measure_out);
    }
    return 0;
}
