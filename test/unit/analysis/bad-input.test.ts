/** Whatever is in the editor, an answer comes: soon, without a throw, with a line that says what could not be analysed. */
import assert from 'node:assert/strict';
import type { FileReport } from '../../../server/src/report/report';
import { analyse } from './check-accesses';

const SECONDS = 10;

/** Analyses and checks what holds for every input: time, and that notes are one line each. */
function survive(source: string, files?: Record<string, string>): FileReport {
  const begin = Date.now();
  const report = analyse(source, { files });
  const seconds = (Date.now() - begin) / 1000;
  assert.ok(seconds < SECONDS, `took ${seconds} s`);
  for (const kernel of report.kernels)
    assert.ok(!/^the analysis failed/.test(kernel.problem ?? ''), `${kernel.name}: ${kernel.problem}`);
  const said = [
    ...report.notes.map((n) => n.message),
    ...report.kernels.flatMap((k) => [k.problem ?? 'fine', ...k.skipped.map((s) => s.reason)]),
  ];
  for (const line of said) assert.ok(line.length > 0 && line.length < 400 && !line.includes('\n'), line.slice(0, 500));
  return report;
}

const copy = (name: string): string => `__global__ void ${name}(float* out, const float* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}
`;

/** The kernel was analysed: its two accesses have figures. */
function hasCopy(report: FileReport, name: string): void {
  const kernel = report.kernels.find((k) => k.name === name);
  const known = kernel?.launches[0]?.accesses.filter((a) => a.certainty !== 'unknown') ?? [];
  assert.equal(known.length, 2, `${name}: ${kernel?.problem ?? JSON.stringify(kernel?.skipped ?? 'not found')}`);
}

/** A reason is told somewhere in the report. */
function tells(report: FileReport, pattern: RegExp): void {
  const texts = [
    ...report.notes.map((n) => n.message),
    ...report.kernels.flatMap((k) => [
      k.problem ?? '',
      ...k.skipped.map((s) => s.reason),
      ...k.launches.flatMap((l) => [l.incomplete ?? '', ...l.accesses.map((a) => a.reason ?? '')]),
    ]),
  ];
  assert.ok(
    texts.some((t) => pattern.test(t)),
    `none of\n${[...new Set(texts)].join('\n')}\nmatches ${pattern}`,
  );
}

describe('bad input: texts', function () {
  this.timeout(60_000);

  it('nothing at all', () => {
    assert.equal(survive('').kernels.length, 0);
    assert.equal(survive('\n\n  \t\n').kernels.length, 0);
  });

  it('bytes that are no text', () => {
    let bytes = '';
    for (let i = 0; i < 20_000; i++) bytes += String.fromCharCode((i * 7919 + (i >> 3)) & 255);
    survive(bytes);
    hasCopy(survive(`${copy('k')}\0\x01\x02\xff`), 'k');
  });

  it('byte order mark, CR LF, CR, names that are not ASCII', () => {
    hasCopy(survive(`\ufeff${copy('k')}`), 'k');
    hasCopy(survive(copy('k').replace(/\n/g, '\r\n')), 'k');
    hasCopy(survive(copy('größe_核').replace(/\bi\b/g, 'índice')), 'größe_核');
  });

  it('20 MB', function () {
    this.timeout(120_000);
    const comments = `// ${'x'.repeat(1000)}\n`.repeat(20_000);
    hasCopy(survive(comments + copy('k')), 'k');
  });
});

describe('bad input: preprocessor', function () {
  this.timeout(60_000);

  it('macros that double thirty times', () => {
    let text = '#define A0 x + x\n';
    for (let i = 1; i < 30; i++) text += `#define A${i} A${i - 1} + A${i - 1}\n`;
    const report = survive(`${text}__global__ void bomb(int* p, int x) { p[0] = A29; }\n${copy('k')}`);
    assert.ok(report.notes.length > 0, 'a note says that macros are too large');
  });

  it('a file that includes itself', () => {
    const self = '#include "self.h"\n#include "self.h"\nint n;\n';
    hasCopy(survive(`#include "self.h"\n${copy('k')}`, { 'self.h': self }), 'k');
  });

  it('unfinished directives, literals and comments', () => {
    for (const end of [
      '#if',
      '#if (1',
      '#define',
      '#define F(',
      '#include',
      '#include "x',
      '"abc',
      "'a",
      'R"(',
      '/* x',
      '\\',
    ])
      hasCopy(survive(`${copy('k')}${end}`), 'k');
  });
});

