// Symbolic regression: a population of expression trees is compiled to
// postfix byte code on the host and scored against a data set on the device.
//
//   * trees are std::variant nodes, random ones come from a "grow" generator
//   * opcodes live in one X-macro table that makes the enum, the host
//     evaluator and the device interpreters
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>
#include <cuda_runtime.h>

#define HD __host__ __device__ __forceinline__

//        name   arity  expression
#define OPCODES(X)                                    \
    X(Add,   2, clampf(a + b))                        \
    X(Sub,   2, clampf(a - b))                        \
    X(Mul,   2, clampf(a * b))                        \
    X(Aq,    2, a / sqrtf(1.0f + b * b))              \
    X(Min,   2, fminf(a, b))                          \
    X(Max,   2, fmaxf(a, b))                          \
    X(Neg,   1, -a)                                   \
    X(Tanh,  1, tanhf(a))                             \
    X(Sin,   1, sinf(a))                              \
    X(Sqrt,  1, sqrtf(fabsf(a) + 0.25f))

constexpr float kLimit = 8.0f;
HD float clampf(float v) { return fminf(fmaxf(v, -kLimit), kLimit); }

enum class Op : std::uint8_t {
#define X(n, ar, e) n,
    OPCODES(X)
#undef X
    Count, PushConst, PushVar
};

HD float apply(Op op, float a, float b)
{
    switch (op) {
#define X(n, ar, e) case Op::n: return e;
        OPCODES(X)
#undef X
    default: return 0.0f;
    }
}
constexpr std::array<int, std::size_t(Op::Count)> kArity{
#define X(n, ar, e) ar,
    OPCODES(X)
#undef X
};
__constant__ std::uint8_t c_arity[16];

// ---------------------------------------------------------------- trees
struct Const { float v; };
struct Var { int i; };
struct Unary;
struct Binary;
using Node = std::variant<Const, Var, std::unique_ptr<Unary>, std::unique_ptr<Binary>>;
struct Unary { Op op; Node a; };
struct Binary { Op op; Node a, b; };
template <class... F> struct overload : F... { using F::operator()...; };
template <class... F> overload(F...) -> overload<F...>;

struct Instr { std::uint8_t op, arg; std::uint16_t pad; float value; };
static_assert(sizeof(Instr) == 8);

constexpr int kVars = 4, kMaxDepth = 5, kMaxStack = kMaxDepth + 2;

class Generator {
public:
    explicit Generator(unsigned seed) : rng_(seed) {}
    Node grow(int depth)
    {
        float p = unit_(rng_);
        if (depth == 0 || p < 0.12f) {
            if (unit_(rng_) < 0.35f) return Const{4.0f * unit_(rng_) - 2.0f};
            return Var{int(rng_() % kVars)};
        }
        auto op = Op(rng_() % unsigned(Op::Count));
        if (kArity[std::size_t(op)] == 1) return std::make_unique<Unary>(Unary{op, grow(depth - 1)});
        Node l = grow(depth - 1), r = grow(depth - 1);
        return std::make_unique<Binary>(Binary{op, std::move(l), std::move(r)});
    }
private:
    std::mt19937 rng_;
    std::uniform_real_distribution<float> unit_{0.0f, 1.0f};
};

void compile(const Node& n, std::vector<Instr>& code)
{
    std::visit(overload{
        [&](const Const& c) { code.push_back({std::uint8_t(Op::PushConst), 0, 0, c.v}); },
        [&](const Var& v) { code.push_back({std::uint8_t(Op::PushVar), std::uint8_t(v.i), 0, 0.0f}); },
        [&](const std::unique_ptr<Unary>& u) { compile(u->a, code); code.push_back({std::uint8_t(u->op), 1, 0, 0.0f}); },
        [&](const std::unique_ptr<Binary>& b) { compile(b->a, code); compile(b->b, code); code.push_back({std::uint8_t(b->op), 2, 0, 0.0f}); },
    }, n);
}

float evaluate(const Node& n, const float* x)
{
    return std::visit(overload{
        [&](const Const& c) { return c.v; },
        [&](const Var& v) { return x[v.i]; },
        [&](const std::unique_ptr<Unary>& u) { return apply(u->op, evaluate(u->a, x), 0.0f); },
        [&](const std::unique_ptr<Binary>& b) { float l = evaluate(b->a, x); return apply(b->op, l, evaluate(b->b, x)); },
    }, n);
}

