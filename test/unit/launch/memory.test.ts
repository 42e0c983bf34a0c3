import assert from 'node:assert/strict';
import { check, checkMain, launchesOf, showValue, withKernel } from './support';

const pass = (list: string) => `k <<<(1,1,1),(1,1,1),0>>>(${list})`;

describe('pointers', () => {
  it('go by the variable their buffer was allocated for', () => {
    checkMain(
      'float* d_a; cudaMalloc((void**)&d_a, 1024); k<<<1, 1>>>(d_a, d_a + 4, &d_a[8], (char*)d_a + 3);',
      pass('d_a, d_a+16, d_a+32, d_a+3'),
    );
    checkMain(
      'float* m; cudaMallocManaged(&m, 64); int* p = reinterpret_cast<int*>(m + 2); k<<<1, 1>>>(p + 1);',
      pass('m+12'),
    );
    checkMain('float* h = (float*)malloc(64); double* g = new double[8]; k<<<1, 1>>>(h, g + 1);', pass('h, g+8'));
    checkMain('float *a, *b; cudaMalloc(&a, 4); cudaMalloc(&b, 4); std::swap(a, b); k<<<1, 1>>>(a, b);', pass('b, a'));
    checkMain(
      'char* p; size_t pitch; cudaMallocPitch(&p, &pitch, 1000, 10); k<<<1, 1>>>(p + pitch, pitch);',
      pass('p+1024, 1024'),
    );
    checkMain('float *h, *d; cudaHostAlloc(&h, 64, 0); cudaHostGetDevicePointer(&d, h, 0); k<<<1, 1>>>(d);', pass('h'));
  });
  it('live in structs, arrays and containers', () => {
    check(
      'struct P { float* x; int n; }; int main() { P p; p.n = 3; cudaMalloc(&p.x, 64); k<<<1, 1>>>(p); }',
      pass('{x: p.x, n: 3}'),
    );
    checkMain(
      'float* d[2]; for (int i = 0; i < 2; i++) cudaMalloc(&d[i], 64); k<<<1, 1>>>(d[1], d[0]);',
      pass('d[1], d[0]'),
    );
    checkMain(
      'thrust::device_vector<int> v(100); k<<<1, 1>>>(thrust::raw_pointer_cast(v.data()), thrust::raw_pointer_cast(&v[2]), v.size());',
      pass('v, v+8, 100'),
    );
    checkMain(
      'std::vector<float> v; v.resize(10); v.push_back(1.0f); k<<<1, 1>>>(v.data() + 1, v.size());',
      pass('v+4, 11'),
    );
    checkMain('auto p = std::make_unique<float[]>(10); k<<<1, 1>>>(p.get());', pass('p'));
  });
  it('are what parameters of array type are', () => {
    check(
      'void set(int v[3]) { v[1] = 7; } int main() { int a[3] = {1, 2, 3}; set(a); k<<<1, 1>>>(a[0], a[1]); }',
      pass('1, 7'),
    );
  });
  it('lead to numbers of another type as little as these are followed', () => {
    const bytes = 'unsigned char b[8] = {1, 2, 0, 0, 9}; unsigned* w = (unsigned*)b;';
    checkMain(`${bytes} unsigned x = w[0], y = w[1]; k<<<1, 1>>>(x, y);`, pass('?x, ?y'));
    checkMain(`${bytes} w[1] = 5; unsigned char x = b[4], y = b[7]; k<<<1, 1>>>(x, y);`, pass('?b[4], ?w[7]'));
    checkMain('unsigned q = 258; unsigned char* z = (unsigned char*)&q; int x = z[1]; k<<<1, 1>>>(x);', pass('?x'));
    checkMain('float f = 1; int x = *(int*)&f; k<<<1, 1>>>(x);', pass('?x'));
    checkMain('int n = 6; unsigned x = *(unsigned*)&n; k<<<1, 1>>>(x);', pass('6'));
  });
  it('come out of helper functions', () => {
    check(
      'float* make(int n) { float* p; cudaMalloc(&p, n * sizeof(float)); return p; } int main() { float* d_x = make(4); float* d_y = make(8); k<<<1, 1>>>(d_x, d_y); }',
      pass('d_x, d_y'),
    );
    check(
      'void make(float** p, int n) { cudaMalloc(p, n); } int main() { float *d_x, *d_y; make(&d_x, 4); make(&d_y, 4); k<<<1, 1>>>(d_x, d_y); }',
      pass('d_x, d_y'),
    );
    check(
      '#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) exit(1); } while (0)\nint main() { float* d; CHECK(cudaMalloc(&d, 4)); k<<<1, 1>>>(d); }',
      pass('d'),
    );
    check(
      'void check(cudaError_t e, int line) { if (e) { printf("no"); exit(1); } } int main() { float* d; check(cudaMalloc(&d, 4), 3); k<<<1, 1>>>(d); }',
      pass('d'),
    );
  });
  it('keep their name when a struct holds them too', () => {
    check(
      'struct W { void* base; }; void f() { float* d_a; cudaMalloc(&d_a, 4); W w; w.base = d_a; k<<<1, 1>>>(d_a, w.base); }',
      pass('d_a, d_a'),
    );
  });
  it('are told apart where they only share a name', () => {
    check(
      'float* make() { float* p; cudaMalloc(&p, 4); return p; } int main() { k<<<1, 1>>>(make(), make()); }',
      pass('p, p#2'),
    );
  });
  it('know what is not known about them', () => {
    check('void f(float* p, int o) { k<<<1, 1>>>(p + o, p); }', pass('?p, p'));
    check('void f(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>(), x.size(0)); }', pass('x, ?x.size(0)'));
    checkMain('float* d; k<<<1, 1>>>(d, nullptr, NULL);', pass('?, 0, 0'));
  });
  it('carry the size of their buffer', () => {
    const [launch] = launchesOf(
      withKernel('int main() { int n = 100; float* d; cudaMalloc(&d, n * sizeof(float)); k<<<1, 1>>>(d + 1); }'),
    );
    assert.deepEqual(launch.arguments[0], {
      kind: 'pointer',
      allocation: 'd',
      offsetBytes: 4,
      elementType: 'float',
      bytes: 400,
    });
  });
});

