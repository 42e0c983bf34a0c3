import assert from 'node:assert/strict';
import type { MachineAccess } from '../../../server/src/cubin/machine-access';
import { verifyProgram } from '../../../server/src/program/verify';
import { assembledProgram } from '../../../server/src/ptx/assemble';
import { lowerPtx } from '../../../server/src/ptx/lower';
import { parsePtx } from '../../../server/src/ptx/parse';
import { kernel, run } from './run';

/** Bytes of the machine instructions that a line became stand behind it: `// LDS 16`, `// STS 4 4`, `// none`. */
function machineOf(text: string): MachineAccess[] {
  return text.split('\n').flatMap((line, index): MachineAccess[] => {
    const found = /\b(ld|st)\.(shared|global).*\/\/ \w+((?: \d+)*)$/.exec(line);
    const widths = found?.[3].trim().split(' ') ?? [];
    return widths.flatMap((bytes): MachineAccess[] => {
      if (!found || bytes === '') return [];
      const operation = found[1] === 'ld' ? 'load' : 'store';
      const space = found[2] === 'shared' ? 'shared' : 'global';
      return [
        {
          offset: 16 * index,
          ptxLine: index + 1,
          operation,
          space,
          bytes: Number(bytes),
          isPredicated: false,
          lines: [],
        },
      ];
    });
  });
}

/** `shared load 16 B x32`: bytes a lane and requests, in the order of the program; `annotated`: with machine code as it says. */
function accesses(body: string, isKnown = true): string[] {
  const text = kernel(body);
  const machine = { code: new Map([['k', machineOf(text)]]), text };
  const program = assembledProgram(lowerPtx(parsePtx(text), 'k', isKnown ? { machine } : {}));
  assert.deepEqual(verifyProgram(program), []);
  return run(program).accesses.flatMap(({ access, space, bytesPerLane, requests }) =>
    requests === 0 ? [] : [`${space} ${program.accesses[access].operation} ${bytesPerLane} B x${requests}`],
  );
}

const check = (body: string, expected: readonly string[]) => () => assert.deepEqual(accesses(body), expected);

const shared = '.shared .align 4 .b8 s[4096]; shl.b32 %r1, %r90, 4; mov.u32 %r2, s; add.s32 %r3, %r2, %r1;';

describe('PTX with its machine code: widths', () => {
  it(
    'neighbours that became one, whether or not they are aligned for all we know',
    check(
      `${shared}
  ld.shared.f32 %f1, [%r3]; // LDS 16
  ld.shared.f32 %f2, [%r3+4]; // none
  ld.shared.f32 %f3, [%r3+8]; // none
  ld.shared.f32 %f4, [%r3+12]; // none`,
      ['shared load 16 B x1'],
    ),
  );
  it(
    'neighbours that stayed one by one, although they could be one',
    check(
      `.shared .align 16 .b8 s[4096]; mov.u32 %r3, s;
  ld.shared.f32 %f1, [%r3]; // LDS 4
  ld.shared.f32 %f2, [%r3+4]; // LDS 4`,
      ['shared load 4 B x1', 'shared load 4 B x1'],
    ),
  );
  it(
    'the last of them may bear it, and a load may read more than is asked for',
    check(
      `${shared}
  ld.shared.f32 %f1, [%r3+4]; // none
  ld.shared.f32 %f2, [%r3+8]; // none
  ld.shared.f32 %f3, [%r3]; // LDS 16`,
      ['shared load 16 B x1'],
    ),
  );
  it(
    'two of them, each at a multiple of its width, although other windows would hold as much',
    check(
      `${shared}
${[0, 4, 8, 12, 16, 20, 24, 28].map((at) => `  st.shared.f32 [%r3+${at}], %f1; // ${at % 16 === 12 ? 'STS 16' : 'none'}`).join('\n')}`,
      ['shared store 16 B x1', 'shared store 16 B x1'],
    ),
  );
  it(
    'a store writes what it is given only',
    check(
      `${shared}
  st.shared.f32 [%r3], %f1; // STS 8
  st.shared.f32 [%r3+8], %f2; // none`,
      ['shared store 4 B x1', 'shared store 4 B x1'],
    ),
  );
  it(
    'a vector shrinks to what is used where the machine code has it so',
    check(
      `ld.global.v2.f32 {%f1, %f2}, [%rd90]; // LDG 4
  st.global.f32 [%rd90], %f1; // STG 4`,
      ['global load 4 B x1', 'global store 4 B x1'],
    ),
  );
  it(
    'an integer of which a part is used is read in part',
    check(
      `mul.wide.u32 %rd1, %r90, 8; add.s64 %rd2, %rd90, %rd1;
  ld.global.u64 %rd3, [%rd2]; // LDG 4
  shr.u64 %rd4, %rd3, 60;
  st.global.u32 [%rd2], %rd4; // STG 4`,
      ['global load 4 B x1', 'global store 4 B x1'],
    ),
  );
  it(
    'and stays whole where it has it whole',
    check(
      `.shared .align 16 .b8 s[4096]; mov.u32 %r3, s;
  ld.shared.v2.f32 {%f1, %f2}, [%r3]; // LDS 8
  st.global.f32 [%rd90], %f1; // STG 4`,
      ['shared load 8 B x1', 'global store 4 B x1'],
    ),
  );
  it(
    'a load behind a branch that went into one before it',
    check(
      `${shared} setp.lt.u32 %p1, %r90, 7;
  ld.shared.f32 %f1, [%r3]; // LDS 8
  @%p1 bra END;
  ld.shared.f32 %f2, [%r3+4]; // none
END:`,
      ['shared load 8 B x1'],
    ),
  );
});

