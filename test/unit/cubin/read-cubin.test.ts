import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { compileKernels } from '../../../server/src/compiler/compile';
import { findNvcc } from '../../../server/src/compiler/find-nvcc';
import type { MachineAccess } from '../../../server/src/cubin/machine-access';
import { readCubin } from '../../../server/src/cubin/read-cubin';
import { ADD, type Kernel, LDG, LDGSTS, LDS, makeCubin, STG, width } from './make-cubin';

/** `LDS 16 B` at 0x10 of PTX line 5, charged to a.cu:7 and inlined at a.cu:9: `10 ptx 5: shared load 16, 7 9`. */
function told(bytes: Uint8Array, architecture = 90): Record<string, string[]> {
  const kernels: Record<string, string[]> = {};
  for (const [name, accesses] of readCubin(bytes, architecture)) {
    kernels[name] = accesses.map(({ offset, ptxLine, space, operation, bytes: size, isPredicated, lines }) => {
      const where = lines.map(({ file, line }) => `${path.basename(file)}:${line}`).join(' ');
      const what = `${space} ${operation}${size === undefined ? '' : ` ${size}`}${isPredicated ? ' if' : ''}`;
      return `${offset.toString(16)} ptx ${ptxLine}: ${what}, ${where}`;
    });
  }
  return kernels;
}

const saxpy: Kernel = {
  name: 'saxpy',
  code: [
    { operation: ADD },
    { operation: LDG },
    { operation: LDS, width: width.quad },
    { operation: STG, predicate: 0 },
  ],
  source: [
    { at: 0, line: 3 },
    { at: 32, line: 5 },
  ],
  ptx: [
    { at: 16, line: 40 },
    { at: 32, line: 41 },
    { at: 48, line: 44 },
  ],
};

describe('Machine code: which memory instructions a cubin has', () => {
  const check = (kernels: readonly Kernel[], expected: Record<string, string[]>) => () => {
    const files = ['/src/a.cu', '/src/b.cuh'];
    assert.deepEqual(told(makeCubin(kernels, files)), expected);
    assert.deepEqual(told(makeCubin(kernels, files, false)), expected);
  };
  const expected = [
    '10 ptx 40: global load 4, a.cu:3',
    '20 ptx 41: shared load 16, a.cu:5',
    '30 ptx 44: global store 4 if, a.cu:5',
  ];
  it('space, operation, width, predicate, lines of the PTX and of the source', check([saxpy], { saxpy: expected }));
  it(
    'several kernels',
    check(
      [saxpy, { ...saxpy, name: 'other', code: [{ operation: LDG, width: width.u8 }], ptx: [{ at: 0, line: 60 }] }],
      {
        saxpy: expected,
        other: ['0 ptx 60: global load 1, a.cu:3'],
      },
    ),
  );
  it(
    'where call and inlined code begin at one address, the call is charged',
    check(
      [
        {
          ...saxpy,
          source: [
            { at: 0, line: 3 },
            { at: 16, line: 9 },
            { at: 16, line: 70, file: 2, call: 2 },
            { at: 32, line: 71, file: 2, call: 2 },
          ],
        },
      ],
      {
        saxpy: [
          '10 ptx 40: global load 4, a.cu:9 b.cuh:70',
          '20 ptx 41: shared load 16, b.cuh:71 a.cu:9',
          '30 ptx 44: global store 4 if, b.cuh:71 a.cu:9',
        ],
      },
    ),
  );
  it(
    'an asynchronous copy reads and writes; what never runs is none',
    check([{ ...saxpy, code: [{ operation: LDGSTS }, { operation: LDS, predicate: 15 }], ptx: [{ at: 0, line: 8 }] }], {
      saxpy: ['0 ptx 8: global load, a.cu:3', '0 ptx 8: shared store, a.cu:3'],
    }),
  );
  it('none of before 7.0, and none of what is no cubin', () => {
    assert.deepEqual(told(makeCubin([saxpy], ['a.cu']), 61), {});
    assert.deepEqual(told(Buffer.from('not an ELF file at all, though it is long enough to hold a header of one')), {});
  });
  it('changed bytes anywhere: no error, no endless loop', () => {
    const original = makeCubin([saxpy], ['/src/a.cu', '/src/b.cuh']);
    let seed = 12345;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return (seed >>> 8) % below;
    };
    for (let round = 0; round < 3000; round++) {
      const bytes = Uint8Array.from(original);
      for (let k = 0; k <= round % 5; k++) bytes[random(bytes.length)] = random(256);
      const cut = round % 7 === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
      for (const accesses of readCubin(cut, 90).values()) assert.ok(accesses.length <= 100_000);
    }
  });
});

describe('Machine code of recorded programs', () => {
  const nvcc = findNvcc({ environment: process.env, platform: process.platform });
  const folder = path.resolve(__dirname, '..', '..', 'hardware');
  interface Recorded {
    readonly nvcc: string;
    readonly launches: readonly {
      readonly mangled: string;
      readonly groups: readonly {
        readonly file: string;
        readonly line: number;
        readonly space: string;
        readonly operation: string;
        readonly instructions: readonly (readonly [string, string])[];
      }[];
    }[];
  }
  const check = (program: string) =>
    async function (this: Mocha.Context) {
      this.timeout(60_000);
      const text = fs.readFileSync(path.join(folder, 'recorded', `${program}.json`), 'utf8');
      const recorded = JSON.parse(text) as Recorded;
      if (nvcc === undefined) return this.skip();
      const file = path.join(folder, 'programs', `${program}.cu`);
      const compiled = await compileKernels({ nvcc, file, flags: ['-O3'], capability: '9.0' });
      assert.ok('notes' in compiled);
      // Another version makes other machine code.
      if (compiled.ptx?.includes(`V${recorded.nvcc}`) !== true) return this.skip();
      for (const { mangled, groups } of recorded.launches) {
        const accesses: readonly MachineAccess[] = compiled.machine?.get(mangled) ?? [];
        for (const group of groups) {
          if (group.space !== 'shared' && group.space !== 'global') continue;
          for (const [at, opcode] of group.instructions) {
            const offset = Number.parseInt(at, 16);
            const found = accesses.find((each) => each.offset === offset && each.operation === group.operation);
            assert.equal(found?.space, group.space, `${opcode} at ${at}`);
            assert.equal(found?.lines.find((each) => path.basename(each.file) === group.file)?.line, group.line);
          }
        }
      }
    };
  it('the profiler’s opcodes and lines, inlined functions among them', check('llm_elementwise'));
  it('headers of the toolkit', check('atomics_mix'));
});
