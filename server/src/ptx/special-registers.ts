/** Special registers that a launch gives a value to. */

import type { InputSource, ScalarType } from '../program/program';

interface SpecialInput {
  readonly type: ScalarType;
  readonly source: InputSource;
  readonly name: string;
}

const axes = ['x', 'y', 'z'] as const;
const shapes = [
  ['%tid', 'threadIdx'],
  ['%ntid', 'blockDim'],
  ['%ctaid', 'blockIdx'],
  ['%nctaid', 'gridDim'],
] as const;

/** By name. Clusters count as single blocks: cluster ids are those of the blocks. */
export const specialInputs: ReadonlyMap<string, SpecialInput> = new Map([
  ...shapes.flatMap(([register, kind]) =>
    axes.map((axis, index): [string, SpecialInput] => [
      `${register}.${axis}`,
      { type: 'u32', source: { kind, axis: index as 0 | 1 | 2 }, name: `${kind}.${axis}` },
    ]),
  ),
  ['%laneid', { type: 'u32', source: { kind: 'laneId' }, name: 'laneId' }],
  ['%warpid', { type: 'u32', source: { kind: 'warpId' }, name: 'warpId' }],
  ['%dynamic_smem_size', { type: 'u32', source: { kind: 'dynamicSharedBytes' }, name: 'dynamic shared bytes' }],
]);
