import assert from 'node:assert/strict';
import { check, checkMain, launchesOf, withKernel } from './support';

describe('forms of launches', () => {
  it('cudaLaunchKernel', () => {
    checkMain(
      'float* d; cudaMalloc(&d, 4); int n = 5; void* args[] = {&d, &n}; cudaLaunchKernel((void*)k, dim3(4, 2), dim3(32), args, 64, 0);',
      'k <<<(4,2,1),(32,1,1),64>>>(d, 5)',
    );
    checkMain(
      'int n = 5; void* args[] = {(void*)&n}; cudaLaunchCooperativeKernel((const void*)&k, 4, 32, args);',
      'k <<<(4,1,1),(32,1,1),0>>>(5)',
    );
    checkMain(
      'int n = 5; dim3 b(64); void* args[1]; args[0] = &n; cudaLaunchKernel((void*)k, 1, b, args, 0, 0);',
      'k <<<(1,1,1),(64,1,1),0>>>(5)',
    );
  });
  it('spaced as formatters do that know no CUDA', () => {
    checkMain('k << <4, 32 >> > (5);', 'k <<<(4,1,1),(32,1,1),0>>>(5)');
    checkMain('int b = 64; k <<<4, b >> >(5);', 'k <<<(4,1,1),(64,1,1),0>>>(5)');
  });
  it('cudaLaunchKernelEx', () => {
    checkMain(
      'cudaLaunchConfig_t c = {0}; c.gridDim = dim3(4); c.blockDim = 128; c.dynamicSmemBytes = 256; cudaLaunchKernelEx(&c, k, 7, 8);',
      'k <<<(4,1,1),(128,1,1),256>>>(7, 8)',
    );
  });
  it('nodes of a graph', () => {
    checkMain(
      'float* d; cudaMalloc(&d, 4); int n = 5; cudaGraph_t g; cudaGraphNode_t node; cudaKernelNodeParams p = {0}; p.func = (void*)k; p.gridDim = dim3(4); p.blockDim = 64; p.sharedMemBytes = 8; void* args[2] = {(void*)&d, &n}; p.kernelParams = args; cudaGraphAddKernelNode(&node, g, NULL, 0, &p);',
      'k <<<(4,1,1),(64,1,1),8>>>(d, 5)',
    );
  });
  it('kernels in variables', () => {
    checkMain('auto f = k; f<<<1, 32>>>();', 'k <<<(1,1,1),(32,1,1),0>>>()');
    check(
      '__global__ void a(int n) {}\n__global__ void b(int n) {}\nint main() { void (*f)(int) = &a; f<<<1, 32>>>(1); f = b; f<<<1, 64>>>(2); }',
      'a <<<(1,1,1),(32,1,1),0>>>(1)',
      'b <<<(1,1,1),(64,1,1),0>>>(2)',
    );
    check(
      '__global__ void a(int n) {}\n__global__ void b(int n) {}\nvoid f(bool c) { auto g = c ? a : b; g<<<1, 32>>>(1); }',
      'a <<<(1,1,1),(32,1,1),0>>>(1)',
      'b <<<(1,1,1),(32,1,1),0>>>(1)',
    );
    check(
      'template <int N> __global__ void t(int n) {}\nvoid run(void (*f)(int), int b) { f<<<1, b>>>(b); } int main() { run(t<4>, 64); }',
      't<4> <<<(1,1,1),(64,1,1),0>>>(64)',
    );
    check(
      '__global__ void a() {}\n__global__ void b() {}\nint main() { void (*all[])() = {a, b}; for (int i = 0; i < 2; i++) all[i]<<<1, 32>>>(); }',
      'a <<<(1,1,1),(32,1,1),0>>>()',
      'b <<<(1,1,1),(32,1,1),0>>>()',
    );
  });
  it('braced lists of what the caller has', () => {
    const kernels =
      'template <typename T> struct View { T* at; int rows[2]; }; __global__ void a(View<const int> v, int n) {}\n template <int N> __global__ void b(View<float> v) {}\n';
    check(
      `${kernels} int main() { int n = 3; const int m = 7; int* p; cudaMalloc(&p, 4); float* q; cudaMalloc(&q, 4); a<<<1, 32>>>({p, {n, m}}, {n}); b<4><<<1, 32>>>({q, {m}}); }`,
      'a <<<(1,1,1),(32,1,1),0>>>({at: p, rows: [3, 7]}, 3)',
      'b<4> <<<(1,1,1),(32,1,1),0>>>({at: q, rows: [7, 0]})',
    );
  });
  it('kernels in pairs and tuples', () => {
    const kernels = '__global__ void a(int n) {}\n template <int N> __global__ void b(int n) {}\n';
    check(
      `${kernels} int main() { const std::tuple<const char*, void (*)(int), unsigned> all[]{{"x", a, 64u}, {"y", b<4>, 96u}}; for (const auto& [name, f, threads] : all) f<<<1, threads>>>(5); }`,
      'a <<<(1,1,1),(64,1,1),0>>>(5)',
      'b<4> <<<(1,1,1),(96,1,1),0>>>(5)',
    );
    check(
      `${kernels} int main() { std::vector<std::pair<void (*)(int), int>> all = {{a, 32}, {b<2>, 64}}; for (auto& each : all) each.first<<<2, each.second>>>(each.second); }`,
      'a <<<(2,1,1),(32,1,1),0>>>(32)',
      'b<2> <<<(2,1,1),(64,1,1),0>>>(64)',
    );
    check(
      `${kernels} int main() { auto t = std::make_tuple(a, 96); auto [f, n] = std::make_pair(std::get<0>(t), std::get<1>(t)); n++; f<<<3, std::get<1>(t)>>>(n); }`,
      'a <<<(3,1,1),(96,1,1),0>>>(97)',
    );
    check(
      `${kernels} int main() { std::tuple<int, float, unsigned> t(5, 2.5f, 64u); a<<<std::get<int>(t), std::get<unsigned>(t)>>>(std::get<float>(t)); }`,
      'a <<<(5,1,1),(64,1,1),0>>>(2)',
    );
  });
  it('kernels in namespaces, overloads, macros', () => {
    check(
      'namespace a { __global__ void q(int n) {} } int main() { a::q<<<1, 32>>>(1); }',
      'a::q <<<(1,1,1),(32,1,1),0>>>(1)',
    );
    check(
      '#define GO(name, b) name##_kernel<<<1, b>>>()\n__global__ void x_kernel() {}\nint main() { GO(x, 64); }',
      'x_kernel <<<(1,1,1),(64,1,1),0>>>()',
    );
    const [launch] = launchesOf(
      '__global__ void o(int n) {}\n__global__ void o(float* p, int n) {}\nint main() { float* p; o<<<1, 32>>>(p, 3); }',
    );
    assert.equal(launch.kernel.declaration?.parameters.length, 2);
  });
  it('templates of kernels that differ in what their arguments point to', () => {
    const templates = `namespace gemm { template <int N> __global__ void o(const char* a, int* wide) {}
      template <int N> __global__ void o(const char* a, char* narrow) {} template <> __global__ void o<8>(const char* a, char* narrow) {} }`;
    const second = (main: string) =>
      launchesOf(`${templates} int main() { char* a; cudaMalloc(&a, 64); ${main} }`).map(
        ({ kernel }) => kernel.declaration?.parameters[1].name,
      );
    assert.deepEqual(second('char* c; cudaMalloc(&c, 64); gemm::o<4><<<1, 32>>>(a, c);'), ['narrow']);
    assert.deepEqual(second('int* c; cudaMalloc(&c, 64); gemm::o<4><<<1, 32>>>(a, c);'), ['wide']);
  });
  it('kernels that launch kernels', () => {
    check(
      '__global__ void child(int n) {}\n__global__ void parent(int n) { if (threadIdx.x == 0) child<<<1, 64>>>(n); }\nint main() { parent<<<1, 32>>>(5); }',
      'child <<<(1,1,1),(64,1,1),0>>>(?n)',
      'parent <<<(1,1,1),(32,1,1),0>>>(5)',
    );
  });
  it('kernels that the unit does not declare', () => {
    check('int main() { elsewhere<float, 4><<<2, 32>>>(1); }', 'elsewhere<float, 4> <<<(2,1,1),(32,1,1),0>>>(1)');
  });
  it('say where they stand and in which function', () => {
    const [launch] = launchesOf(withKernel('void f() { k<<<1, 32>>>(1); }'));
    assert.equal(launch.inFunction, 'f');
    assert.ok(launch.place.last > launch.place.first);
  });
  it('say whether the plainest run comes to them, and which round of a loop they are', () => {
    const launches = launchesOf(
      withKernel(
        'int main(int argc, char**) { if (argc > 1) k<<<1, 1>>>(); for (int i = 0; i < 9; i++) k<<<1, 2>>>(i); }',
      ),
    );
    assert.deepEqual(
      launches.map((launch) => launch.reached),
      [false, true, true, true],
    );
    assert.deepEqual(
      launches.map((launch) => launch.iteration?.round),
      [undefined, 0, 4, 8],
    );
  });
  it('rounds of one instance leave room for those of the others', () => {
    const launches = launchesOf(
      `template <int N> __global__ void k(int);
template <int N> void apply(int i) { k<N><<<1, 32>>>(i); }
int main() { for (int i = 0; i < 90; i++) { apply<2>(i); apply<0>(i); if (i < 2) apply<1>(i); } }`,
      {},
      undefined,
      undefined,
      24,
    );
    const instances = launches.map(({ templateArguments: [n] }) => (n?.kind === 'value' ? n.value : undefined));
    const count = (n: number) => instances.filter((each) => each?.kind === 'number' && each.value === n).length;
    assert.deepEqual([count(2), count(0), count(1)], [11, 11, 2]);
  });
});
