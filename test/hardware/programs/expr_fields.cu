// nvcc: -std=c++17
// Expression templates over 3-D fields:  lhs <<= alpha * u + beta * lap(u) - dx(v) * w;
// The same expression objects evaluate on the host (reference) and in the generated kernels.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#define HD __host__ __device__ __forceinline__

inline void require(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

struct Extent {
    int nx, ny, nz;
    HD int size() const { return nx * ny * nz; }
};

// ---------------------------------------------------------------- layouts
struct XFast {
    static HD int index(Extent e, int i, int j, int k) { return i + e.nx * (j + e.ny * k); }
};
struct ZFast {
    static HD int index(Extent e, int i, int j, int k) { return k + e.nz * (j + e.ny * i); }
};

// ---------------------------------------------------------------- expression nodes
template <typename Derived>
struct Expr {
    HD const Derived& self() const { return static_cast<const Derived&>(*this); }
};

template <typename T, typename Layout>
struct Field : Expr<Field<T, Layout>> {
    T* data;
    Extent ext;
    Field(T* d, Extent e) : data(d), ext(e) {}
    HD T at(int i, int j, int k) const { return data[Layout::index(ext, i, j, k)]; }
    HD void set(int i, int j, int k, T v) const { data[Layout::index(ext, i, j, k)] = v; }
};

template <typename T>
struct Const : Expr<Const<T>> {
    T v;
    explicit Const(T v_) : v(v_) {}
    HD T at(int, int, int) const { return v; }
};

struct Add { template <typename T> static HD T apply(T a, T b) { return a + b; } };
struct Sub { template <typename T> static HD T apply(T a, T b) { return a - b; } };
struct Mul { template <typename T> static HD T apply(T a, T b) { return a * b; } };

template <typename Op, typename L, typename R>
struct Binary : Expr<Binary<Op, L, R>> {
    L l;
    R r;
    Binary(L l_, R r_) : l(l_), r(r_) {}
    HD auto at(int i, int j, int k) const { return Op::apply(l.at(i, j, k), r.at(i, j, k)); }
};

template <int DI, int DJ, int DK, typename E>
struct Shift : Expr<Shift<DI, DJ, DK, E>> {
    E e;
    explicit Shift(E e_) : e(e_) {}
    HD auto at(int i, int j, int k) const { return e.at(i + DI, j + DJ, k + DK); }
};

template <typename L, typename R>
auto operator+(const Expr<L>& l, const Expr<R>& r) { return Binary<Add, L, R>(l.self(), r.self()); }
template <typename L, typename R>
auto operator-(const Expr<L>& l, const Expr<R>& r) { return Binary<Sub, L, R>(l.self(), r.self()); }
template <typename L, typename R>
auto operator*(const Expr<L>& l, const Expr<R>& r) { return Binary<Mul, L, R>(l.self(), r.self()); }
template <typename R>
auto operator*(double a, const Expr<R>& r) { return Binary<Mul, Const<double>, R>(Const<double>(a), r.self()); }

template <int DI, int DJ, int DK, typename E>
auto shift(const Expr<E>& e) { return Shift<DI, DJ, DK, E>(e.self()); }

template <typename E>
auto laplacian(const Expr<E>& e)
{
    return shift<1, 0, 0>(e) + shift<-1, 0, 0>(e) + shift<0, 1, 0>(e) + shift<0, -1, 0>(e) + shift<0, 0, 1>(e) +
           shift<0, 0, -1>(e) - 6.0 * e;
}

template <typename E>
auto ddx(const Expr<E>& e) { return 0.5 * (shift<1, 0, 0>(e) - shift<-1, 0, 0>(e)); }
template <typename E>
auto ddz(const Expr<E>& e) { return 0.5 * (shift<0, 0, 1>(e) - shift<0, 0, -1>(e)); }

// ---------------------------------------------------------------- execution policies
struct Block3D {};       // threadIdx.x -> i
struct ColumnMarch {};   // thread per (i,j), marches along k
struct Flat {};          // 1-D grid stride over interior, k fastest

template <typename Dst, typename E>
__global__ void assignBlock3D(Dst dst, E e)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int k = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i < dst.ext.nx - 1 && j < dst.ext.ny - 1 && k < dst.ext.nz - 1) {
        dst.set(i, j, k, e.at(i, j, k));
    }
}

