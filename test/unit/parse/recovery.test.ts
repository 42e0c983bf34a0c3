import assert from 'node:assert/strict';
import { functionsOf, parseText } from './parse-text';

/** Names of the functions of a text, broken ones with a `!`; declarations without body with a `;`. */
function functions(text: string): string {
  return functionsOf(parseText(text).unit)
    .map((f) => `${f.name.parts.at(-1)?.name}${f.broken ? '!' : ''}${f.body ? '' : ';'}`)
    .join(' ');
}

function check(text: string, expected: string): void {
  assert.equal(functions(text), expected);
}

const before = `#include <cstdio>
struct Pair { int a, b; };
__constant__ float table[4];

template <typename T, int N>
__device__ T sum(const T* a) {
  T s = 0;
  for (int i = 0; i < N; ++i) {
    s += a[i];
  }
  return s;
}

__global__ void first(float* a, int n) {
  int i = threadIdx.x;
  if (i < n) {
    a[i] = 0;
  }
}

`;

const victim = `template <typename T, int N = 4, template <class> class C>
__global__ void __launch_bounds__(256, 2) victim(const T* __restrict__ a, float (*b)[4], int n) {
  __shared__ float tile[32][33];
  int i = blockIdx.x * blockDim.x + threadIdx.x; // where
  #pragma unroll
  for (int j = 0; j < n; ++j) {
    switch (j) {
      case 1: b[i][0] = sum<float, 4>(a + i); break;
      default: { asm volatile("bar.sync %0;" :: "r"(j)); }
    }
  }
  auto f = [&](int k) { return tile[k][(i + 1) % 32]; };
  while (i > 0) { i -= f(i) < 0.f ? 1 : 2; }
  if (i == 0) b[i][1] = static_cast<float>(a[i]); else { b[i][2] = 'x'; }
  Pair p = {i, {n}};
}
`;

const afterKernel = `
__global__ void second(float* a, int n) {
  if (threadIdx.x < n) {
    a[threadIdx.x] = table[0];
  }
}

template <int N>
__global__ void third(int* a) {
  a[N] = 1;
}
`;

const afterFunction = `
static float helper(float x) {
  return x * 2;
}
${afterKernel}
int main() {
  second<<<1, 32>>>(nullptr, 0);
  return 0;
}
`;

const afterInNamespace = `
struct Later {
  int a;
  __device__ int get() const { return a; }
};
namespace inner {
${afterKernel}
}
`;

/** Whether the named functions are all there, unbroken. */
function intact(text: string, names: readonly string[]): boolean {
  const found = ` ${functions(text)} `;
  return names.every((name) => found.includes(` ${name} `));
}

/** Cuts the victim at every character; how many of the cuts leave all other functions as they are. */
function survey(
  head: string,
  tail: string,
  names: readonly string[],
): { readonly cuts: number; readonly lost: string[] } {
  const lost: string[] = [];
  for (let cut = 0; cut <= victim.length; cut++) {
    const text = `${head}${victim.slice(0, cut)}${tail}`;
    if (!intact(text, names))
      lost.push(`${JSON.stringify(victim.slice(Math.max(0, cut - 30), cut))}: ${functions(text)}`);
  }
  return { cuts: victim.length + 1, lost };
}

/** A line typed in the middle of a kernel that is otherwise whole. */
function typed(line: string): string {
  return `${before}__global__ void victim(float* a, int n) {\n  int i = threadIdx.x;\n  ${line}\n  a[i] = n;\n}\n${afterFunction}`;
}

const others = ['sum', 'first', 'second', 'third', 'helper', 'main'];

