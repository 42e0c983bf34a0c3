import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { demangle } from '../../../server/src/ptx/demangle';
import { findEntry } from '../../../server/src/ptx/find-entry';
import { demangledName } from '../../../server/src/ptx/names';
import { parsePtx } from '../../../server/src/ptx/parse';

/** Names of kernels as nvcc mangles them, with what they stand for. */
const names: readonly (readonly [string, string])[] = [
  ['_Z12transposeXorPKfPfi', 'transposeXor(float const*, float*, int)'],
  ['_Z16transposeGuardedILi32ELi8EEvPKfPfii', 'void transposeGuarded<32, 8>(float const*, float*, int, int)'],
  ['_ZN3app6kernel3runEv', 'app::kernel::run()'],
  ['_Z15transposeFloat4PK6float4PS_i', 'transposeFloat4(float4 const*, float4*, int)'],
  [
    '_Z7zipWithI3FmaJfffEEvPfiT_DpPKT0_',
    'void zipWith<Fma, float, float, float>(float*, int, Fma, float const*, float const*, float const*)',
  ],
  ['_Z5slideILi6EEv6WindowIXT_EEPfi', 'void slide<6>(Window<6>, float*, int)'],
  ['_Z7forEachIZ4mainEUliE_EviT_', 'void forEach<main::{lambda(int)#1}>(int, main::{lambda(int)#1})'],
  ['_Z4fillIhLb1EEvPT_S0_', 'void fill<unsigned char, true>(unsigned char*, unsigned char)'],
  ['_ZN12_GLOBAL__N_15localEPi', '(anonymous namespace)::local(int*)'],
];

describe('Mangled names', () => {
  for (const [mangled, plain] of names) it(plain, () => assert.equal(demangle(mangled)?.full, plain));
  it('agree with the system’s program', function () {
    let lines: string[];
    try {
      lines = execFileSync(
        'c++filt',
        names.map(([mangled]) => mangled),
        { encoding: 'utf8' },
      )
        .trim()
        .split('\n');
    } catch {
      this.skip();
    }
    assert.deepEqual(
      lines,
      names.map(([, plain]) => plain),
    );
  });
  it('anything is survived', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'_ZNSILEPKTvifjmxX0123456789JDpUlCA'), maxLength: 60 }),
        (text) => {
          demangle(`_Z${text}`);
          assert.ok(demangledName(`_Z${text}`).length > 0);
        },
      ),
    );
  });
  it('names of arrays', () => {
    assert.deepEqual(['_ZZ9transposePfE4tile', '_ZL5steps', 'plain', '_ZN3app5tableE'].map(demangledName), [
      'tile',
      'steps',
      'plain',
      'table',
    ]);
  });
});

describe('The entry of a kernel', () => {
  const entry = (name: string) => `.visible .entry ${name}() { ret; }`;
  const module = parsePtx(
    [
      '_Z4fillIfLi2EEvPT_',
      '_Z4fillIjLi2EEvPT_',
      '_Z4fillIfLi4EEvPT_',
      '_Z4oncePf',
      '_Z4scanI6TraitsIjLi4ELb1EEEvPf',
      '_Z4scanI6TraitsIjLi4ELb0EEEvPf',
    ]
      .map(entry)
      .join('\n'),
  );
  const check = (kernel: string, given: readonly string[], expected: string | undefined) => () =>
    assert.equal(findEntry(module, kernel, given)?.name, expected);
  it('by name', check('once', [], '_Z4oncePf'));
  it('by template arguments', check('fill', ['float', '4'], '_Z4fillIfLi4EEvPT_'));
  it('by another spelling of a type', check('fill', ['unsigned', '2'], '_Z4fillIjLi2EEvPT_'));
  it('by another spelling within one', check('scan', ['Traits<uint, 4u, true>'], '_Z4scanI6TraitsIjLi4ELb1EEEvPf'));
  it('none rather than a wrong one', check('fill', ['double', '2'], undefined));
});
