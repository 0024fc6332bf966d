/* One layer of a transformer (norm, attention with shared key heads, gated MLP; bf16) by kernels of the gallery, on the CPU or on a GPU.
 * Weights and inputs are made by chance; the result is compared with f64 computed plainly at the end of this file.
 *
 *     transformer [--gpu] [--tokens N] [--width N] [--heads N] [--key-heads N] [--hidden N] [--repeat N] [--seed N]
 *
 * Prints sizes, time and error; the exit status is 0 where the error is small, 1 where it is not, 2 where it did not run. */
#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "attention.h"
#include "gated_linear.h"
#include "linear.h"
#include "rms_norm.h"
#include "rotary.h"

namespace
{

constexpr int64_t head_size = 64;
constexpr double epsilon = 1e-5;

[[noreturn]] void stop(const std::string &what)
{
    std::fprintf(stderr, "transformer: %s\n", what.c_str());
    std::exit(2);
}

struct sizes {
    int64_t tokens = 37, width = 192, heads = 3, key_heads = 1, hidden = 320;
    int64_t packed() const { return (heads + 2 * key_heads) * head_size; } /* a row of queries, keys and values */
};

/* ---- where the layer runs: kernels are called alike, memory differs ---- */

class device
{
  public:
    explicit device(bool is_gpu) : is_gpu_(is_gpu)
    {
        if (!is_gpu)
            return;
        int number = 0;
        void *context = nullptr;
        driver_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        if (!driver_)
            stop("there is no driver of a GPU here");
        call<unsigned>("cuInit", 0u);
        call<int *, int>("cuDeviceGet", &number, 0);
        call<void **, int>("cuDevicePrimaryCtxRetain", &context, number);
        call<void *>("cuCtxSetCurrent", context);
    }
    const char *name() const { return is_gpu_ ? "GPU" : "CPU"; }
    void wait() const
    {
        if (is_gpu_)
            call<>("cuCtxSynchronize");
    }
    void *make(const void *from, size_t bytes) const
    {
        uint64_t address = 0;
        if (!is_gpu_) {
            void *copy = std::malloc(bytes ? bytes : 1);
            return copy ? std::memcpy(copy, from, bytes) : throw std::bad_alloc();
        }
        call<uint64_t *, size_t>("cuMemAlloc_v2", &address, bytes);
        call<uint64_t, const void *, size_t>("cuMemcpyHtoD_v2", address, from, bytes);
        return reinterpret_cast<void *>(address);
    }
    void fetch(void *to, const void *from, size_t bytes) const
    {
        if (is_gpu_)
            call<void *, uint64_t, size_t>("cuMemcpyDtoH_v2", to, reinterpret_cast<uint64_t>(from), bytes);
        else
            std::memcpy(to, from, bytes);
    }
    void free(void *data) const
    {
        if (is_gpu_)
            call<uint64_t>("cuMemFree_v2", reinterpret_cast<uint64_t>(data));
        else
            std::free(data);
    }

  private:
    template <typename... Arguments> void call(const char *name, Arguments... arguments) const
    {
        auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(driver_, name));
        if (!function || function(arguments...))
            stop(std::string(name) + " failed");
    }
    void *driver_ = nullptr;
    bool is_gpu_;
};

/* Numbers where the layer runs, and on the host as they were at first. */
template <typename T> class block
{
  public:
    block(const device &where, std::vector<T> values)
        : where_(where), host(std::move(values)),
          data(static_cast<T *>(where.make(host.data(), host.size() * sizeof(T))))
    {
    }
    block(const block &) = delete;
    ~block() { where_.free(data); }
    std::vector<T> fetch() const
    {
        std::vector<T> values(host.size());
        where_.fetch(values.data(), data, values.size() * sizeof(T));
        return values;
    }

  private:
    const device &where_;

  public:
    const std::vector<T> host;
    T *const data;
};
using numbers = block<tile_bf16>;

std::vector<tile_bf16> random_numbers(std::mt19937_64 &chance, int64_t count, double size)
{
    std::normal_distribution<double> normal(0, size);
    std::vector<tile_bf16> values(static_cast<size_t>(count));
    for (tile_bf16 &value : values)
        value = tile_bf16_from_float(static_cast<float>(normal(chance)));
    return values;
}

