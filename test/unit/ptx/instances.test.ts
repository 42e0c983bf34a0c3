/** Which instance of a template an entry is, where packs and templates are among its arguments. */
import assert from 'node:assert/strict';
import { matchKernel } from '../../../server/src/compiler/match-kernels';
import { findEntry } from '../../../server/src/ptx/find-entry';
import { parsePtx } from '../../../server/src/ptx/parse';

const mangled = [
  '_Z5applyI7ScaleOpJPfPKfEEvT_iDpT0_',
  '_Z5applyI7ShiftOpJEEvT_iDpT0_',
  '_Z7map_vecI4HalfhLi8EEvPKT0_PS1_i',
  '_Z7map_vecI4RelufLi1EEvPKT0_PS1_i',
  '_Z7map_vecI4RelufLi4EEvPKT0_PS1_i',
];
const text = `.version 8.0\n.target sm_90\n.address_size 64\n${mangled.map((name) => `.visible .entry ${name}()\n{\nret;\n}\n`).join('')}`;

const cases: readonly (readonly [string, string, readonly string[], string])[] = [
  ['a pack of several', 'apply', ['ScaleOp', 'float*,float*'], mangled[0]],
  ['an empty pack', 'apply', ['ShiftOp', ''], mangled[1]],
  ['a template among others', 'map_vec', ['Half<?>', 'unsigned char', '8'], mangled[2]],
  ['a template, and a number that tells them apart', 'map_vec', ['Relu<?>', 'float', '4'], mangled[4]],
];

describe('instances of a template in PTX', () => {
  for (const [what, name, given, entry] of cases)
    it(`are found by ${what}`, () => {
      assert.equal(findEntry(parsePtx(text), name, given)?.name, entry);
      const compiled = mangled.map((each) => ({ mangled: each }));
      assert.equal(matchKernel(compiled, name, given)?.mangled, entry);
    });
});