describe('values', () => {
  it('are what the class of an array’s elements gives them', () => {
    check(
      `struct D { D() = default; D(int x) : a(x) {} int a = 1, b = 2; }; struct C { C(int x) : n(x) { d[1] = D(7); } int n; D d[3]; };
       int main() { C c(3); k<<<1, 1>>>(c.d[0].a, c.d[2].b, c.d[1].a); D local[2]; k<<<1, 1>>>(local[1].b); }`,
      pass('1, 2, 7'),
      pass('2'),
    );
  });
  it('are pointers where arrays stand in braces', () => {
    check(
      `int of(const std::array<const long*, 2>& s) { return s[1][2] * 10 + s[0][1]; }
       int main() { const long a[3] = {1, 5, 7}, b[3] = {2, 3, 4}; k<<<1, 1>>>(of({a, b})); }`,
      pass('45'),
    );
  });
  it('of every kind are passed', () => {
    checkMain(
      'k<<<1, 1>>>(1.5f, \'a\', true, 3u - 4, -1L, "text", make_float2(1, 2));',
      pass('1.5, 97, 1, 4294967295, -1, "text", {x: 1, y: 2}'),
    );
    checkMain('int a[2][3] = {{1, 2, 3}, {4, 5, 6}}; k<<<1, 1>>>(a[1][0], a[1][2], sizeof(a));', pass('4, 6, 24'));
    check(
      'struct V { int n; float w[2]; }; int main() { V v = {.n = 2}; v.w[1] = 3; k<<<1, 1>>>(v); }',
      pass('{n: 2, w: [0, 3]}'),
    );
    check(
      'struct V { int n; }; int main() { V a{1}; V b = a; V* p = &a; b.n = 5; p->n += 2; V& r = a; r.n *= 2; k<<<1, 1>>>(a.n, b.n); }',
      pass('6, 5'),
    );
  });
  it('take the type of the parameter', () => {
    check(
      '__global__ void t(int n, float x, unsigned char c) {}\nint main() { t<<<1, 1>>>(2.9, 1, 300); }',
      't <<<(1,1,1),(1,1,1),0>>>(2, 1, 44)',
    );
    check(
      '__global__ void t(int n = 7, int m = 3) {}\nint main() { t<<<1, 1>>>(2); }',
      't <<<(1,1,1),(1,1,1),0>>>(2, 3)',
    );
    check(
      'struct P { int a, b; };\n__global__ void t(P p) {}\nint main() { t<<<1, 1>>>({1, 2}); }',
      't <<<(1,1,1),(1,1,1),0>>>({a: 1, b: 2})',
    );
  });
  it('of device symbols are known at the launch', () => {
    const [first, second] = launchesOf(
      withKernel(
        '__constant__ int n; __constant__ float w[3]; int main() { int h = 5; float a[3] = {1, 2, 3}; cudaMemcpyToSymbol(n, &h, 4); k<<<1, 1>>>(); cudaMemcpyToSymbol(w, a, 12); h = 6; k<<<1, 2>>>(); }',
      ),
    );
    assert.deepEqual(
      [...first.symbols].map(([name, value]) => `${name}=${showValue(value)}`),
      ['n=5'],
    );
    assert.deepEqual(
      [...second.symbols].map(([name, value]) => `${name}=${showValue(value)}`),
      ['n=5', 'w=[1, 2, 3]'],
    );
  });
});

