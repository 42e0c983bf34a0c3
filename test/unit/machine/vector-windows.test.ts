/** Windows as nvcc 13.0 makes them (PTX of small kernels, sm_90): `v4@0 v1@8` is elements 0 … 3 at once, and element 8 alone. */
import assert from 'node:assert/strict';
import { copyWindows, loadWindows, storeWindows, type Window } from '../../../server/src/machine/vector-windows';

function check(find: typeof loadWindows, elements: string, size: number, alignment: number, expected: string): void {
  const offsets = [...elements].map((element) => Number(element) * size);
  const show = ({ start, width }: Window) => `v${width / size}@${start / size}`;
  const windows = find(offsets, size, { modulus: alignment, remainder: 0 });
  assert.equal(windows.map(show).join(' '), expected, `${elements}, ${size} bytes each, aligned to ${alignment}`);
}

describe('vector windows', () => {
  it('of loads: small gaps are filled where the alignment is known', () => {
    const loads: readonly (readonly [elements: string, size: number, alignment: number, expected: string])[] = [
      ['0123', 4, 16, 'v4@0'],
      ['0123', 4, 8, 'v2@0 v2@2'],
      ['0123', 4, 4, 'v1@0 v1@1 v1@2 v1@3'],
      ['02', 4, 16, 'v4@0'],
      ['03', 4, 16, 'v4@0'],
      ['04', 4, 16, 'v1@0 v1@4'],
      ['012', 4, 16, 'v4@0'],
      ['123', 4, 16, 'v1@1 v2@2'],
      ['02', 4, 8, 'v2@0 v1@2'],
      ['013', 4, 8, 'v2@0 v1@3'],
      ['014', 4, 16, 'v2@0 v1@4'],
      ['24', 4, 16, 'v2@2 v1@4'],
      ['2345', 4, 16, 'v2@2 v2@4'],
      ['456', 4, 16, 'v4@4'],
      ['036', 4, 16, 'v4@0 v1@6'],
      ['01234567', 2, 16, 'v8@0'],
      ['0123456', 2, 16, 'v8@0'],
      ['01234', 2, 16, 'v8@0'],
      ['012345', 2, 16, 'v4@0 v2@4'],
      ['024', 2, 16, 'v8@0'],
      ['01234567', 2, 4, 'v2@0 v2@2 v2@4 v2@6'],
      ['0123', 1, 4, 'v4@0'],
      ['13', 1, 8, 'v1@1 v1@3'],
      ['01', 8, 16, 'v2@0'],
    ];
    for (const [elements, size, alignment, expected] of loads) check(loadWindows, elements, size, alignment, expected);
  });

  it('of stores: exactly what is written', () => {
    const stores: readonly (readonly [elements: string, size: number, alignment: number, expected: string])[] = [
      ['0123', 4, 16, 'v4@0'],
      ['013', 4, 16, 'v2@0 v1@3'],
      ['02', 4, 16, 'v1@0 v1@2'],
      ['12', 4, 16, 'v1@1 v1@2'],
      ['2345', 4, 16, 'v2@2 v2@4'],
      ['012345', 2, 16, 'v4@0 v2@4'],
      ['456', 1, 8, 'v2@4 v1@6'],
    ];
    for (const [elements, size, alignment, expected] of stores)
      check(storeWindows, elements, size, alignment, expected);
  });

  it('of copied records: whole pieces of their alignment', () => {
    const copies: readonly (readonly [elements: string, size: number, alignment: number, expected: string])[] = [
      ['23', 2, 16, 'v8@0'],
      ['07', 4, 8, 'v2@0 v2@6'],
      ['04', 4, 16, 'v4@0 v4@4'],
      ['012', 1, 4, 'v4@0'],
    ];
    for (const [elements, size, alignment, expected] of copies) {
      check((offsets, _, base) => copyWindows(offsets, alignment, base), elements, size, alignment, expected);
    }
  });
});
