/* The five examples in one C program: each kernel on the CPU and, where a driver is there, on a GPU; every result is
 * checked against f64 computed here.  Prints kernel, where it ran, time and error; the exit status is 0 when all are
 * right.
 *
 *     tilecc -arch=cpu,sm_80,sm_90a saxpy.tile softmax.tile rows.tile matmul.tile attention.tile
 *     cc demo.c *.o -ltilert -ldl -lpthread -lm && ./a.out */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attention.h"
#include "matmul.h"
#include "rows.h"
#include "saxpy.h"
#include "softmax.h"

/* ---- where kernels run: the CPU, or a GPU through the driver's own functions ---- */

struct place {
    const char *name;
    struct CUstream_st *stream;
    int is_gpu;
    int (*allocate)(uint64_t *, size_t), (*release)(uint64_t), (*to_gpu)(uint64_t, const void *, size_t);
    int (*from_gpu)(void *, uint64_t, size_t), (*synchronize)(void);
};

static int open_gpu(struct place *place)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*set)(void *);
    int device = 0;
    void *context = NULL;
    if (!driver)
        return 0;
#define FIND(pointer, name) (*(void **)&(pointer) = dlsym(driver, name))
    if (!FIND(init, "cuInit") || !FIND(get, "cuDeviceGet") || !FIND(retain, "cuDevicePrimaryCtxRetain") ||
        !FIND(set, "cuCtxSetCurrent") || !FIND(place->allocate, "cuMemAlloc_v2") ||
        !FIND(place->release, "cuMemFree_v2") || !FIND(place->to_gpu, "cuMemcpyHtoD_v2") ||
        !FIND(place->from_gpu, "cuMemcpyDtoH_v2") || !FIND(place->synchronize, "cuCtxSynchronize"))
        return 0;
    if (init(0) || get(&device, 0) || retain(&context, device) || set(context))
        return 0;
    place->name = "GPU";
    place->is_gpu = 1;
    return 1;
}

/* A block that kernels see: `host` here, `data` where they run. */
struct block {
    void *host, *data;
    size_t size;
};

static void stop(const char *what)
{
    fprintf(stderr, "demo: %s\n", what);
    exit(1);
}

static struct block make_block(const struct place *place, size_t size)
{
    struct block block;
    uint64_t address = 0;
    block.host = calloc(1, size ? size : 1);
    block.size = size;
    if (!block.host)
        stop("out of memory");
    block.data = block.host;
    if (!place->is_gpu)
        return block;
    if (place->allocate(&address, size ? size : 1))
        stop("out of GPU memory");
    block.data = (void *)(uintptr_t)address;
    return block;
}

static void send(const struct place *place, const struct block *block)
{
    if (place->is_gpu && place->to_gpu((uint64_t)(uintptr_t)block->data, block->host, block->size))
        stop("copy to the GPU failed");
}

static void fetch(const struct place *place, const struct block *block)
{
    if (place->is_gpu && place->from_gpu(block->host, (uint64_t)(uintptr_t)block->data, block->size))
        stop("copy from the GPU failed");
}

static void free_block(const struct place *place, struct block *block)
{
    if (place->is_gpu)
        place->release((uint64_t)(uintptr_t)block->data);
    free(block->host);
}

/* ---- numbers, and what is said of a run ---- */