describe('bad input: syntax and depth', function () {
  this.timeout(60_000);

  it('20,000 nested parentheses, braces, brackets, unary operators', () => {
    const deep = (open: string, close: string) =>
      open.repeat(20_000) + (open === '{' ? '' : '1') + close.repeat(20_000);
    for (const [open, close] of ['()', '{}', '[]', '- '].map((p) => [...p]))
      survive(`__global__ void deep(int* p) { p[0] = ${deep(open, close.trim())}; }\n${copy('k')}`);
    hasCopy(survive(`__global__ void deep(int* p) { p[0] = ${deep('(', ')')}; }\n${copy('k')}`), 'k');
  });

  it('unbalanced brackets', () => {
    for (const junk of ['}', '{', ')', '(', ']', '>>>', 'template <', 'struct {', 'namespace a {', 'else {'])
      survive(`${copy('before')}${junk}\n${copy('after')}`);
  });

  it('half-typed code keeps the kernels around it', () => {
    const middle = `template <int TILE> __global__ void middle(float* out, const float* in, int n) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x;
  for (int j = 0; j < TILE; j += blockDim.y) {
    if (x < n && j + threadIdx.y < n) tile[threadIdx.y + j][threadIdx.x] = in[(j + threadIdx.y) * n + x];
  }
  __syncthreads();
  switch (n) { case 1: out[x] = 0; break; default: out[x] = tile[threadIdx.x][threadIdx.y]; }
}
`;
    for (let cut = 0; cut < middle.length; cut += 50) {
      const report = survive(`${copy('before')}${middle.slice(0, cut)}\n${copy('after')}`);
      hasCopy(report, 'before');
      hasCopy(report, 'after');
    }
  });
});

describe('bad input: endless code', function () {
  this.timeout(60_000);

  it('templates that recurse for ever', () => {
    const report = survive(`template <int N> struct Deep { static constexpr int value = Deep<N + 1>::value + 1; };
template <int N> __device__ int down(int x) { return down<N + 1>(x) + x; }
__global__ void types(int* p) { p[Deep<0>::value] = 1; }
__global__ void calls(int* p) { p[down<0>(1)] = 1; }
template <class T> struct Grow { using type = typename Grow<Grow<T>>::type; };
__global__ void aliases(int* p) { Grow<int>::type x; p[x] = 1; }
${copy('k')}`);
    hasCopy(report, 'k');
    tells(report, /nested too deeply|recursive/);
  });

  it('device functions that recurse', () => {
    const report = survive(`__device__ int odd(int n);
__device__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void both(int* p, int n) { p[even(n)] = fib(n); }
${copy('k')}`);
    hasCopy(report, 'k');
    tells(report, /recursive/);
  });

  it('loops that never end', () => {
    const report = survive(`__global__ void spin(int* p) { for (;;) p[threadIdx.x]++; }
__global__ void stuck(int* p, int n) { while (n) { p[threadIdx.x] = n; } }
__global__ void never(int* p) { int i = 0; while (i >= 0) { p[i & 31] = i; i = (i + 1) & 1023; } }
__global__ void jump(int* p) { again: p[0] = 1; goto again; }
${copy('k')}`);
    hasCopy(report, 'k');
    tells(report, /does not end|too long/);
  });

  it('constant loops that cost much and emit nothing', () => {
    const report = survive(`constexpr int waste() {
  int s = 0;
  for (int i = 0; i < 1000; i++) for (int j = 0; j < 1000; j++) for (int l = 0; l < 1000; l++) s ^= l;
  return s;
}
__global__ void slow(int* p) { p[waste()] = 1; }
${copy('k')}`);
    hasCopy(report, 'k');
  });

  it('host code that never ends', () => {
    hasCopy(survive(`${copy('k')}int main() { for (;;) { int i = 0; while (true) i++; k<<<1, 32>>>(0, 0); } }`), 'k');
  });
});

describe('bad input: sizes and launches', function () {
  this.timeout(60_000);

  it('zero, negative and huge arrays', () => {
    for (const size of ['0', '-1', '1 << 30', '2147483647', '1.5', 'n', '1 / 0'])
      survive(
        `__global__ void k(int* p, int n) { __shared__ int s[${size}]; int l[${size}]; l[n] = 1; s[threadIdx.x] = l[n]; p[n] = s[0]; }`,
      );
  });

  it('zero, negative and too large launches are refused, and told', () => {
    for (const [grid, block] of [
      ['0', '32'],
      ['1', '0'],
      ['-1', '32'],
      ['1', '-5'],
      ['1', '2048'],
      ['1', 'dim3(1024, 1024, 64)'],
      ['2147483647', '1024'],
      ['1 / 0', '32'],
    ]) {
      const report = survive(`${copy('k')}int main() { float* p; k<<<${grid}, ${block}>>>(p, p); }`);
      assert.equal(report.kernels.length, 1);
    }
    tells(survive(`${copy('k')}int main() { k<<<1, 2048>>>(0, 0); }`), /2048 threads a block/);
    tells(survive(`${copy('k')}int main() { k<<<0, 32>>>(0, 0); }`), /grid of 0/);
  });

  it('contradictions: missing arguments, wrong types, names used twice', () => {
    survive(`${copy('k')}${copy('k')}int main() { k<<<>>>(); k<<<1>>>(1, 2, 3, 4); k<<<1, 32, -5>>>("a", 'b'); }`);
    survive('__global__ void k(undefined_t u, int (*f)(int), int& r, ...) { u.x[r] = f(u->y)[0]; k<<<1, 1>>>(u); }');
  });
});