tile_bf16_2 matrix(const numbers &b, int64_t rows, int64_t columns)
{
    return tile_bf16_2_row_major(b.data, rows, columns);
}

void check(int status)
{
    if (status != TILE_OK)
        stop(tile_last_error());
}

/* ---- the layer ---- */

/* cos and sin of each position's angles, [tokens, head_size / 2]. */
std::vector<float> angles(int64_t tokens, double (*function)(double))
{
    std::vector<float> values;
    for (int64_t at = 0; at < tokens; at++)
        for (int64_t i = 0; i < head_size / 2; i++)
            values.push_back(static_cast<float>(
                function(static_cast<double>(at) * std::pow(10000.0, -2.0 * static_cast<double>(i) / head_size))));
    return values;
}

std::vector<int32_t> count_up(int64_t count)
{
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<int32_t>(i);
    return values;
}

struct layer {
    sizes n;
    numbers x, attention_norm, qkv_weight, out_weight, mlp_norm, gate_weight, up_weight, down_weight;
    numbers normal, qkv, attended, gated, y;
    block<float> cosine, sine;
    block<int32_t> position;

    layer(const device &d, const sizes &s, std::mt19937_64 &chance)
        : n(s), x(d, random_numbers(chance, s.tokens * s.width, 1)),
          attention_norm(d, random_numbers(chance, s.width, 1)),
          qkv_weight(d, random_numbers(chance, s.packed() * s.width, 1 / std::sqrt(s.width))),
          out_weight(d, random_numbers(chance, s.width * s.heads * head_size, 1 / std::sqrt(s.heads * head_size))),
          mlp_norm(d, random_numbers(chance, s.width, 1)),
          gate_weight(d, random_numbers(chance, s.hidden * s.width, 1 / std::sqrt(s.width))),
          up_weight(d, random_numbers(chance, s.hidden * s.width, 1 / std::sqrt(s.width))),
          down_weight(d, random_numbers(chance, s.width * s.hidden, 1 / std::sqrt(s.hidden))), normal(d, x.host),
          qkv(d, std::vector<tile_bf16>(static_cast<size_t>(s.tokens * s.packed()))),
          attended(d, std::vector<tile_bf16>(static_cast<size_t>(s.tokens * s.heads * head_size))),
          gated(d, std::vector<tile_bf16>(static_cast<size_t>(s.tokens * s.hidden))), y(d, x.host),
          cosine(d, angles(s.tokens, std::cos)), sine(d, angles(s.tokens, std::sin)), position(d, count_up(s.tokens))
    {
    }

    /* Heads `first` and on of the packed rows, as attention sees them: [1, heads, tokens, head_size]. */
    tile_bf16_4 heads(const numbers &rows, int64_t row, int64_t first, int64_t count) const
    {
        return {rows.data + first * head_size, {1, count, n.tokens, head_size}, {n.tokens * row, head_size, row, 1}};
    }