static uint64_t random_state = 1;
static double uniform(void)
{ /* in [-1, 1) */
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 4503599627370496.0 - 1.0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct run {
    const char *kernel;
    const struct place *place;
    double seconds, error, allowed;
    int status;
};

static void begin_run(struct run *run) { run->seconds = now(); }
static void end_run(struct run *run, int status)
{
    if (status == TILE_OK && run->place->is_gpu && run->place->synchronize())
        status = TILE_ERR_DRIVER;
    run->seconds = now() - run->seconds;
    run->status = status;
}
static void note_error(struct run *run, double got, double wanted)
{
    double error = fabs(got - wanted) / (1.0 + fabs(wanted));
    if (!(error <= run->error))
        run->error = isnan(error) ? INFINITY : error;
}
static int print_run(const struct run *run)
{
    int right = run->status == TILE_OK && run->error <= run->allowed;
    printf("%-28s %-4s %10.3f ms   error %9.3g   %s\n", run->kernel, run->place->name, run->seconds * 1e3, run->error,
           right ? "ok" : "WRONG");
    if (run->status != TILE_OK)
        printf("    %s\n", tile_last_error());
    return right;
}

static void fill_f32(const struct block *block)
{
    float *values = block->host;
    for (size_t i = 0; i < block->size / 4; i++)
        values[i] = (float)uniform();
}
static void fill_f16(const struct block *block)
{
    tile_f16 *values = block->host;
    for (size_t i = 0; i < block->size / 2; i++)
        values[i] = tile_f16_from_float((float)uniform());
}
static double f16_at(const struct block *block, int64_t i)
{
    return (double)tile_f16_to_float(((const tile_f16 *)block->host)[i]);
}

/* ---- the kernels ---- */

static int run_saxpy(const struct place *place)
{
    enum { N = 100003 };
    struct run run = {"saxpy f32 [100003]", place, 0, 0, 1e-6, 0};
    struct block x = make_block(place, N * 4), y = make_block(place, N * 4);
    float *before = malloc(N * 4);
    fill_f32(&x);
    fill_f32(&y);
    memcpy(before, y.host, N * 4);
    send(place, &x);
    send(place, &y);
    struct tile_f32_1 vx = tile_f32_1_row_major(x.data, N), vy = tile_f32_1_row_major(y.data, N);
    begin_run(&run);
    end_run(&run, saxpy(place->stream, 2.5f, &vx, &vy));
    fetch(place, &y);
    for (int i = 0; i < N; i++)
        note_error(&run, ((float *)y.host)[i], 2.5 * ((float *)x.host)[i] + before[i]);
    free(before);
    free_block(place, &x);
    free_block(place, &y);
    return print_run(&run);
}

static int run_softmax(const struct place *place)
{
    enum { M = 67, N = 1000 };
    struct run run = {"softmax f16 [67, 1000]", place, 0, 0, 1e-3, 0};
    struct block x = make_block(place, M * N * 2), y = make_block(place, M * N * 2);
    fill_f16(&x);
    send(place, &x);
    struct tile_f16_2 vx = tile_f16_2_row_major(x.data, M, N), vy = tile_f16_2_row_major(y.data, M, N);
    begin_run(&run);
    end_run(&run, softmax_f16(place->stream, &vx, &vy));
    fetch(place, &y);
    for (int m = 0; m < M; m++) {
        double most = -INFINITY, sum = 0;
        for (int n = 0; n < N; n++)
            most = fmax(most, f16_at(&x, m * N + n));
        for (int n = 0; n < N; n++)
            sum += exp(f16_at(&x, m * N + n) - most);
        for (int n = 0; n < N; n++) {
            double wanted = exp(f16_at(&x, m * N + n) - most) / sum;
            note_error(&run, f16_at(&y, m * N + n) / wanted, 1.0);
        }
    }
    free_block(place, &x);
    free_block(place, &y);
    return print_run(&run);
}

/* The first word of Philox4x32-10 with counter (lo, hi, 0, 0). */
static uint32_t philox(uint64_t seed, uint64_t counter)
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0}, k0 = (uint32_t)seed,
             k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof c);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return c[0];
}

static float random_float(uint64_t seed, uint64_t counter)
{
    int32_t word = (int32_t)philox(seed, counter);
    return (float)(word < 0 ? ~word : word) * 4.6566127342e-10f;
}

static int run_rows(const struct place *place)
{
    enum { V = 50, N = 77, D = 300 };
    struct run run = {"rows f32 [77, 300]", place, 0, 0, 0, 0};
    struct block table = make_block(place, V * D * 4), ids = make_block(place, N * 4),
                 out = make_block(place, N * D * 4), p = make_block(place, N * D * 4);
    uint64_t seed = 1234567890123u;
    fill_f32(&table);
    for (int i = 0; i < N; i++)
        ((int32_t *)ids.host)[i] = (i * 7) % V;
    send(place, &table);
    send(place, &ids);
    send(place, &out);
    struct tile_f32_2 vt = tile_f32_2_row_major(table.data, V, D), vo = tile_f32_2_row_major(out.data, N, D);
    struct tile_i32_1 vi = tile_i32_1_row_major(ids.data, N);
    begin_run(&run);
    end_run(&run, rows_f32(place->stream, &vt, &vi, &vo, p.data, seed));
    fetch(place, &out);
    fetch(place, &p);
    for (int i = 0; i < N; i++)
        for (int d = 0; d < D; d++) {
            double t = ((float *)table.host)[((int32_t *)ids.host)[i] * D + d];
            note_error(&run, ((float *)p.host)[i * D + d], t);
            note_error(&run, ((float *)out.host)[i * D + d],
                       random_float(seed, (uint64_t)(i * D + d)) < 0.1f ? 0.0 : t);
        }
    free_block(place, &table);
    free_block(place, &ids);
    free_block(place, &out);
    free_block(place, &p);
    return print_run(&run);
}