template <typename Dst, typename E>
__global__ void assignColumns(Dst dst, E e)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= dst.ext.nx - 1 || j >= dst.ext.ny - 1) {
        return;
    }
    for (int k = 1; k < dst.ext.nz - 1; ++k) {
        dst.set(i, j, k, e.at(i, j, k));
    }
}

template <typename Dst, typename E>
__global__ void assignFlat(Dst dst, E e)
{
    const int mx = dst.ext.nx - 2;
    const int my = dst.ext.ny - 2;
    const int mz = dst.ext.nz - 2;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < mx * my * mz; n += gridDim.x * blockDim.x) {
        int k = n % mz + 1;
        int j = (n / mz) % my + 1;
        int i = n / (mz * my) + 1;
        dst.set(i, j, k, e.at(i, j, k));
    }
}

template <typename Policy, typename T, typename Layout, typename E>
void assign(Policy, Field<T, Layout> dst, const Expr<E>& e)
{
    const Extent x = dst.ext;
    if constexpr (std::is_same_v<Policy, Block3D>) {
        dim3 b(32, 4, 2);
        dim3 g((x.nx - 2 + 31) / 32, (x.ny - 2 + 3) / 4, (x.nz - 2 + 1) / 2);
        assignBlock3D<<<g, b>>>(dst, e.self());
    } else if constexpr (std::is_same_v<Policy, ColumnMarch>) {
        dim3 b(32, 4);
        dim3 g((x.nx - 2 + 31) / 32, (x.ny - 2 + 3) / 4);
        assignColumns<<<g, b>>>(dst, e.self());
    } else {
        assignFlat<<<528, 128>>>(dst, e.self());
    }
    require(cudaGetLastError());
}

// sum of an expression over the interior, per-block partials
template <typename E>
__global__ void reduceExpr(E e, Extent x, double* partial)
{
    __shared__ double s[128];
    double acc = 0;
    int j = blockIdx.x + 1;
    int k = blockIdx.y + 1;
    for (int i = threadIdx.x + 1; i < x.nx - 1; i += blockDim.x) {
        acc += e.at(i, j, k);
    }
    s[threadIdx.x] = acc;
    __syncthreads();
    for (int o = 64; o > 0; o >>= 1) {
        if (threadIdx.x < o) {
            s[threadIdx.x] += s[threadIdx.x + o];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.y * gridDim.x + blockIdx.x] = s[0];
    }
}

// copy between layouts, coalesced on the source side only
template <typename Dst, typename Src>
__global__ void relayout(Dst dst, Src src)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = blockIdx.z;
    if (i < src.ext.nx) {
        dst.set(i, j, k, src.at(i, j, k));
    }
}

// zero-gradient on the two x faces (strided) and the two z faces
template <typename F>
__global__ void faces(F f)
{
    int a = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    const Extent x = f.ext;
    if (a < x.ny && b < x.nz) {
        f.set(0, a, b, f.at(1, a, b));
        f.set(x.nx - 1, a, b, f.at(x.nx - 2, a, b));
    }
}

