import { check, checkBody } from './parse-text';

describe('CUDA', () => {
  it('reads specifiers wherever they stand', () => {
    check('__global__ void k() {}', '(fn global k () void {})');
    check('void __global__ k() {}', '(fn global k () void {})');
    check('static __global__ void k();', '(fn global static k () void)');
    check('template <int N> __global__ void k();', '(fn global <int N> k () void)');
    check('T const& __device__ g(int);', '(fn device g (int) &const T)');
    check(
      'int* __shared__ p; int* __device__ __forceinline__ g() {}',
      '(var shared p *int) (fn device inline g () *int {})',
    );
    check('extern "C" __global__ void k() {}', '(fn global extern k () void {})');
    check(
      '__host__ __device__ __forceinline__ float g(float x) { return x; }',
      '(fn device host inline g (x: float) float {(return x)})',
    );
    check('__device__ __noinline__ int g();', '(fn device noinline g () int)');
    check('inline __device__ auto g() -> int;', '(fn device inline g () int)');
    check(
      'struct A { __host__ __device__ A() {} __device__ int g() const; };',
      '(struct A {(fn device host A () void {}) (fn device g () const int)})',
    );
    check('__global__ void k(const __grid_constant__ P p);', '(fn global k (gridconstant p: const P) void)');
  });

  it('reads launch bounds and their kin', () => {
    check('__global__ void __launch_bounds__(256) k() {}', '(fn global bounds(256) k () void {})');
    check('__global__ __launch_bounds__(T * 2, 4) void k() {}', '(fn global bounds((* T 2), 4) k () void {})');
    check('__launch_bounds__(128, 2, 1) __global__ void k();', '(fn global bounds(128, 2, 1) k () void)');
    check('__global__ void k(int n) __launch_bounds__(64);', '(fn global bounds(64) k (n: int) void)');
    check(
      'template <int N> __global__ void __launch_bounds__(N) __maxnreg__(64) k();',
      '(fn global bounds(N) maxreg(64) <int N> k () void)',
    );
    check('__global__ void __cluster_dims__(2, 1, 1) k();', '(fn global cluster(2, 1, 1) k () void)');
    check('__block_size__((128, 2, 1), (2, 2, 2)) __global__ void k();', '(fn global block(128, 2, 1) k () void)');
    check('__attribute__((global)) void k();', '(fn global k () void)');
  });

  it('reads memory spaces', () => {
    check(
      '__constant__ float c[4]; __device__ int d = 1; __managed__ int m; static __device__ int s;',
      '(var constant c [4]float) (var device d int = 1) (var managed m int) (var device static s int)',
    );
    check('extern __shared__ float s[];', '(var shared extern s []float)');
    checkBody('__shared__ float a[32][33], b;', '(var shared a [32][33]float) (var shared b float)');
    checkBody('__shared__ __align__(16) float a[4];', '(var shared align(16) a [4]float)');
    checkBody(
      'extern __shared__ __align__(1024) unsigned char a[];',
      '(var shared extern align(1024) a []unsigned char)',
    );
    checkBody('__shared__ typename A<T>::Storage a;', '(var shared a A<T?>::Storage)');
    checkBody('volatile __shared__ int a;', '(var shared a volatile int)');
    checkBody('static __shared__ int a;', '(var shared static a int)');
    check(
      '__device__ void g(float* __restrict__ a, const float *restrict b);',
      '(fn device g (restrict a: *restrict float, restrict b: *restrict const float) void)',
    );
  });

  it('reads launches', () => {
    checkBody('k<<<g, b>>>(x, y);', '(launch k [g b] x y)');
    checkBody('k<<<1, 2, 3, s>>>();', '(launch k [1 2 3 s])');
    checkBody(
      'k<float, 4><<<(n + 255) / 256, 256>>>(x);',
      '(launch k<float, 4> [(/ (+ n 255) 256) 256] x)',
      'template <class T, int N> void k();',
    );
    checkBody('k<float, 4><<<g, b>>>(x);', '(launch k<float, 4> [g b] x)');
    checkBody('k<A<B<int>>><<<g, b>>>(x);', '(launch k<A<B<int>?>?> [g b] x)');
    checkBody('n::k<T> <<<dim3(1, 2), n >> 2>>>(x);', '(launch n::k<T?> [(cast:functional dim3 1 2) (>> n 2)] x)');
    checkBody('k<<<g, A<B<int>>::n>>>(x);', '(launch k [g A<B<int>?>::n] x)');
    checkBody('k<<<{1, 2}, {3}>>>(x);', '(launch k [{1 2} {3}] x)');
    checkBody('(*fp)<<<g, b>>>(x);', '(launch (* fp) [g b] x)');
    checkBody('if (a) k<<<g, b>>>(x); else k<<<b, g>>>(y);', '(if a (launch k [g b] x) else (launch k [b g] y))');
    checkBody('k<< <g, b> >>(x);', '(launch k [g b] x)');
    checkBody('k << < g, b >> > (x);', '(launch k [g b] x)');
    checkBody('k<<<g, b >> 1 >> >(x);', '(launch k [g (>> b 1)] x)');
    checkBody('k << <g, b>>>(x);', '(launch k [g b] x)');
    checkBody('a->k<<<g, b>>>(x);', '(launch (-> a k) [g b] x)');
  });

  it('knows CUDA types without their headers', () => {
    checkBody(
      'float4 v = reinterpret_cast<const float4*>(p)[i];',
      '(var v float4 = (index (cast:reinterpret *const float4 p) i))',
    );
    checkBody(
      'half2 h = (half2)x; x = __half(y);',
      '(var h half2 = (cast:c half2 x)); (= x (cast:functional __half y))',
    );
    checkBody(
      'wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;',
      '(var a wmma::fragment<wmma::matrix_a?, 16, 16, 16, half, wmma::row_major?>)',
    );
    checkBody(
      'auto t = cg::tiled_partition<32>(cg::this_thread_block());',
      '(var t auto = (call cg::tiled_partition<32> (call cg::this_thread_block)))',
    );
    checkBody('cg::reduce(t, x, cg::plus<float>());', '(call cg::reduce t x (cast:functional cg::plus<float>))');
    checkBody(
      'x = cg::reduce(t, x, cg::greater<float>{});',
      '(= x (call cg::reduce t x (cast:braced cg::greater<float> {})))',
    );
    checkBody('curandState s = states[i];', '(var s curandState = (index states i))');
    checkBody('dim3 b(32, 8), g((n + 31) / 32);', '(var b dim3 (32 8)) (var g dim3 ((/ (+ n 31) 32)))');
  });

  it('reads texture references', () => {
    check('texture<float, 2, cudaReadModeElementType> t;', '(var t texture<float, 2, cudaReadModeElementType?>)');
  });
});