describe('recovery', () => {
  it('keeps every other kernel when one breaks off at any character and a kernel follows', () => {
    const { lost } = survey(before, afterKernel, ['sum', 'first', 'second', 'third']);
    assert.deepEqual(lost, []);
  });

  it('keeps them when a plain function follows', () => {
    const { lost } = survey(before, afterFunction, others);
    assert.deepEqual(lost, []);
  });

  it('keeps them when a record and a namespace follow', () => {
    const { lost } = survey(before, afterInNamespace, ['sum', 'first', 'second', 'third', 'get']);
    assert.deepEqual(lost, []);
  });

  it('keeps them inside a namespace', () => {
    const { lost } = survey(`namespace n {\n${before}`, `${afterFunction}\n}\n`, others);
    assert.deepEqual(lost, []);
  });

  it('keeps them when one character of the kernel is missing', () => {
    const lost: string[] = [];
    for (let i = 0; i < victim.length; i++) {
      const text = `${before}${victim.slice(0, i)}${victim.slice(i + 1)}${afterFunction}`;
      if (!intact(text, others)) lost.push(`${i} ${victim.slice(i, i + 20)}: ${functions(text)}`);
    }
    assert.deepEqual(lost, []);
  });

  it('keeps them when a bracket too many stands anywhere in the body', () => {
    const lost: string[] = [];
    const start = victim.indexOf('{\n') + 1;
    for (let i = start; i < victim.length - 2; i += 5) {
      for (const bracket of '(){}[]') {
        const text = `${before}${victim.slice(0, i)}${bracket}${victim.slice(i)}${afterFunction}`;
        if (!intact(text, others))
          lost.push(`${bracket} at ${JSON.stringify(victim.slice(i, i + 20))}: ${functions(text)}`);
      }
    }
    assert.deepEqual(lost, []);
  });

  it('loses only the kernel in which a statement is unfinished', () => {
    for (const line of [
      'for (int i = 0; i <',
      'for (int i = 0; i < n; i++) {',
      'if (a[i] ==',
      'a[i',
      'a[i] = (n + ',
      'a[i] = __ldg(&a[',
      'float x = ,',
      'while (',
      'printf("',
      'auto f = [&](int k) {',
      'switch (n) {',
      'sum<float,',
      '}',
      '})',
      ')',
      'else {',
      'do {',
    ]) {
      const text = typed(line);
      assert.ok(intact(text, others), `${line}: ${functions(text)}`);
      assert.ok(/ victim!/.test(functions(text)), `${line}: ${functions(text)}`);
    }
  });

  it('keeps statements around one that is not understood', () => {
    const { unit } = parseText('void f() { a = 1; b = = 2; c = 3; }');
    const kinds = functionsOf(unit)[0].body?.body.map((s) => s.kind);
    assert.deepEqual(kinds, ['expression', 'expression', 'expression']);
    assert.deepEqual(
      unit.notes.map((n) => n.message),
      ["an expression was expected before '='"],
    );
  });

  it('says what is missing', () => {
    const messages = (text: string) => parseText(text).unit.notes.map((n) => n.message);
    assert.deepEqual(messages('void f() { a = 1\n b = 2; }'), ["';' is missing before 'b'"]);
    assert.deepEqual(messages('void f() { int a = 1\n int b; }'), ["';' is missing behind this declaration"]);
    assert.deepEqual(messages('void f() { g(a, b; }'), ["this '(' is never closed"]);
    assert.deepEqual(messages('int a\nint b;'), ["';' is missing behind this declaration"]);
    assert.deepEqual(messages('void f() { }\n}\n'), ["this '}' closes nothing"]);
  });

  it('goes on with the next declaration', () => {
    check('int a = ;\nvoid f() {}', 'f');
    check('struct { int\n};\nvoid f() {}', 'f');
    check('int int x;\nvoid f() {}', 'f');
    check('template <typename\nvoid f() {}', 'f');
    check('foo bar baz qux;\nvoid f() {}', 'f');
    check('namespace\nvoid f() {}', 'f');
    check('using\nvoid f() {}', 'f');
    check('typedef int\nvoid f() {}', 'f');
    check('class A {\n  void g() {}\n  int a\n\nvoid f() {\n}\n', 'g f');
    check('int a[;\nvoid f() {}', 'f');
    check('enum A { x, y\nvoid f() {}\n', 'f');
  });

  it('does not take code without indentation for broken', () => {
    check('void f() {\nif (a) {\nint b;\n}\n}\nvoid g() {\n}\n', 'f g');
    check('void f()\n{\nfor (;;)\n{\nstatic int b;\n}\n}\nvoid g()\n{\n}\nvoid h() {\n', 'f g h!');
  });

  it('marks functions that hold something unknown', () => {
    check('void f() { a = ; } void g() { a = 1; }', 'f! g');
    check('struct A { void f() { a = ; } void g() { a = 1; } };', 'f! g');
    check('void f() { LOOP(i, n) { a = 1; } }', 'f!');
  });
});