// ---------------------------------------------------------------- stacks
// A stack policy gives the interpreter its storage.
struct LocalStack {
    static constexpr std::size_t bytes(int) { return 0; }
    float s[kMaxStack];
    __device__ explicit LocalStack(float*) {}
    __device__ float& operator[](int i) { return s[i]; }
};
struct SharedStackDepthMajor {            // s[depth][thread]: conflict free
    static constexpr std::size_t bytes(int threads) { return std::size_t(threads) * kMaxStack * sizeof(float); }
    float* s;
    __device__ explicit SharedStackDepthMajor(float* base) : s(base + threadIdx.x) {}
    __device__ float& operator[](int i) { return s[i * blockDim.x]; }
};
struct SharedStackThreadMajor {           // s[thread][depth], depth rounded to 8: everybody hits the same banks
    static constexpr std::size_t bytes(int threads) { return std::size_t(threads) * 8 * sizeof(float); }
    float* s;
    __device__ explicit SharedStackThreadMajor(float* base) : s(base + 8 * threadIdx.x) {}
    __device__ float& operator[](int i) { return s[i]; }
};

// data access policies: row-major samples or one array per variable
struct RowMajor { const float* x; int n; __device__ float operator()(int v, int i) const { return x[i * kVars + v]; } };
struct ColMajor { const float* x; int n; __device__ float operator()(int v, int i) const { return x[v * n + i]; } };

template <class Stack, class Data>
__device__ float interpret(const Instr* code, int len, Data data, int i, Stack& st)
{
    int sp = 0;
    for (int pc = 0; pc < len; ++pc) {
        Instr in = code[pc];
        Op op = Op(in.op);
        if (op == Op::PushConst) st[sp++] = in.value;
        else if (op == Op::PushVar) st[sp++] = data(in.arg, i);
        else if (c_arity[in.op] == 2) { --sp; st[sp - 1] = apply(op, st[sp - 1], st[sp]); }
        else st[sp - 1] = apply(op, st[sp - 1], 0.0f);
    }
    return st[0];
}

// ---------------------------------------------------------------- kernels
// A thread per program, the samples in a loop: divergent from start to end.
template <class Data>
__global__ void scoreThreadPerProgram(int programs, const int* ptr, const Instr* code, Data data, const float* y, int samples, float* sse)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= programs) return;
    LocalStack st(nullptr);
    float s = 0.0f;
    for (int i = 0; i < samples; ++i) {
        float d = interpret(code + ptr[p], ptr[p + 1] - ptr[p], data, i, st) - y[i];
        s += d * d;
    }
    sse[p] = s;
}

// A block per program, samples over the threads.  The code is copied to
// shared memory first when Stage is set.
template <class Stack, class Data, bool Stage>
__global__ void __launch_bounds__(128) scoreBlockPerProgram(int programs, const int* ptr, const Instr* code, Data data, const float* y, int samples, float* sse)
{
    extern __shared__ float dyn[];
    __shared__ float warpSum[4];
    __shared__ Instr local[1 << (kMaxDepth + 1)];
    Stack st(dyn);
    for (int p = blockIdx.x; p < programs; p += gridDim.x) {
        const int first = ptr[p], len = ptr[p + 1] - first;
        const Instr* c = code + first;
        if constexpr (Stage) {
            for (int k = threadIdx.x; k < len; k += blockDim.x) local[k] = c[k];
            c = local;
        }
        __syncthreads();
        float s = 0.0f;
        for (int i = threadIdx.x; i < samples; i += blockDim.x) {
            float d = interpret(c, len, data, i, st) - y[i];
            s += d * d;
        }
        for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
        if ((threadIdx.x & 31) == 0) warpSum[threadIdx.x >> 5] = s;
        __syncthreads();
        if (threadIdx.x == 0) sse[p] = warpSum[0] + warpSum[1] + warpSum[2] + warpSum[3];
    }
}

// tournament of `k` contestants per slot; contestants come from a table the host drew
__global__ void tournament(int slots, int k, const int* contestants, const float* sse, int* winner)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= slots) return;
    int best = contestants[s * k];
    for (int i = 1; i < k; ++i) {
        int c = contestants[s * k + i];
        if (sse[c] < sse[best] || (sse[c] == sse[best] && c < best)) best = c;
    }
    winner[s] = best;
}

// ---------------------------------------------------------------- host
struct CudaError { cudaError_t e; int line; };
static void must(cudaError_t e, int line) { if (e != cudaSuccess) throw CudaError{e, line}; }
#define MUST(x) must((x), __LINE__)