describe('PTX with its machine code: arms of a branch', () => {
  const arms = (first: string, second: string) => `${shared} and.b32 %r9, %r90, 1; setp.eq.u32 %p1, %r9, 1;
  @%p1 bra ODD;
  ld.shared.f32 %f1, [%r3]; // ${first}
  st.shared.f32 [%r3+2048], %f1; // STS 4
  bra END;
ODD: ld.shared.f32 %f2, [%r3]; // ${second}
  mul.f32 %f3, %f2, %f2; st.shared.f32 [%r3+2048], %f3; // STS 4
END:`;
  const checkLoads = (first: string, second: string, expected: number) => () => {
    const loads = accesses(arms(first, second)).filter((each) => each === 'shared load 4 B x1');
    assert.equal(loads.length, expected);
  };
  it('what they load alike is loaded once, where the machine code has it once', checkLoads('LDS 4', 'none', 1));
  it('in whichever arm it has it', checkLoads('none', 'LDS 4', 1));
  it('and twice where it has it twice', checkLoads('LDS 4', 'LDS 4', 2));
});

describe('PTX with its machine code: loops', () => {
  const loop = (head: string, body: string, step: string, test: string) => `.shared .align 4 .b8 s[4096];
  mov.u32 %r2, s; mov.u32 %r5, ${head};
LOOP: shl.b32 %r6, %r5, 2; add.s32 %r7, %r2, %r6;
${body}
  add.s32 %r5, %r5, ${step}; setp.${test}; @%p1 bra LOOP;`;
  const one = '  ld.shared.f32 %f1, [%r7]; // LDS 16';
  it(
    'written out so that four passes read at once',
    check(loop('0', one, '1', 'ne.s32 %p1, %r5, 32'), ['shared load 16 B x8']),
  );
  it('not without machine code', () =>
    assert.deepEqual(accesses(loop('0', one, '1', 'ne.s32 %p1, %r5, 32'), false), ['shared load 4 B x32']));
  it(
    'two in the PTX, two passes',
    check(loop('0', `${one}\n  ld.shared.f32 %f2, [%r7+4]; // none`, '2', 'lt.s32 %p1, %r5, 32'), [
      'shared load 16 B x8',
    ]),
  );
  it(
    'not where the passes are no multiple',
    check(loop('0', one, '1', 'ne.s32 %p1, %r5, 30'), ['shared load 4 B x30']),
  );
  it(
    'not where their number is not known',
    check(loop('%tid.y', one, '1', 'ne.s32 %p1, %r5, 32'), ['shared load 4 B x32']),
  );
  // what the assembler makes of an open loop: four passes at a time, then two, then one
  const staged = '  ld.shared.f32 %f1, [%r7]; // LDS 4 4 4 4 4 4 4';
  const upTo = (limit: string, body: string) =>
    `add.s32 %r8, ${limit}, 1; ${loop('0', body, '1', 'lt.s32 %p1, %r5, %r8')}`;
  const inStages = ['x8', 'x8', 'x8', 'x8', 'x1', 'x1', 'x1'].map((times) => `shared load 4 B ${times}`);
  it(
    'lanes with different numbers of passes meet in steps of four, two and one',
    check(upTo('%r90', staged), inStages),
  );
  it(
    'in a loop that counts down to zero as well',
    check(`add.s32 %r8, %r90, 1; ${loop('%r8', staged, '-1', 'ne.s32 %p1, %r5, 0')}`, inStages),
  );
  it('not where all make as many', check(upTo('%ntid.x', staged), ['shared load 4 B x33']));
  it(
    'not where the machine code has the load once',
    check(upTo('%r90', '  ld.shared.f32 %f1, [%r7]; // LDS 4'), ['shared load 4 B x32']),
  );
  it('what the loop leaves is what it leaves without', () => {
    const text = kernel(`${upTo('%r90', staged)}
  mul.wide.s32 %rd1, %r5, 32; add.s64 %rd2, %rd90, %rd1; ld.global.f32 %f2, [%rd2]; // LDG 4`);
    const machine = { code: new Map([['k', machineOf(text)]]), text };
    const addresses = (known: boolean) => {
      const program = assembledProgram(lowerPtx(parsePtx(text), 'k', known ? { machine } : {}));
      return run(program).accesses.at(-1)?.witness?.addresses;
    };
    const [first = Number.NaN, ...others] = addresses(true) ?? [];
    assert.equal(others[2], first + 96);
    assert.deepEqual(addresses(true), addresses(false));
  });
  it('values of the last pass are those after the loop', () => {
    const after = `${loop('0', one, '1', 'ne.s32 %p1, %r5, 32')}
  mul.wide.s32 %rd1, %r6, 8; add.s64 %rd2, %rd90, %rd1; ld.global.f32 %f2, [%rd2]; // LDG 4`;
    const text = kernel(after);
    const machine = { code: new Map([['k', machineOf(text)]]), text };
    const address = (known: boolean) => {
      const program = assembledProgram(lowerPtx(parsePtx(text), 'k', known ? { machine } : {}));
      return run(program).accesses.at(-1)?.witness?.addresses[0];
    };
    assert.notEqual(address(true), undefined);
    assert.equal(address(true), address(false));
  });
});
