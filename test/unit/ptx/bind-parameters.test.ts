import assert from 'node:assert/strict';
import type { Input, Program, RegisterInfo, ScalarType } from '../../../server/src/program/program';
import { bindParameters } from '../../../server/src/ptx/bind-parameters';
import { lowered } from './run';

/** A source program with nothing but the leaves of its second parameter. */
function sourceWith(leaves: readonly (readonly [string, ScalarType])[]): Program {
  const registers: RegisterInfo[] = leaves.map(([name, type]) => ({ type, role: 'input', name }));
  const inputs: Input[] = leaves.map(([name], register) => ({
    register,
    name,
    source: { kind: 'parameter', parameter: 1, path: name.split('.') },
  }));
  const blocks = [{ instructions: [], terminator: { kind: 'exit' } as const }];
  return { kernel: 'k', registers, inputs, blocks, objects: [], accesses: [], branches: [], skipped: [] };
}

/** Names that the members of a struct at these bytes get. */
function namesAt(
  leaves: readonly (readonly [string, ScalarType])[],
  loads: readonly (readonly [string, number])[],
): string[] {
  const body = loads.map(
    ([type, offset], i) => `ld.param.${type} %${type.endsWith('64') ? 'rd' : 'r'}${i}, [k_param_1+${offset}];`,
  );
  const text = `.entry k(.param .u64 k_param_0, .param .align 8 .b8 k_param_1[64]) { .reg .b32 %r<9>; .reg .b64 %rd<9>; ${body.join('\n')} ret; }`;
  const program = bindParameters(lowered(text), sourceWith(leaves));
  return program.inputs.map((input) => input.name);
}

describe('PTX parameters get their names from the source', () => {
  it('members after padding', () => {
    const names = namesAt(
      [
        ['p.flag', 'u8'],
        ['p.data', 'u64'],
        ['p.n', 'i32'],
      ],
      [
        ['u8', 0],
        ['u64', 8],
        ['u32', 16],
      ],
    );
    assert.deepEqual(names, ['p.flag', 'p.data', 'p.n']);
  });
  it('members of members, aligned as their largest', () => {
    const names = namesAt(
      [
        ['p.a', 'i32'],
        ['p.in.x', 'f32'],
        ['p.in.y', 'f64'],
        ['p.z', 'i32'],
      ],
      [
        ['u32', 8],
        ['u64', 16],
        ['u32', 24],
      ],
    );
    assert.deepEqual(names, ['p.in.x', 'p.in.y', 'p.z']);
  });
  it('a load of two members at once keeps its own name', () => {
    assert.deepEqual(
      namesAt(
        [
          ['p.a', 'i32'],
          ['p.b', 'i32'],
        ],
        [['u64', 0]],
      ),
      ['parameter 2 + 0 bytes'],
    );
  });
});
