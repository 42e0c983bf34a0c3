import { check, checkMain } from './support';

describe('launch configuration', () => {
  it('reads literals, ints and dim3', () => {
    checkMain('k<<<4, 256>>>();', 'k <<<(4,1,1),(256,1,1),0>>>()');
    checkMain('k<<<dim3(4, 4), dim3(32, 8)>>>();', 'k <<<(4,4,1),(32,8,1),0>>>()');
    checkMain('k<<<4, 256, 1024>>>();', 'k <<<(4,1,1),(256,1,1),1024>>>()');
    checkMain('cudaStream_t s; k<<<4, 256, 16 * sizeof(float), s>>>();', 'k <<<(4,1,1),(256,1,1),64>>>()');
    checkMain('k<<<{4, 2}, {32, 8}>>>();', 'k <<<(4,2,1),(32,8,1),0>>>()');
  });
  it('follows dim3 variables in every form', () => {
    checkMain('dim3 g(4, 4); dim3 b(32, 8); k<<<g, b>>>();', 'k <<<(4,4,1),(32,8,1),0>>>()');
    checkMain('dim3 g{4, 4}, b = {32, 8}; k<<<g, b>>>();', 'k <<<(4,4,1),(32,8,1),0>>>()');
    checkMain('dim3 g = 4, b = dim3(32, 8, 2); k<<<g, b>>>();', 'k <<<(4,1,1),(32,8,2),0>>>()');
    checkMain('dim3 g, b; g.x = 7; b.x = 16; b.y = 16; k<<<g, b>>>();', 'k <<<(7,1,1),(16,16,1),0>>>()');
    checkMain('dim3 b(32, 8); dim3 g(1024 / b.x, 1024 / b.y); k<<<g, b>>>();', 'k <<<(32,128,1),(32,8,1),0>>>()');
    checkMain('const auto g = dim3(2); k<<<g.x, g.y + 31>>>();', 'k <<<(2,1,1),(32,1,1),0>>>()');
  });
  it('computes ceiling divisions', () => {
    checkMain('int n = 1000, b = 256; k<<<(n + b - 1) / b, b>>>(n);', 'k <<<(4,1,1),(256,1,1),0>>>(1000)');
    checkMain('int n = 1000; k<<<ceil(n / 256.0), 256>>>(n);', 'k <<<(4,1,1),(256,1,1),0>>>(1000)');
    checkMain('int n = 1000; k<<<(int)ceilf((float)n / 256), 256>>>(n);', 'k <<<(4,1,1),(256,1,1),0>>>(1000)');
    checkMain('size_t n = 1 << 20; k<<<std::min<int>(n / 256, 65535), 256>>>();', 'k <<<(4096,1,1),(256,1,1),0>>>()');
    checkMain('int n = 70; k<<<1, 1 << (int)ceil(log2(n))>>>();', 'k <<<(1,1,1),(128,1,1),0>>>()');
    checkMain('int n = 10000; k<<<sqrt(n), max(32, min(n, 64))>>>();', 'k <<<(100,1,1),(64,1,1),0>>>()');
  });
  it('follows macros, constants, enums and globals', () => {
    check(
      '#define N 64\n#define CEIL(a, b) (((a) + (b) - 1) / (b))\nint main() { k<<<CEIL(N, 24), N>>>(); }',
      'k <<<(3,1,1),(64,1,1),0>>>()',
    );
    check(
      'const int B = 128; constexpr int G = 1024 / B; int main() { k<<<G, B>>>(); }',
      'k <<<(8,1,1),(128,1,1),0>>>()',
    );
    check(
      'enum { B = 64, C }; enum class E { w = 4, x, y = x }; int main() { k<<<C, B, (int)E::y>>>(); }',
      'k <<<(65,1,1),(64,1,1),5>>>()',
    );
    check('int n = 5; int main() { n = 6; k<<<n, 32>>>(); }', 'k <<<(6,1,1),(32,1,1),0>>>()');
    check(
      'namespace a { namespace b { const int B = 96; } } int main() { k<<<1, a::b::B>>>(); }',
      'k <<<(1,1,1),(96,1,1),0>>>()',
    );
    check(
      'struct T { static const int B = 96; static constexpr int G = B / 32; }; int main() { k<<<T::G, T::B>>>(); }',
      'k <<<(3,1,1),(96,1,1),0>>>()',
    );
    check(
      'static const int sizes[] = {32, 64, 128}; int main() { k<<<1, sizes[1]>>>(sizes[2]); }',
      'k <<<(1,1,1),(64,1,1),0>>>(128)',
    );
  });
  it('knows sizes of types', () => {
    check(
      'struct P { char c; float4 v; int n[3]; }; int main() { k<<<1, 1>>>(sizeof(P), sizeof(float4), sizeof(double), sizeof(P*)); }',
      'k <<<(1,1,1),(1,1,1),0>>>(48, 16, 8, 8)',
    );
    checkMain(
      'struct __attribute__((packed)) A { char c; int i; }; k<<<1, sizeof(A)>>>();',
      'k <<<(1,1,1),(5,1,1),0>>>()',
    );
    check(
      `#pragma pack(push, 1)
       struct A { char c; int i; };
       #pragma pack(pop)
       struct B { char c; int i; };
       struct C { float x; unsigned a : 2, b : 1, d : 29; };
       struct D { float x; unsigned a : 4, b : 12; char c; };
       struct E { char c; unsigned a : 7, b : 20; short s; };
       int main() { k<<<1, 1>>>(sizeof(A), sizeof(B), sizeof(C), sizeof(D), sizeof(E)); }`,
      'k <<<(1,1,1),(1,1,1),0>>>(5, 8, 8, 8, 12)',
    );
    checkMain('float a[10]; k<<<1, sizeof(a) / sizeof(a[0])>>>();', 'k <<<(1,1,1),(10,1,1),0>>>()');
    checkMain('int n = 3; k<<<1, 1, sizeof n>>>();', 'k <<<(1,1,1),(1,1,1),4>>>()');
  });
  it('keeps what is not known under its name', () => {
    check('void f(int n) { k<<<(n + 255) / 256, 256>>>(n); }', 'k <<<(?,1,1),(256,1,1),0>>>(?n)');
    check('void f(dim3 g, int b) { k<<<g, b>>>(); }', 'k <<<(?g.x,?g.y,?g.z),(?b,1,1),0>>>()');
    check('void f() { k<<<blocks(), BLOCK>>>(); }', 'k <<<(?blocks(),1,1),(?BLOCK,1,1),0>>>()');
    checkMain(
      'cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); k<<<p.multiProcessorCount, p.warpSize>>>();',
      'k <<<(?p.multiProcessorCount,1,1),(32,1,1),0>>>()',
    );
    checkMain(
      'int g, b; cudaOccupancyMaxPotentialBlockSize(&g, &b, k, 0, 0); k<<<g, b>>>();',
      'k <<<(?g,1,1),(?b,1,1),0>>>()',
    );
  });
});