    void run(CUstream_st *stream) const
    {
        const int64_t width = n.heads * head_size, packed = n.packed();
        tile_bf16_2 vx = matrix(x, n.tokens, n.width), vnormal = matrix(normal, n.tokens, n.width);
        tile_bf16_2 vqkv = matrix(qkv, n.tokens, packed), vattended = matrix(attended, n.tokens, width);
        tile_bf16_2 vgated = matrix(gated, n.tokens, n.hidden), vy = matrix(y, n.tokens, n.width);
        tile_bf16_2 vqkv_weight = matrix(qkv_weight, packed, n.width), vout_weight = matrix(out_weight, n.width, width);
        tile_bf16_2 vgate = matrix(gate_weight, n.hidden, n.width), vup = matrix(up_weight, n.hidden, n.width);
        tile_bf16_2 vdown = matrix(down_weight, n.width, n.hidden);
        tile_bf16_1 first_norm = tile_bf16_1_row_major(attention_norm.data, n.width);
        tile_bf16_1 second_norm = tile_bf16_1_row_major(mlp_norm.data, n.width);
        tile_bf16_3 turned = {qkv.data, {n.tokens, n.heads + n.key_heads, head_size}, {packed, head_size, 1}};
        tile_f32_2 vcosine = tile_f32_2_row_major(cosine.data, n.tokens, head_size / 2);
        tile_f32_2 vsine = tile_f32_2_row_major(sine.data, n.tokens, head_size / 2);
        tile_i32_1 vposition = tile_i32_1_row_major(position.data, n.tokens);
        tile_bf16_4 q = heads(qkv, packed, 0, n.heads), k = heads(qkv, packed, n.heads, n.key_heads);
        tile_bf16_4 v = heads(qkv, packed, n.heads + n.key_heads, n.key_heads), o = heads(attended, width, 0, n.heads);
        const float scale = 1 / std::sqrt(static_cast<float>(head_size)), eps = static_cast<float>(epsilon);

        check(rms_norm_bf16(stream, &vx, nullptr, &first_norm, &vnormal, nullptr, nullptr, eps));
        check(linear_bf16(stream, &vnormal, &vqkv_weight, nullptr, nullptr, &vqkv, TILE_ACT_NONE));
        check(rotary_bf16(stream, &turned, &vposition, &vcosine, &vsine));
        check(attention_bf16(stream, &q, &k, &v, &o, nullptr, scale, true));
        check(linear_bf16(stream, &vattended, &vout_weight, nullptr, &vx, &vy, TILE_ACT_NONE));
        check(rms_norm_bf16(stream, &vy, nullptr, &second_norm, &vnormal, nullptr, nullptr, eps));
        check(gated_linear_bf16(stream, &vnormal, &vgate, &vup, &vgated));
        check(linear_bf16(stream, &vgated, &vdown, nullptr, &vy, &vy, TILE_ACT_NONE));
    }
};

/* ---- the same in f64 ---- */

using matrix64 = std::vector<double>;

matrix64 widen(const std::vector<tile_bf16> &values)
{
    matrix64 wide;
    for (tile_bf16 value : values)
        wide.push_back(tile_bf16_to_float(value));
    return wide;
}

matrix64 normalize(matrix64 x, const matrix64 &weight)
{
    const size_t width = weight.size();
    for (size_t row = 0; row < x.size(); row += width) {
        double squares = 0;
        for (size_t i = 0; i < width; i++)
            squares += x[row + i] * x[row + i];
        for (size_t i = 0; i < width; i++)
            x[row + i] *= weight[i] / std::sqrt(squares / static_cast<double>(width) + epsilon);
    }
    return x;
}

/* x @ trans(weight), rows of `inputs` numbers. */
matrix64 multiply(const matrix64 &x, const matrix64 &weight, int64_t inputs)
{
    matrix64 y;
    const size_t k = static_cast<size_t>(inputs);
    for (size_t row = 0; row < x.size(); row += k)
        for (size_t column = 0; column < weight.size(); column += k) {
            double sum[4] = {0, 0, 0, 0};
            for (size_t i = 0; i < k; i++)
                sum[i % 4] += x[row + i] * weight[column + i];
            y.push_back(sum[0] + sum[1] + sum[2] + sum[3]);
        }
    return y;
}

void rotate(matrix64 &qkv, const sizes &n)
{
    for (int64_t at = 0; at < n.tokens; at++)
        for (int64_t head = 0; head < n.heads + n.key_heads; head++)
            for (int64_t i = 0; i < head_size / 2; i++) {
                double &u = qkv[static_cast<size_t>(at * n.packed() + head * head_size + i)], &v = (&u)[head_size / 2];
                double angle = static_cast<double>(at) * std::pow(10000.0, -2.0 * static_cast<double>(i) / head_size);
                double turned = u * std::cos(angle) - v * std::sin(angle);
                v = v * std::cos(angle) + u * std::sin(angle);
                u = turned;
            }
}

