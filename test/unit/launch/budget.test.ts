import assert from 'node:assert/strict';
import fc from 'fast-check';
import { check, checkMain, launchesOf } from './support';

describe('budgets', () => {
  it('end endless loops and recursion', () => {
    checkMain('while (true) { } k<<<1, 32>>>();', 'k <<<(1,1,1),(32,1,1),0>>>()');
    checkMain('for (;;) { k<<<1, 32>>>(); }', 'k <<<(1,1,1),(32,1,1),0>>>()');
    check('int f(int n) { return f(n + 1); } int main() { k<<<1, f(0)>>>(); }', 'k <<<(1,1,1),(?f(n+1),1,1),0>>>()');
    check(
      'void q(int n) { if (n < 0) return; q(n - 1); q(n - 2); q(n - 3); } void f(int n) { q(n); k<<<1, 32>>>(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    check(
      'template <int N> struct T { static const int v = T<N + 1>::v; }; int main() { k<<<1, 32>>>(T<0>::v); }',
      'k <<<(1,1,1),(32,1,1),0>>>(?v)',
    );
  });
  it('still report a launch they do not come to', () => {
    const busy = 'int x = 1; for (int i = 0; i < 400; i++) for (int j = 0; j < 400; j++) x = x * 3 + j;'.repeat(3);
    const text = `__global__ void k(int);\nint main() { ${busy} int b = 64; k<<<1, b>>>(3); }`;
    assert.deepEqual(
      launchesOf(text, {}, 200).map((launch) => launch.block[0]),
      [{ kind: 'number', value: 64, type: 'unsigned int' }],
    );
  });
  it('are not used up by a reference on the host, however deep its loops are nested', () => {
    const nest = Array.from({ length: 8 }, (_, i) => `for (int i${i} = 0; i${i} < 40; ++i${i})`).join(' ');
    check(
      `float reference(float* a) { float s = 0; ${nest} { s += a[i0 + i7]; if (s > 3) s -= a[i1]; } return s; }
      int main() { float* h = (float*)malloc(400); float want = reference(h); for (int r = 0; r < 2; r++) want += reference(h);
        int n = 5 * 7; k<<<n, 64>>>(n); }`,
      'k <<<(35,1,1),(64,1,1),0>>>(35)',
    );
  });
  it('hold for large arrays that every launch passes', () => {
    const text = `__constant__ float m[2048][2048]; float h[2048][2048]; __global__ void k(int);
      int main() { h[0][0] = 1; cudaMemcpyToSymbol(m, h, sizeof(h)); for (int i = 0; i < 1000; i++) k<<<1, 32>>>(i); }`;
    const [launch] = launchesOf(text);
    assert.equal(launch.symbols.get('m')?.kind, 'unknown');
  });
  it('hold for containers of containers of containers', () => {
    const text = `#include <vector>
      __global__ void k(int);
      int main() { int n = 256; std::vector<std::vector<std::vector<double>>> v(n, std::vector<std::vector<double>>(n, std::vector<double>(n, 1.)));
        v = std::vector<std::vector<std::vector<double>>>(n, std::vector<std::vector<double>>(n, std::vector<double>(n, 0.))); k<<<1, n>>>(n); }`;
    const begin = process.cpuUsage().user;
    assert.equal(launchesOf(text)[0]?.block[0].kind, 'number');
    assert.ok(process.cpuUsage().user - begin < 3_000_000);
  });
  it('hold for deep nesting', () => {
    const deep = `${'('.repeat(3000)}1${')'.repeat(3000)}`;
    assert.equal(launchesOf(`__global__ void k(int);\nint main() { int n = ${deep}; k<<<1, 32>>>(n); }`).length, 1);
    const sum = Array.from({ length: 3000 }, () => '1').join(' + ');
    assert.equal(launchesOf(`__global__ void k(int);\nint main() { int n = ${sum}; k<<<1, 32>>>(n); }`).length, 1);
  });
});

describe('any text', () => {
  const words = fc.constantFrom(
    ...'int main ( ) { } [ ] ; , < > <<< >>> * & + - / % = == ! ? : :: . -> n a k 0 1 256 1.5f "s" dim3 struct S T template typename if else for while do switch case default break continue return auto new sizeof float __global__ void cudaMalloc operator using namespace enum const [] { 1 2 } this lambda [&] ... ++ -- << >> && ||'.split(
      ' ',
    ),
  );
  it('gives an answer', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 80 }), (soup) => {
        launchesOf(soup.join(' '), {}, 5000);
        launchesOf(
          `__global__ void k(int n) {} int main(int argc, char** argv) { int n = 3; ${soup.join(' ')} ; k<<<n, 32>>>(n); }`,
          {},
          5000,
        );
      }),
      { numRuns: 150 },
    );
  });
});
