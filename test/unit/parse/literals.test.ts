import assert from 'node:assert/strict';
import { readCharacter, readNumber, readString } from '../../../server/src/parse/literals';

function check(text: string, expected: string): void {
  const literal = readNumber(text);
  assert.equal(literal && `${literal.value} ${literal.type}`, expected);
}

describe('literals', () => {
  it('gives integers the type that C++ gives them', () => {
    check('0', '0 int');
    check('42', '42 int');
    check("1'000'000", '1000000 int');
    check('2147483647', '2147483647 int');
    check('2147483648', '2147483648 long');
    check('0x7fffffff', '2147483647 int');
    check('0x80000000', '2147483648 unsigned int');
    check('0xffffffff', '4294967295 unsigned int');
    check('0x100000000', '4294967296 long');
    check('0xffffffffffffffff', '18446744073709551615 unsigned long');
    check('017', '15 int');
    check('0b101', '5 int');
    check('1u', '1 unsigned int');
    check('1U', '1 unsigned int');
    check('1l', '1 long');
    check('1UL', '1 unsigned long');
    check('1LL', '1 long long');
    check('1ull', '1 unsigned long long');
    check('1LLU', '1 unsigned long long');
    check('4294967296u', '4294967296 unsigned long');
    check('1uz', '1 unsigned long');
    check('3_cm', '3 int');
    check('5ms', '5 int');
    check('24h', '24 int');
  });

  it('reads floating literals', () => {
    check('1.', '1 double');
    check('.5f', '0.5 float');
    check('1e3', '1000 double');
    check('1.5E-2F', '0.015 float');
    check('2.0L', '2 long double');
    check('0x1.8p1', '3 double');
    check('0x1p-2f', '0.25 float');
    check('1e5_x', '100000 double');
  });

  it('takes nothing malformed', () => {
    for (const text of ['089', '1.2.3', '0x', '1e', '1fx', '0b12', '.', `1${'0'.repeat(1000)}`]) {
      assert.equal(readNumber(text), undefined, text);
    }
  });

  it('resolves characters', () => {
    assert.deepEqual(readCharacter("'a'"), { value: 97n, type: 'char' });
    assert.deepEqual(readCharacter("'\\n'"), { value: 10n, type: 'char' });
    assert.deepEqual(readCharacter("'\\0'"), { value: 0n, type: 'char' });
    assert.deepEqual(readCharacter("'\\x41'"), { value: 65n, type: 'char' });
    assert.deepEqual(readCharacter("'\\xff'"), { value: -1n, type: 'char' });
    assert.deepEqual(readCharacter("'\\''"), { value: 39n, type: 'char' });
    assert.deepEqual(readCharacter("L'x'"), { value: 120n, type: 'wchar_t' });
    assert.deepEqual(readCharacter("'ab'"), { value: 24930n, type: 'int' });
    assert.deepEqual(readCharacter("'"), { value: 0n, type: 'char' });
  });

  it('resolves strings', () => {
    assert.equal(readString('"a\\tb\\"c\\\\"'), 'a\tb"c\\');
    assert.equal(readString('"\\101\\u0042\\U00000043"'), 'ABC');
    assert.equal(readString('L"x"'), 'x');
    assert.equal(readString('R"(a\\n")"'), 'a\\n"');
    assert.equal(readString('u8R"xy(a)")xy"'), 'a)"');
    assert.equal(readString('"unfinished'), 'unfinished');
  });
});