matrix64 attend(const matrix64 &qkv, const sizes &n)
{
    matrix64 out(static_cast<size_t>(n.tokens * n.heads * head_size));
    for (int64_t head = 0; head < n.heads; head++) {
        const double *q = &qkv[static_cast<size_t>(head * head_size)];
        const double *k = &qkv[static_cast<size_t>((n.heads + head / (n.heads / n.key_heads)) * head_size)];
        const double *v = k + n.key_heads * head_size;
        for (int64_t at = 0; at < n.tokens; at++) {
            std::vector<double> p;
            double sum = 0;
            for (int64_t j = 0; j <= at; j++) {
                double score = 0;
                for (int64_t d = 0; d < head_size; d++)
                    score += q[at * n.packed() + d] * k[j * n.packed() + d];
                p.push_back(std::exp(score / std::sqrt(static_cast<double>(head_size))));
                sum += p.back();
            }
            for (int64_t j = 0; j <= at; j++)
                for (int64_t d = 0; d < head_size; d++)
                    out[static_cast<size_t>((at * n.heads + head) * head_size + d)] += p[static_cast<size_t>(j)] / sum *
                                                                                       v[j * n.packed() + d];
        }
    }
    return out;
}

matrix64 compute(const layer &l)
{
    matrix64 x = widen(l.x.host);
    matrix64 qkv = multiply(normalize(x, widen(l.attention_norm.host)), widen(l.qkv_weight.host), l.n.width);
    rotate(qkv, l.n);
    matrix64 projected = multiply(attend(qkv, l.n), widen(l.out_weight.host), l.n.heads * head_size);
    for (size_t i = 0; i < x.size(); i++)
        x[i] += projected[i];
    matrix64 normal = normalize(x, widen(l.mlp_norm.host));
    matrix64 gate = multiply(normal, widen(l.gate_weight.host), l.n.width);
    matrix64 up = multiply(normal, widen(l.up_weight.host), l.n.width);
    for (size_t i = 0; i < gate.size(); i++)
        gate[i] *= up[i] / (1 + std::exp(-gate[i]));
    matrix64 down = multiply(gate, widen(l.down_weight.host), l.n.hidden);
    for (size_t i = 0; i < x.size(); i++)
        x[i] += down[i];
    return x;
}

/* The root mean square of what y is off, to that of what it should be. */
double error_of(const std::vector<tile_bf16> &y, const matrix64 &want)
{
    double off = 0, all = 0;
    for (size_t i = 0; i < want.size(); i++) {
        off += std::pow(tile_bf16_to_float(y[i]) - want[i], 2);
        all += want[i] * want[i];
    }
    return std::sqrt(off / all);
}

int64_t count_of(const char *text)
{
    char *end = nullptr;
    long value = std::strtol(text, &end, 10);
    if (value < 1 || value > 1 << 20 || *end)
        stop(std::string("'") + text + "' is no count");
    return value;
}

} // namespace

int main(int argc, char **argv)
{
    sizes n;
    bool gpu = false;
    int64_t repeat = 10, seed = 1;
    struct {
        const char *name;
        int64_t *value;
    } options[] = {{"--tokens", &n.tokens}, {"--width", &n.width}, {"--heads", &n.heads}, {"--key-heads", &n.key_heads},
                   {"--hidden", &n.hidden}, {"--repeat", &repeat}, {"--seed", &seed}};
    for (int i = 1; i < argc; i++) {
        bool known = std::string(argv[i]) == "--gpu";
        gpu |= known;
        for (auto &option : options)
            if (!known && std::string(argv[i]) == option.name && i + 1 < argc) {
                *option.value = count_of(argv[++i]);
                known = true;
            }
        if (!known)
            stop(std::string("unknown argument '") + argv[i] + "'");
    }
    if (n.heads % n.key_heads)
        stop("--heads is no multiple of --key-heads");
    device where(gpu);
    std::mt19937_64 chance(static_cast<uint64_t>(seed));
    layer l(where, n, chance);
    CUstream_st *stream = gpu ? nullptr : TILE_CPU;
    l.run(stream);
    where.wait();
    auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < repeat; i++)
        l.run(stream);
    where.wait();
    std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    double error = error_of(l.y.fetch(), compute(l));
    std::printf("%s, %lld tokens, width %lld, %lld heads of %lld, %lld of keys, hidden %lld: %.1f us, error %.2e\n",
                where.name(), static_cast<long long>(n.tokens), static_cast<long long>(n.width),
                static_cast<long long>(n.heads), static_cast<long long>(head_size), static_cast<long long>(n.key_heads),
                static_cast<long long>(n.hidden), time.count() / static_cast<double>(repeat), error);
    return !(error < 0.01);
}
