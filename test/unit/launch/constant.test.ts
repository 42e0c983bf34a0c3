import assert from 'node:assert/strict';
import { type ConstantScope, evaluateConstant, prepareConstants } from '../../../server/src/launch/constant';
import { parse } from '../../../server/src/parse/parse';
import { preprocess } from '../../../server/src/preprocess/preprocess';
import { showValue } from './support';

/** Value of `result` in a text of declarations. */
function check(text: string, expression: string, expected: string, scope: Partial<ConstantScope> = {}): void {
  const source = preprocess({
    path: 'test.cu',
    text: `${text}\nauto result_ = ${expression};`,
    defines: new Map(),
    include: () => undefined,
  });
  const unit = parse(source.tokens, source.pragmas);
  const last = unit.declarations.at(-1);
  assert.ok(last?.kind === 'variable' && last.initializer?.form === 'assign');
  const value = evaluateConstant(last.initializer.value, { ...scope, unit: prepareConstants(unit) });
  assert.equal(showValue(value), expected);
}

describe('constant expressions', () => {
  it('see the unit', () => {
    check('constexpr int a = 4; enum { B = 3 };', 'a * B + sizeof(float4)', '28');
    check('constexpr int log2i(int n) { int r = 0; while (n >>= 1) ++r; return r; }', 'log2i(1000)', '9');
    check(
      'template <int N> struct S { static constexpr int twice = 2 * N; enum { half = N / 2 }; };',
      'S<6>::twice + S<6>::half',
      '15',
    );
    check('template <typename T> constexpr int per16() { return 16 / sizeof(T); }', 'per16<short>()', '8');
    check(
      'template <typename T> constexpr int width = 1; template <typename T, typename U> struct same { static constexpr bool value = false; }; template <typename T> struct same<T, T> { static constexpr bool value = true; };',
      'same<int, int>::value * 2 + same<int, float>::value',
      '2',
    );
    check('constexpr int table[4] = {1, 2, 4, 8};', 'table[2] + table[3]', '12');
  });
  it('see what the caller supplies', () => {
    check('', 'N * 2', '10', { values: new Map([['N', { kind: 'number', value: 5, type: 'int' }]]) });
    check('', 'sizeof(T)', '8', {
      types: new Map([
        ['T', { kind: 'builtin', name: 'double', isConst: false, isVolatile: false, first: 0, last: 0 }],
      ]),
    });
    check('namespace a { constexpr int n = 3; } constexpr int n = 4;', 'n', '3', { namespaces: ['a'] });
  });
  it('are unknown where they are not constant', () => {
    check('extern int n; int f();', 'n + f()', '?');
  });
});