int main()
{
    const Extent ext = {98, 66, 62};
    const int n = ext.size();
    std::vector<double> hu(n), hv(n), hw(n), r1(n, 0.0), r2(n, 0.0), r3(n, 0.0);
    for (int k = 0; k < ext.nz; ++k)
        for (int j = 0; j < ext.ny; ++j)
            for (int i = 0; i < ext.nx; ++i) {
                int p = XFast::index(ext, i, j, k);
                hu[p] = std::sin(0.11 * i) * std::cos(0.07 * j + 0.05 * k);
                hv[p] = std::cos(0.05 * i + 0.09 * k) + 0.01 * ((i * 7 + j * 3 + k) % 11);
                hw[p] = 1.0 + 0.001 * (i - j + k);
            }
    double *du, *dv, *dw, *d1, *d2, *d3, *dz, *part;
    size_t bytes = n * sizeof(double);
    for (double** p : {&du, &dv, &dw, &d1, &d2, &d3, &dz}) {
        require(cudaMalloc(p, bytes));
        require(cudaMemset(*p, 0, bytes));
    }
    const int nparts = (ext.ny - 2) * (ext.nz - 2);
    require(cudaMalloc(&part, nparts * sizeof(double)));
    require(cudaMemcpy(du, hu.data(), bytes, cudaMemcpyHostToDevice));
    require(cudaMemcpy(dv, hv.data(), bytes, cudaMemcpyHostToDevice));
    require(cudaMemcpy(dw, hw.data(), bytes, cudaMemcpyHostToDevice));

    using FX = Field<double, XFast>;
    using FZ = Field<double, ZFast>;
    FX u(du, ext), v(dv, ext), w(dw, ext), o1(d1, ext), o2(d2, ext), o3(d3, ext);
    FZ uz(dz, ext);

    auto program1 = [](auto a, auto b, auto c) { return a + 0.1 * laplacian(a) - ddx(b) * c; };
    auto program2 = [](auto a, auto b, auto c) { return ddz(a * b) + 0.25 * (b - c); };

    assign(Block3D{}, o1, program1(u, v, w));
    assign(ColumnMarch{}, o2, program2(u, v, w));
    relayout<<<dim3((ext.nx + 31) / 32, ext.ny, ext.nz), 32>>>(uz, u);
    require(cudaGetLastError());
    assign(Flat{}, o3, program2(uz, v, w));      // mixed layouts: k fastest suits uz only
    faces<<<dim3((ext.ny + 31) / 32, ext.nz), 32>>>(o1);
    auto energy = u * u + 0.5 * (v * w);
    reduceExpr<<<dim3(ext.ny - 2, ext.nz - 2), 128>>>(energy, ext, part);
    require(cudaGetLastError());
    require(cudaDeviceSynchronize());

    // host evaluation with the very same expression code
    FX cu(hu.data(), ext), cv(hv.data(), ext), cw(hw.data(), ext), c1(r1.data(), ext), c2(r2.data(), ext);
    auto e1 = program1(cu, cv, cw);
    auto e2 = program2(cu, cv, cw);
    auto ee = cu * cu + 0.5 * (cv * cw);
    double total = 0;
    for (int k = 1; k < ext.nz - 1; ++k)
        for (int j = 1; j < ext.ny - 1; ++j)
            for (int i = 1; i < ext.nx - 1; ++i) {
                c1.set(i, j, k, e1.at(i, j, k));
                c2.set(i, j, k, e2.at(i, j, k));
                total += ee.at(i, j, k);
            }
    for (int k = 0; k < ext.nz; ++k)
        for (int j = 0; j < ext.ny; ++j) {
            c1.set(0, j, k, c1.at(1, j, k));
            c1.set(ext.nx - 1, j, k, c1.at(ext.nx - 2, j, k));
        }
    auto diff = [&](const double* d, const std::vector<double>& r) {
        std::vector<double> h(n);
        require(cudaMemcpy(h.data(), d, bytes, cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int p = 0; p < n; ++p) {
            double e = std::fabs(h[p] - r[p]);
            if (!(e <= worst)) worst = e;
        }
        return worst;
    };
    std::vector<double> hp(nparts);
    require(cudaMemcpy(hp.data(), part, nparts * sizeof(double), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (double p : hp) sum += p;
    double a = diff(d1, r1), b = diff(d2, r2), c = diff(d3, r2);
    bool ok = a < 1e-12 && b < 1e-12 && c < 1e-12 && std::fabs(sum - total) < 1e-9 * std::fabs(total);
    std::printf("errors %g %g %g, energy %.12g vs %.12g\n%s\n", a, b, c, sum, total, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
