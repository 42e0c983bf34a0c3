/** How large programs of the host may be that are made into code. */
import assert from 'node:assert/strict';
import { generateHost } from '../../../server/src/host/generate';
import { programFrom } from '../program/program-text';

const lines = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');

const isGenerated = (text: string): boolean => generateHost(programFrom(text), 1000) !== undefined;

describe('the code of a program of the host', () => {
  it('is made however long a straight line is', () => {
    assert.ok(isGenerated(`jump b0\n${lines(12_100, (n) => `b${n}:\n jump b${n + 1}`)}\nb12100:\n exit`));
  });
});
