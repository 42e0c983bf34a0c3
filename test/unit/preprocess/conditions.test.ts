import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Headers, preprocessText, spelled } from './preprocess-text';

/** Whether `#if condition` reads its group. */
function holds(condition: string, before = '', headers: Headers = {}): boolean {
  const result = preprocessText(`${before}\n#if ${condition}\nyes\n#else\nno\n#endif`, headers);
  assert.deepEqual(result.notes, [], condition);
  return spelled(result) === 'yes';
}

function checkTrue(...conditions: string[]): void {
  for (const condition of conditions) assert.equal(holds(condition), true, condition);
}

function checkMalformed(condition: string, why: RegExp): void {
  const result = preprocessText(`#if ${condition}\nyes\n#else\nno\n#endif`);
  assert.equal(spelled(result), 'no');
  assert.match(result.notes[0]?.message ?? '', why);
}

describe('#if', () => {
  it('knows the operators and their precedence', () => {
    checkTrue('1 + 2 * 3 == 7', '(1 + 2) * 3 == 9', '7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1', '1 << 4 >> 2 == 4');
    checkTrue('(5 & 3) == 1 && (5 | 3) == 7 && (5 ^ 3) == 6 && ~0 == -1', '!0 && !!5', '- -1 == 1', '1 | 2 ^ 3 & 2');
    checkTrue('not false and true', '1 or 0', '(5 bitand 4) == 4', '3 not_eq 4', '(1, 2) == 2');
  });

  it('chooses with ? :, from the right', () => {
    checkTrue('(1 ? 2 : 3) == 2', '(0 ? 1 : 0 ? 2 : 3) == 3', '(1 ? 0 ? 1 : 2 : 3) == 2', '1 ? 1 : 0 || 0');
  });

  it('computes in 64 bits, signed and unsigned', () => {
    checkTrue(
      '0x7fffffffffffffff + 1 < 0',
      '-1 > 0u',
      '18446744073709551615u + 1 == 0',
      '-1 >> 1 == -1',
      "1'000 == 01750",
    );
    checkTrue('0b101 == 5', '10ull == 10', '0xFFFFFFFFFFFFFFFF == -1');
  });

  it('knows characters', () => {
    checkTrue(
      "'a' == 97",
      "'\\n' == 10",
      "'\\x41' == 'A'",
      "'\\0' == 0",
      "'ab' == 24930",
      "'\\377' < 0",
      "u'\\u00e9' == 233",
    );
  });

  it('takes an unknown name as 0, also in the form of a call', () => {
    checkTrue('!unknown', 'true && !false', '!__GNUC_PREREQ(4, 8)', '!f');
  });

  it('needs a value only of what decides', () => {
    checkTrue('1 || 1 / 0', '!(0 && 1 % 0)', '1 ? 1 : 1 / 0');
    checkMalformed('1 / 0', /divides by zero/);
    checkMalformed('0 || 1 / 0', /divides by zero/);
  });

  it('answers defined, in macros too', () => {
    const macros = '#define A\n#define HAS_A defined(A)\n#define HAS_B defined B';
    assert.equal(holds('defined A && defined(A) && !defined B && !defined (B)', macros), true);
    assert.equal(holds('HAS_A && !HAS_B', macros), true);
  });

  it('answers __has_include from the host', () => {
    const headers = { 'a.h': '' };
    assert.equal(holds('__has_include("a.h") && __has_include(<a.h>)', '', headers), true);
    assert.equal(holds('!__has_include(<b.h>)', '', headers), true);
    assert.equal(holds('__has_include(NAME)', '#define NAME "a.h"', headers), true);
    assert.equal(holds('defined(__has_include) && !__has_cpp_attribute(x::y)', '', headers), true);
  });

  it('expands macros', () => {
    assert.equal(holds('ARCH >= VERSION(9, 0)', '#define ARCH 900\n#define VERSION(a, b) (a * 100 + b * 10)'), true);
  });

  it('says why a condition has no value, and takes it as false', () => {
    checkMalformed('', /empty/);
    checkMalformed('1 +', /ends too early/);
    checkMalformed('(1', /left open/);
    checkMalformed('1 2', /"2"/);
    checkMalformed('1 ? 2', /left open/);
    checkMalformed('"a"', /"a"/);
    checkMalformed('1.5', /no integer/);
  });

  it('agrees with JavaScript on random sums of products', () => {
    const small = fc.integer({ min: 0, max: 1000 });
    const operator = fc.constantFrom('+', '-', '*', '<', '>=', '==', '&&', '||');
    fc.assert(
      fc.property(small, fc.array(fc.tuple(operator, small), { maxLength: 8 }), (first, rest) => {
        const expression = [first, ...rest.map(([sign, value]) => `${sign} ${value}`)].join(' ');
        // the same grammar of precedences, evaluated by the language this runs in
        const expected = Number(new Function(`return (${expression})`)()) !== 0;
        assert.equal(holds(expression), expected, expression);
      }),
    );
  });
});

/** The text comes down to the tokens, with so many notes. */
function check(text: string, expected: string, notes = 0): void {
  const result = preprocessText(text);
  assert.equal(spelled(result), expected);
  assert.equal(result.notes.length, notes);
}

describe('conditional groups', () => {
  it('reads the first group that holds', () => {
    check('#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif\ne', 'b e');
    check('#if 0\na\n#elif 0\nb\n#else\nd\n#endif\ne', 'd e');
    check('#ifdef X\na\n#elifndef X\nb\n#endif', 'b');
    check('#define X\n#ifndef X\na\n#elifdef X\nb\n#endif', 'b');
  });

  it('steps over nested groups and obeys nothing in them', () => {
    check('#if 0\n#if 1\na\n#else\nb\n#endif\n#define X 1\n#error no\n"open\n#else\nX\n#endif', 'X');
  });

  it('does not evaluate #elif behind a group that was read', () => check('#if 1\na\n#elif 1 / 0\nb\n#endif', 'a'));

  it('survives what has no beginning or no end', () => {
    check('#endif\na\n#else\nb\n#elif 1\nc', 'a b c', 3);
    check('#if 1\na\n#if 0\nb', 'a b', 2);
  });

  it('hides nothing of the edited file behind a condition that is being typed', () => {
    check('a\n#if\nb\n#if 1\nc\n#endif\nd', 'a b c d', 1);
    check('#if 1\na\n#if\nb\n#endif\nc', 'a b c', 1);
    check('a\n#ifdef X\nb', 'a b', 1);
  });

  it('ignores #error, #warning, #line and what it does not know', () => {
    check('#error don\'t\n#warning w\n#line 7\n# 12 "x"\n#\n#frobnicate\n# define A 1\nA', '1');
  });
});
