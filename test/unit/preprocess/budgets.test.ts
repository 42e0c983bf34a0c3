import assert from 'node:assert/strict';
import type { PreprocessBudget } from '../../../server/src/preprocess/token';
import { type Headers, preprocessText, spelled } from './preprocess-text';

/** Generous: the bound wanted is 200 ms on a quiet machine, and without a bound these texts run for hours. */
const timeLimit = 2000;

/** The text is read to its end in time; it comes down to the tokens, and a note says what was left out. */
function checkBounded(text: string, expected: string, note: RegExp | undefined, headers: Headers = {}): void {
  const start = performance.now();
  const result = preprocessText(`${text}\nint after;`, headers);
  const elapsed = performance.now() - start;
  assert.equal(spelled(result), `${expected}int after ;`);
  if (note) assert.match(result.notes[0]?.message ?? '', note);
  else assert.deepEqual(result.notes, []);
  assert.ok(elapsed < timeLimit, `${elapsed} ms`);
}

/** `#define NAME0 base` and so many macros on top, each made of the one below. */
function tower(name: string, base: string, height: number, step: (below: string) => string): string {
  const lines = [`#define ${name}0 ${base}`];
  for (let level = 1; level < height; level++) lines.push(`#define ${name}${level} ${step(`${name}${level - 1}`)}`);
  return lines.join('\n');
}

const nested = (open: string, content: string, close: string, depth: number) =>
  open.repeat(depth) + content + close.repeat(depth);

describe('budgets', () => {
  it('leaves the name of a macro that doubles without end', () => {
    const doubling = tower('A', 'x', 60, (below) => `${below} ${below}`);
    checkBounded(`${doubling}\nA59 y`, 'A59 y ', /A59 expands to more than 100000 tokens/);
    checkBounded(`${doubling}\n${'A59 '.repeat(2000)}`, 'A59 '.repeat(2000), /A59/);
    checkBounded(`#define D(x) x x\n${nested('D(', 'a', ')', 60)} y`, 'D y ', /D expands/);
  });

  it('leaves the name where joined or stringified text doubles without end', () => {
    const join = '#define P(a, b) a ## b\n#define Q(a, b) P(a, b)\n';
    checkBounded(`${join}${tower('S', 'x', 60, (below) => `Q(${below}, ${below})`)}\nS59`, 'S59 ', /S59/);
    const quote = '#define s(x) #x\n#define t(x) s(x)\n';
    checkBounded(`${quote}${tower('S', '"\\\\"', 60, (below) => `t(${below})`)}\nS59`, 'S59 ', /S59/);
  });

  it('places the name at the whole call', () => {
    const text = `#define D(x) x x\n${nested('D(', 'a', ')', 60)};`;
    const { tokens } = preprocessText(text);
    assert.equal(text.slice(tokens.start[0], tokens.end[0]), nested('D(', 'a', ')', 60));
  });

  it('still expands the macros behind a bomb', () => {
    const bomb = nested('D(', 'a', ')', 60);
    checkBounded(`#define D(x) x x\n#define N 4\n${`${bomb}\n`.repeat(300)}N`, `${'D '.repeat(300)}4 `, /D expands/);
  });

  it('ends macros that call each other through their arguments', () => {
    const text = `#define a(x) b(x) b(x)\n#define b(x) c(x) c(x)\n#define c(x) a(a(x)) a(b(x))
      ${nested('a(b(c(', '1', ')))', 12)}`;
    checkBounded(text, 'a ', /a expands/);
  });

  it('takes 20,000 nested parentheses', () => {
    const parentheses = nested('( ', '1 ', ') ', 20_000);
    checkBounded(`#define ID(x) x\nID(${parentheses})`, parentheses, undefined);
    checkBounded(`#if ${parentheses}\nyes\n#endif`, 'yes ', undefined);
    checkBounded(`#if ${nested('1 ? ', '1', ' : 0', 20_000)}\nyes\n#endif`, 'yes ', undefined);
    checkBounded(`#define ID(x) x\n${nested('ID(', '1', ')', 20_000)}`, 'ID ', /nests too deeply/);
    checkBounded(`#define V(...) ${nested('__VA_OPT__(', '', ')', 20_000)}\n`, '', undefined);
  });

  it('takes 20,000 calls that are not closed', () => {
    checkBounded(`#define F(x) x\n${'F( '.repeat(20_000)}`, 'F ( '.repeat(20_000), /not closed/);
  });

  it('takes a chain of 20,000 macros', () =>
    checkBounded(`${tower('A', 'x', 20_000, (below) => below)}\nA19999`, 'x ', undefined));

  it('takes conditions 50,000 deep', () => {
    checkBounded(`${'#if 1\n'.repeat(50_000)}${'#endif\n'.repeat(50_000)}`, '', undefined);
    checkBounded(`${'#if 0\n'.repeat(50_000)}${'#endif\n'.repeat(50_000)}`, '', undefined);
  });

  it('ends files that include themselves', () => {
    checkBounded('#include "h"', '', /nest deeper than 64/, { h: '#include "h"\n#include "h"\n' });
    const big = `#include "h"\n#include "h"\n${'int x;\n'.repeat(20_000)}`;
    const { notes } = preprocessText('#include "h"', { h: big });
    assert.match(notes[0].message, /nest deeper|more than 2000000 tokens/);
  });

  it('keeps to the limits it is given', () => {
    const limited = (text: string, budget: Partial<PreprocessBudget>, headers: Headers = {}) =>
      preprocessText(text, headers, { budget });
    assert.equal(limited('a b c d', { tokens: 2 }).tokens.count, 3);
    assert.equal(spelled(limited('#define T a b c\nT', { expansionTokens: 3 })), 'a b c');
    assert.equal(spelled(limited('#define T(x) x x\nT(a b) c', { expansionTokens: 3 })), 'T c');
    const two = { h: 'x\n#include "i"', i: 'y' };
    assert.equal(spelled(limited('#include "h"', { includeDepth: 1 }, two)), 'x');
    assert.equal(spelled(limited('#include "i"\n#include "i"', { includedFiles: 1 }, two)), 'y');
  });
});
