import assert from 'node:assert/strict';
import { parseText } from './parse-text';

/** The source text of every node with the given kind, in the order of the tree. */
function check(source: string, kind: string, expected: readonly string[]): void {
  const { unit, tokens } = parseText(source);
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof Set) return;
    if (Array.isArray(value)) {
      value.forEach(visit);
      return;
    }
    const node = value as { kind?: string; first?: number; last?: number };
    if (node.kind === kind && node.first !== undefined && node.last !== undefined) {
      found.push(source.slice(tokens.start[node.first], tokens.end[node.last]));
    }
    Object.values(value).forEach(visit);
  };
  visit(unit.declarations);
  assert.deepEqual(found, expected);
}

describe('positions', () => {
  it('spans expressions exactly', () => {
    const source = 'void f() { x = a + b * (c - 1); p[i]->q(r, s)++; (T*)y; z ? u : v; }';
    check(source, 'binary', ['a + b * (c - 1)', 'b * (c - 1)', '(c - 1)']);
    check(source, 'index', ['p[i]']);
    check(source, 'member', ['p[i]->q']);
    check(source, 'call', ['p[i]->q(r, s)']);
    check(source, 'unary', ['p[i]->q(r, s)++']);
    check(source, 'cast', ['(T*)y']);
    check(source, 'conditional', ['z ? u : v']);
    check(source, 'assign', ['x = a + b * (c - 1)']);
    check(source, 'integer', ['1']);
  });

  it('spans statements with their semicolons', () => {
    const source = 'void f() { if (a) { b; } else c; for (;;) d; int e = 1, g; return h; do i; while (j); }';
    check(source, 'if', ['if (a) { b; } else c;']);
    check(source, 'for', ['for (;;) d;']);
    check(source, 'expression', ['b;', 'c;', 'd;', 'i;']);
    check(source, 'declaration', ['int e = 1, g;']);
    check(source, 'variable', ['int e = 1', 'g']);
    check(source, 'return', ['return h;']);
    check(source, 'do', ['do i; while (j);']);
    check(source, 'compound', [
      '{ if (a) { b; } else c; for (;;) d; int e = 1, g; return h; do i; while (j); }',
      '{ b; }',
    ]);
  });

  it('spans declarations', () => {
    const source = 'template <int N> __global__ void k(int* a) { }\nstruct A : B { int x; };\nA<B<int>> y;';
    check(source, 'function', ['template <int N> __global__ void k(int* a) { }']);
    check(source, 'record', ['struct A : B { int x; };']);
    check(source, 'pointer', ['int*']);
    check(source, 'named', ['B', 'A<B<int>>', 'B<int>>']);
  });

  it('points at the names of functions and variables', () => {
    const { unit, tokens } = parseText('template <> __global__ void n::k<4>(int a) {} float* x = 0;');
    const names = unit.declarations.map((d) => ('nameToken' in d ? tokens.text[d.nameToken] : ''));
    assert.deepEqual(names, ['k', 'x']);
  });

  it('collects the identifiers that a function mentions', () => {
    const { unit } = parseText('template <typename T> __global__ void k(T* a) { if (b) a[c.d] = E<f>::g(1); } int h;');
    const [k] = unit.declarations;
    assert.deepEqual(k.kind === 'function' && [...k.mentions], ['T', 'k', 'a', 'b', 'c', 'd', 'E', 'f', 'g']);
  });
});