static int run_matmul(const struct place *place)
{
    enum { M = 129, N = 200, K = 143 };
    struct run run = {"matmul f16 129x200x143 relu", place, 0, 0, 2e-3, 0};
    struct block a = make_block(place, M * K * 2), b = make_block(place, K * N * 2), bias = make_block(place, N * 4),
                 c = make_block(place, M * N * 2);
    fill_f16(&a);
    fill_f16(&b);
    fill_f32(&bias);
    send(place, &a);
    send(place, &b);
    send(place, &bias);
    struct tile_f16_2 va = tile_f16_2_row_major(a.data, M, K), vb = tile_f16_2_row_major(b.data, K, N),
                      vc = tile_f16_2_row_major(c.data, M, N);
    struct tile_f32_1 vbias = tile_f32_1_row_major(bias.data, N);
    begin_run(&run);
    end_run(&run, matmul_f16_f16(place->stream, &va, &vb, &vbias, &vc, TILE_ACT_RELU));
    fetch(place, &c);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = ((float *)bias.host)[n];
            for (int k = 0; k < K; k++)
                sum += f16_at(&a, m * K + k) * f16_at(&b, k * N + n);
            note_error(&run, f16_at(&c, m * N + n), sum > 0 ? sum : 0);
        }
    free_block(place, &a);
    free_block(place, &b);
    free_block(place, &bias);
    free_block(place, &c);
    return print_run(&run);
}

enum { Z = 1, H = 4, HK = 2, L = 70, S = 90, HEAD = 64 };

/* One row of the reference: o[HEAD] and the log of the sum of exponentials. */
static double attend(const struct block *q, const struct block *k, const struct block *v, int h, int i, double scale,
                     double *o)
{
    double scores[S], most = -INFINITY, sum = 0;
    int kv = h / (H / HK), last = i + (S - L);
    memset(o, 0, HEAD * sizeof *o);
    for (int j = 0; j <= last; j++) {
        scores[j] = 0;
        for (int d = 0; d < HEAD; d++)
            scores[j] += f16_at(q, (h * L + i) * HEAD + d) * f16_at(k, (kv * S + j) * HEAD + d);
        scores[j] *= scale;
        most = fmax(most, scores[j]);
    }
    for (int j = 0; j <= last; j++)
        sum += scores[j] = exp(scores[j] - most);
    for (int j = 0; j <= last; j++)
        for (int d = 0; d < HEAD; d++)
            o[d] += scores[j] / sum * f16_at(v, (kv * S + j) * HEAD + d);
    return most + log(sum);
}

static int run_attention(const struct place *place)
{
    struct run run = {"attention f16 causal [4, 70]", place, 0, 0, 2e-3, 0};
    struct block q = make_block(place, Z * H * L * HEAD * 2), k = make_block(place, Z * HK * S * HEAD * 2),
                 v = make_block(place, Z * HK * S * HEAD * 2), o = make_block(place, Z * H * L * HEAD * 2),
                 lse = make_block(place, Z * H * L * 4);
    float scale = 0.125f;
    fill_f16(&q);
    fill_f16(&k);
    fill_f16(&v);
    send(place, &q);
    send(place, &k);
    send(place, &v);
    struct tile_f16_4 vq = tile_f16_4_row_major(q.data, Z, H, L, HEAD),
                      vk = tile_f16_4_row_major(k.data, Z, HK, S, HEAD),
                      vv = tile_f16_4_row_major(v.data, Z, HK, S, HEAD),
                      vo = tile_f16_4_row_major(o.data, Z, H, L, HEAD);
    struct tile_f32_3 vl = tile_f32_3_row_major(lse.data, Z, H, L);
    begin_run(&run);
    end_run(&run, attention_f16(place->stream, &vq, &vk, &vv, &vo, &vl, scale, 1));
    fetch(place, &o);
    fetch(place, &lse);
    for (int h = 0; h < H; h++)
        for (int i = 0; i < L; i++) {
            double row[HEAD], wanted = attend(&q, &k, &v, h, i, scale, row);
            note_error(&run, ((float *)lse.host)[h * L + i], wanted);
            for (int d = 0; d < HEAD; d++)
                note_error(&run, f16_at(&o, (h * L + i) * HEAD + d), row[d]);
        }
    free_block(place, &q);
    free_block(place, &k);
    free_block(place, &v);
    free_block(place, &o);
    free_block(place, &lse);
    return print_run(&run);
}

static int run_all(const struct place *place)
{
    int right = run_saxpy(place);
    right &= run_softmax(place);
    right &= run_rows(place);
    right &= run_matmul(place);
    return right & run_attention(place);
}

int main(void)
{
    struct place cpu = {"CPU", TILE_CPU, 0, 0, 0, 0, 0, 0}, gpu = {0};
    int right = run_all(&cpu);
    if (open_gpu(&gpu))
        right &= run_all(&gpu);
    else
        printf("(no GPU here: its half did not run)\n");
    return right ? 0 : 1;
}
