import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parse } from '../../../server/src/parse/parse';
import { TokenKind, type TokenStream } from '../../../server/src/preprocess/token';
import { functionsOf, parseText } from './parse-text';

/** Generous for a busy machine; without bounds these texts take forever or overflow the stack. */
const timeLimit = 3000;

/** The text is read in time, and the function behind it is found. */
function checkQuick(text: string): void {
  const start = performance.now();
  const { unit } = parseText(`${text}\nvoid after() {}`);
  const elapsed = performance.now() - start;
  assert.ok(elapsed < timeLimit, `${elapsed} ms`);
  assert.equal(functionsOf(unit).at(-1)?.name.parts[0].name, 'after');
}

const nested = (open: string, content: string, close: string, depth: number) =>
  open.repeat(depth) + content + close.repeat(depth);

describe('limits', () => {
  it('reads deep nesting of every kind', () => {
    checkQuick(`void f() { x = ${nested('(', '1', ')', 20_000)}; }`);
    checkQuick(`void f() ${nested('{', ';', '}', 5000)}`);
    checkQuick(`void f() { x = ${nested('f(', '1', ')', 20_000)}; }`);
    checkQuick(`void f() { x = ${nested('a[', '1', ']', 20_000)}; }`);
    checkQuick(`int x[] = ${nested('{', '1', '}', 20_000)};`);
    checkQuick(`${nested('A<', 'int', '> ', 5000)} x;`);
    checkQuick(`void f() { ${nested('A<', 'b', '> ', 5000)} x; }`);
    checkQuick(`void f() { x = ${nested('a<', 'b', '>(c) ', 5000)}; }`);
    checkQuick(`void f() { ${nested('if (a) ', ';', '', 20_000)} }`);
    checkQuick(`void f() { ${nested('for (;;) ', ';', '', 20_000)} }`);
    checkQuick(`void f() { ${nested('if (a) ; else ', ';', '', 20_000)} }`);
    checkQuick(`void f() { x = ${nested('[] { return ', '1', '; }', 5000)}; }`);
    checkQuick(`void f() { x = ${nested('(T)', 'y', '', 20_000)}; }`);
    checkQuick(`void f() { x = ${nested('- ', 'y', '', 20_000)}; }`);
    checkQuick(`void f() { x = ${nested('sizeof ', 'y', '', 20_000)}; }`);
    checkQuick(`void f() { x = ${nested('a ? b : ', 'y', '', 20_000)}; }`);
    checkQuick(`void f() { x = ${nested('a ? ', 'y', ' : c', 20_000)}; }`);
    checkQuick(`void f() { ${nested('a = ', 'y', '', 20_000)}; }`);
    checkQuick(nested('namespace a {', '', '}', 5000));
    checkQuick(nested('struct A {', '', '};', 5000));
    checkQuick(`int ${nested('(', 'x', ')', 20_000)};`);
    checkQuick(`int ${nested('(*', 'x', ')', 20_000)};`);
    checkQuick(`int ${nested('*', 'x', '', 20_000)};`);
    checkQuick(`int x${'[1]'.repeat(20_000)};`);
    checkQuick(`void f(${nested('int (*a)(', 'int', ')', 5000)});`);
    checkQuick(`${nested('template <', 'int', '>', 5000)} void f();`);
    checkQuick(`${'template <int> '.repeat(5000)} void f();`);
    checkQuick(nested('extern "C" {', '', '}', 5000));
    checkQuick(`${'operator a::'.repeat(5000)} x;`);
    checkQuick(`${'enum : '.repeat(5000)} x;`);
    checkQuick(`${'struct : '.repeat(5000)} x;`);
    checkQuick(`void f() { ${'throw '.repeat(5000)}; ${'new '.repeat(5000)}; ${'auto l = [a = '.repeat(5000)}; }`);
    checkQuick(`decltype${nested('(decltype', '(1)', ')', 5000)} x;`);
  });

  it('reads long lists and chains', () => {
    checkQuick(`int x[] = {${'1, '.repeat(100_000)}};`);
    checkQuick(`void f() { x = ${'a + '.repeat(10_000)} b; }`);
    checkQuick(`void f() { x = ${'a < '.repeat(10_000)} b; }`);
    checkQuick(`void f() { x = ${'a << b < '.repeat(10_000)} b; }`);
    checkQuick(`void f() { ${'a < b, '.repeat(10_000)} c; }`);
    checkQuick(`void f() { x = a${'.b'.repeat(20_000)}; }`);
    checkQuick(`void f() { x = a${'(b)'.repeat(20_000)}; }`);
    checkQuick(`void f() { x = a${'::b'.repeat(20_000)}; }`);
    checkQuick(`void f() { ${'a = b; '.repeat(30_000)} }`);
    checkQuick(`void f() { f(${'a, '.repeat(50_000)} b); }`);
    checkQuick(`void f(${'int, '.repeat(20_000)} int);`);
    checkQuick('A(b) '.repeat(20_000));
    checkQuick('MACRO '.repeat(20_000));
    checkQuick('MACRO\n'.repeat(20_000));
  });

  it('reads long runs of unmatched brackets', () => {
    for (const bracket of '(){}[]<') checkQuick(`${bracket.repeat(20_000)}\n`);
    checkQuick('void f() {\n  x(\n'.repeat(2000));
    checkQuick('void f( {\n'.repeat(2000));
    checkQuick('}\nnamespace {\n'.repeat(2000));
    checkQuick('struct A {\n  void f() {\n'.repeat(1000));
    checkQuick(`void f() {\n${'  g(a; b;\n'.repeat(3000)}}`);
  });

  const spellings = (
    'a b T int float const auto struct class enum union template typename namespace using typedef operator if else for while do ' +
    'switch case default return goto break __global__ __shared__ __launch_bounds__ sizeof static_cast new delete this decltype ' +
    'requires noexcept extern friend public asm try catch throw 1 2.f "s" \'c\' ( ) [ ] { } < > << >> <<< >>> <= >= >>= , ; : :: . -> ' +
    '... + - * / % & && | || ! ~ ^ = += ? ++ -- -> ->* .* #'
  ).split(' ');

  function kindOf(text: string): number {
    if (/^[A-Za-z_]/.test(text)) return TokenKind.identifier;
    if (/^\d/.test(text)) return TokenKind.number;
    if (text[0] === '"') return TokenKind.string;
    if (text[0] === "'") return TokenKind.character;
    return text === '#' ? TokenKind.unknown : TokenKind.punctuator;
  }

  /** A token stream straight from spellings; every token of four begins a line. */
  function streamOf(texts: readonly string[]): TokenStream {
    const count = texts.length + 1;
    const source = [...texts, ''].join('\n');
    const start = Int32Array.from({ length: count }, (_, i) => texts.slice(0, i).join('\n').length + (i > 0 ? 1 : 0));
    return {
      count,
      text: [...texts, ''],
      kind: Uint8Array.from({ length: count }, (_, i) => (i < texts.length ? kindOf(texts[i]) : TokenKind.endOfFile)),
      flags: Uint8Array.from({ length: count }, (_, i) => (i % 4 === 0 ? 3 : 2)),
      file: new Int32Array(count),
      start,
      end: start.map((s, i) => s + (texts[i]?.length ?? 0)),
      expansion: new Int32Array(count).fill(-1),
      expansions: [],
      files: [{ path: 'a.cu', text: source, lineStarts: new Int32Array(1) }],
    };
  }

  /** Every node lies within its parent, and within the tokens. */
  function checkRanges(value: unknown, low: number, high: number): void {
    if (value instanceof Set || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) checkRanges(item, low, high);
      return;
    }
    const node = value as { first?: number; last?: number };
    if (typeof node.first === 'number' && typeof node.last === 'number') {
      assert.ok(node.first >= 0 && node.last <= high && node.first <= node.last, `${node.first}..${node.last}`);
    }
    for (const item of Object.values(value)) checkRanges(item, low, high);
  }

  it('never throws on token soup, gives ranges within the text, and ends quickly', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...spellings), { maxLength: 120 }), (texts) => {
        const start = performance.now();
        const unit = parse(streamOf(texts), []);
        assert.ok(performance.now() - start < timeLimit);
        checkRanges(unit.declarations, 0, texts.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('a loop header that ends before its first expression has ranges too', () => {
    const texts = ['for', '('];
    const unit = parse(streamOf(['void', 'f', '(', ')', '{', ...texts, '}', 'int', 'x', ';']), []);
    checkRanges(unit.declarations, 0, texts.length + 9);
  });

  it('never throws on token soup inside a function', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...spellings), { maxLength: 80 }), (texts) => {
        const unit = parse(streamOf(['void', 'f', '(', ')', '{', ...texts, '}', 'int', 'x', ';']), []);
        checkRanges(unit.declarations, 0, texts.length + 9);
      }),
      { numRuns: 2000 },
    );
  });
});