describe('what is written where nobody knows', () => {
  it('is unknown wherever it may lie', () => {
    // a loop that is cut short: which of the pointers its further rounds allocate is not known
    check(
      'struct P { float* p[200]; }; int main() { P x{}; for (int t = 0; t < 200; t++) for (float** q : {&x.p[t]}) cudaMalloc(q, 64); k<<<1, 1>>>(x.p[7] == nullptr); }',
      pass('?'),
    );
  });
  it('is unknown in every row and every element of which a part is assigned', () => {
    const long = (declared: string, assigned: string, read: string, told = '?') =>
      check(
        `struct P { int a, b; }; int main() { ${declared}; for (int i = 0; i < 300; i++) ${assigned}; k<<<1, 1>>>(${read}); }`,
        pass(told),
      );
    long('int d[8][8] = {}', 'd[i % 8][3] = 1', 'd[7][3]');
    long('P d[8] = {}', 'd[i % 8].b = 1', 'd[7].b', '?d[7].b');
    long('std::vector<P> d(8, P{1, 2})', 'd[i % 8].b = 1', 'd[7].b', '?b');
    long('std::vector<std::vector<int>> d(8, std::vector<int>(3, 1))', 'd[i % 8][2] = 4', 'd[7][2]');
  });
  it('is unknown where a reference may lead', () => {
    const long = (declared: string, body: string, read: string, told = '?') =>
      check(
        `struct P { int a, b; void set(int x) { b = x; } }; void put(int& x) { x = 5; } void fill(std::vector<int>& x) { x.push_back(5); }
         int main() { ${declared}; for (int i = 0; i < 300; i++) { ${body}; } k<<<1, 1>>>(${read}); }`,
        pass(told),
      );
    long('int d[8] = {}', 'int& x = d[i % 8]; x = 1', 'd[7]');
    long('P d[8] = {}', 'auto& x = d[i % 8]; x.b = 1', 'd[7].b', '?d[7].b');
    long('P d[8] = {}', 'd[i % 8].set(1)', 'd[7].b', '?d[7].b');
    long('int d[8] = {}', 'put(d[i % 8])', 'd[7]');
    long('std::vector<std::vector<int>> d(8)', 'auto& x = d[i % 8]; x.push_back(1)', 'd[7].size()', '?d[7].size()');
    long('std::vector<std::vector<int>> d(8)', 'd[i % 8].push_back(1)', 'd[7].size()', '?d[7].size()');
    long('std::vector<std::vector<int>> d(8)', 'fill(d[i % 8])', 'd[7].size()', '?d[7].size()');
    // and known where it is only read
    long(
      'std::vector<std::vector<int>> d(8, std::vector<int>(3, 1)); int s = 0',
      'auto& x = d[i % 8]; s += x.size()',
      'd[7].size()',
      '3',
    );
    long('P d[8] = {}; d[7].b = 4; int s = 0', 'const P& x = d[i % 8]; s += x.b', 'd[7].b', '4');
  });
  it('is unknown in all elements of a transform in place, and that has an end', () =>
    check(
      `struct F { unsigned long v; F() = default; F(unsigned long x) : v(x) {}
         F operator*(const F& o) const { return F(v * o.v % 97); } F operator+(const F& o) const { F r = *this; r.v += o.v; return r; } };
       void transform(std::vector<F>& a, F root) {
         const size_t n = a.size();
         for (size_t i = 1, j = 0; i < n; i++) { size_t bit = n >> 1; for (; j & bit; bit >>= 1) j ^= bit; j ^= bit; if (i < j) std::swap(a[i], a[j]); }
         for (size_t len = 2; len <= n; len <<= 1)
           for (size_t i = 0; i < n; i += len) { F w(1); for (size_t k = 0; k < len / 2; k++) { F u = a[i + k], v = a[i + k + len / 2] * w; a[i + k] = u + v; a[i + k + len / 2] = v; w = w * root; } }
       }
       int main() { std::vector<F> a(4096), b(4096); for (auto* v : {&a, &b}) for (auto& x : *v) x = F(3); transform(a, F(5)); k<<<1, 1>>>(a[7].v, a.size()); }`,
      pass('?a[7].v, 4096'),
    ));
  it('is unknown in what a method is given to write', () => {
    check('int main() { std::string s("azure"); char t[8] = {}; s.copy(t, 8); k<<<1, 1>>>(t[0]); }', pass('?'));
    check('int main() { std::vector<int> a(3, 1), b(4, 2); a.swap(b); k<<<1, 1>>>(b[0], b.size()); }', pass('?, ?'));
  });
  it('is unknown behind a recursion that is not followed', () => {
    check(
      `void grow(int row, unsigned held, std::vector<unsigned>& out) {
        if (row == 4) { out.push_back(held); return; }
        for (unsigned m = 255 & ~held; m; m &= m - 1) grow(row + 1, held | (m & -m), out);
      }
      int main() { std::vector<unsigned> v; grow(0, 0, v); k<<<(v.size() + 63) / 64, 64>>>(v.size()); }`,
      'k <<<(?,1,1),(64,1,1),0>>>(?v.size())',
    );
  });
});