template <class T>
std::shared_ptr<T> onDevice(const std::vector<T>& v)
{
    T* p = nullptr;
    MUST(cudaMalloc(&p, v.size() * sizeof(T)));
    MUST(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return {p, [](T* q) { cudaFree(q); }};
}

template <class Stack, bool Stage, class Data>
void launchBlocks(int programs, const int* ptr, const Instr* code, Data data, const float* y, int samples, float* sse, int grid)
{
    scoreBlockPerProgram<Stack, Data, Stage><<<grid, 128, Stack::bytes(128)>>>(programs, ptr, code, data, y, samples, sse);
    MUST(cudaGetLastError());
}

int main(int argc, char** argv)
try {
    const int programs = argc > 1 ? std::atoi(argv[1]) : 300, samples = argc > 2 ? std::atoi(argv[2]) : 768;
    std::mt19937 rng(77);
    std::uniform_real_distribution<float> u(-1.0f, 1.0f);
    std::vector<float> rows(std::size_t(samples) * kVars), cols(rows.size()), y(samples);
    for (auto& v : rows) v = u(rng);
    for (int i = 0; i < samples; ++i) {
        const float* x = &rows[std::size_t(i) * kVars];
        for (int v = 0; v < kVars; ++v) cols[std::size_t(v) * samples + i] = x[v];
        y[i] = std::tanh(x[0] * x[1] + 0.5f) - 1.3f * x[2] / std::sqrt(1.0f + x[3] * x[3]);
    }
    Generator gen(4242);
    std::vector<Node> trees;
    std::vector<int> ptr{0};
    std::vector<Instr> code;
    for (int p = 0; p < programs; ++p) {
        trees.push_back(gen.grow(2 + p % (kMaxDepth - 1)));
        compile(trees.back(), code);
        ptr.push_back(int(code.size()));
    }
    std::printf("%d programs, %zu instructions\n", programs, code.size());

    std::vector<double> ref(programs);
    for (int p = 0; p < programs; ++p)
        for (int i = 0; i < samples; ++i) {
            double d = double(evaluate(trees[p], &rows[std::size_t(i) * kVars])) - y[i];
            ref[p] += d * d;
        }

    std::array<std::uint8_t, 16> ar{};
    std::copy(kArity.begin(), kArity.end(), ar.begin());
    MUST(cudaMemcpyToSymbol(c_arity, ar.data(), ar.size()));
    auto dRows = onDevice(rows), dCols = onDevice(cols), dY = onDevice(y);
    auto dPtr = onDevice(ptr);
    auto dCode = onDevice(code);
    auto dSse = onDevice(std::vector<float>(programs, 0.0f));
    RowMajor rm{dRows.get(), samples};
    ColMajor cm{dCols.get(), samples};

    bool ok = true;
    std::vector<float> got(programs);
    auto verify = [&](const char* name) {
        MUST(cudaMemcpy(got.data(), dSse.get(), programs * sizeof(float), cudaMemcpyDeviceToHost));
        MUST(cudaMemset(dSse.get(), 0xff, programs * sizeof(float)));
        double worst = 0;
        for (int p = 0; p < programs; ++p) {
            double e = std::fabs(got[p] - ref[p]) / (ref[p] + 1.0);
            if (!(e <= worst)) worst = e;
        }
        std::printf("%-34s worst %.2e%s\n", name, worst, worst < 2e-3 ? "" : "  BAD");
        ok &= worst < 2e-3;
    };
    scoreThreadPerProgram<<<(programs + 63) / 64, 64>>>(programs, dPtr.get(), dCode.get(), rm, dY.get(), samples, dSse.get());
    MUST(cudaGetLastError());
    verify("thread per program, rows");
    scoreThreadPerProgram<<<(programs + 63) / 64, 64>>>(programs, dPtr.get(), dCode.get(), cm, dY.get(), samples, dSse.get());
    MUST(cudaGetLastError());
    verify("thread per program, columns");
    launchBlocks<LocalStack, false>(programs, dPtr.get(), dCode.get(), rm, dY.get(), samples, dSse.get(), programs);
    verify("block, local stack, rows");
    launchBlocks<SharedStackThreadMajor, false>(programs, dPtr.get(), dCode.get(), cm, dY.get(), samples, dSse.get(), programs);
    verify("block, shared stack by thread");
    launchBlocks<SharedStackDepthMajor, false>(programs, dPtr.get(), dCode.get(), cm, dY.get(), samples, dSse.get(), programs);
    verify("block, shared stack by depth");
    launchBlocks<SharedStackDepthMajor, true>(programs, dPtr.get(), dCode.get(), cm, dY.get(), samples, dSse.get(), 132);
    verify("block, staged code, grid stride");

    // selection on the last scores
    const int slots = programs, k = 7;
    std::vector<int> contestants(std::size_t(slots) * k), winner(slots);
    for (auto& c : contestants) c = int(rng() % unsigned(programs));
    auto dCon = onDevice(contestants);
    auto dWin = onDevice(winner);
    auto dScore = onDevice(got);
    tournament<<<(slots + 127) / 128, 128>>>(slots, k, dCon.get(), dScore.get(), dWin.get());
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(winner.data(), dWin.get(), slots * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int s = 0; s < slots; ++s) {
        auto first = contestants.begin() + std::size_t(s) * k;
        int best = *std::min_element(first, first + k, [&](int a, int b) { return std::pair(got[a], a) < std::pair(got[b], b); });
        wrong += best != winner[s];
    }
    std::printf("tournament: %d wrong\n", wrong);
    ok &= wrong == 0;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
} catch (const CudaError& e) {
    std::printf("CUDA error at line %d: %s\nFAIL\n", e.line, cudaGetErrorString(e.e));
    return 2;
}
