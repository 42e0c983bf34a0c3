import { strict as assert } from 'node:assert';
import * as fc from 'fast-check';
import { ExpressionTable, operationKey } from '../../../server/src/program/expression-table';

/** The same with a list of maps, one a region, looked through from the innermost outwards. */
class Regions {
  private maps = [new Map<string, number>()];
  find(key: string): number {
    for (const map of [...this.maps].reverse()) {
      const known = map.get(key);
      if (known !== undefined) return known;
    }
    return -1;
  }
  add(key: string, register: number): void {
    this.maps[this.maps.length - 1].set(key, register);
  }
  enter(): void {
    this.maps.push(new Map());
  }
  leave(): void {
    this.maps.pop();
  }
  clear(): void {
    for (const map of this.maps) map.clear();
  }
}

type Step =
  | { readonly kind: 'enter' | 'leave' | 'clear' }
  | { readonly kind: 'use'; readonly expression: readonly [number, number, number, number] };

const small = fc.integer({ min: -1, max: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('use' as const), expression: fc.tuple(small, small, small, small) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('enter' as const, 'leave' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const) }) },
);

describe('expression table', () => {
  it('knows what the regions around a place computed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 3000, size: 'max' }), (steps) => {
        const table = new ExpressionTable();
        const expected = new Regions();
        let open = 0;
        let next = 0;
        for (const s of steps) {
          if (s.kind === 'use') {
            const key = s.expression.join();
            const found = table.find(...s.expression);
            assert.equal(found, expected.find(key));
            if (found >= 0) continue;
            table.add(...s.expression, next);
            expected.add(key, next++);
          } else if (s.kind === 'clear') {
            table.clear();
            expected.clear();
          } else if (s.kind === 'enter' || open > 0) {
            open += s.kind === 'enter' ? 1 : -1;
            table[s.kind]();
            expected[s.kind]();
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('tells operations, functions and types apart', () => {
    const keys = [
      operationKey('unary', 'neg', 'i32'),
      operationKey('unary', 'neg', 'i64'),
      operationKey('unary', 'mov', 'i32'),
      operationKey('binary', 'add', 'i32'),
      operationKey('binary', 'sub', 'i32'),
      operationKey('compare', 'lt', 'i32'),
      operationKey('select', '', 'i32'),
      operationKey('fma', '', 'f32'),
      operationKey('convert', '', 'i64', 'i32'),
      operationKey('convert', '', 'i64', 'u32'),
      operationKey('convert', '', 'i32', 'i64'),
    ];
    assert.equal(new Set(keys).size, keys.length);
    assert.equal(operationKey('binary', 'add', 'i32'), keys[3]);
  });
});