describe('members of unions', () => {
  const union = 'union U { float f; unsigned u; struct { short low, high; }; };';
  it('are not known where another was written', () => {
    check(`${union} int main() { U x; x.f = 1; x.u = 5; k<<<1, 1>>>(x.u, x.f, x.low); }`, pass('5, ?x.f, ?x.low'));
    check(
      `${union} int main() { U x{2.0f}; U y = x; y.low = 1; y.high = 2; k<<<1, 1>>>(x.f, x.u, y.f, y.low); }`,
      pass('2, ?x.u, ?x.f, 1'),
    );
  });
  it('lie beside those that are in no union', () => {
    check(
      'struct T { int kind; union { int i; float f; }; }; int main() { T t; t.kind = 3; t.i = 4; t.f = 5; k<<<1, 1>>>(t.kind, t.f, t.i); }',
      pass('3, 5, ?t.i'),
    );
  });
  it('are elements of an array beside them, or reached from each other', () => {
    check(
      'struct V { union { struct { float x, y; }; float e[2]; }; }; int main() { V v; v.x = 1; v.y = 2; v.e[1] = 5; k<<<1, 1>>>(v.y); }',
      pass('?v.y'),
    );
    check(
      'struct V { float x, y; float& at(int i) { return (&x)[i]; } }; int main() { V v{1, 2}; v.at(1) = 5; k<<<1, 1>>>(v.y); }',
      pass('?v.y'),
    );
  });
});

describe('one of several pointers', () => {
  const index = 'int at = rand() % 4;';
  it('may be null where some are', () => {
    checkMain(
      `int x = 1, n = 0; ${index} int* p[4] = {}; if (!p[at]) p[at] = &x; for (int* q : p) n += q == nullptr; k<<<1, 1>>>(n);`,
      pass('?n'),
    );
  });
  it('is nobody knows which', () => {
    checkMain(
      `int x = 1, y = 2; ${index} int* p[2] = {&x, &y}; k<<<1, 1>>>(p[at % 2] == &x, p[at % 2] == nullptr);`,
      pass('?, 0'),
    );
  });
});
