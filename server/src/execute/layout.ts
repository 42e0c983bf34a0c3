/** Where the objects of a program lie and what its inputs hold at a launch. */

import { addressWindows } from '../program/addresses';
import type { Input, MemoryObject, Program } from '../program/program';
import { heldForm } from './conversion';
import type { LaunchShape } from './execution';
import { type Mask, WARP } from './mask';
import { cellOf, type Table } from './memory';
import type { Reasons } from './reasons';
import { type LaneValue, overwrite, setLinear, setUniform, setUnknown } from './value';

export interface Layout {
  /** Address of every object; undefined for what pointer parameters point to. */
  readonly addresses: readonly (number | undefined)[];
  readonly sharedBytes: number;
  readonly localBytes: number;
  readonly tables: readonly Table[];
}

/** `__device__` variables are allocations of their own, far from those that launches number from 0. */
const FIRST_DEVICE_ALLOCATION = 4096;

function alignUp(address: number, alignment: number): number {
  const step = Math.max(1, alignment);
  return Math.ceil(address / step) * step;
}

/** Objects one after the other in their windows; all dynamic shared arrays start together after the static ones. */
export function layoutOf(program: Program, dynamicSharedBytes: number): Layout {
  const addresses: (number | undefined)[] = program.objects.map(() => undefined);
  const next = { shared: 0, local: 0, constant: 0, texture: 0 };
  const inputObjects = new Set<number>();
  for (const input of program.inputs) if (input.source.kind === 'object') inputObjects.add(input.source.object);
  program.objects.forEach((object, index) => {
    if (!inputObjects.has(index) || (object.space === 'shared' && object.isDynamic)) return;
    if (object.space === 'global') {
      addresses[index] = addressWindows.global * (FIRST_DEVICE_ALLOCATION + index + 1);
      return;
    }
    const at = alignUp(next[object.space], object.alignment);
    addresses[index] = addressWindows[object.space] + at;
    next[object.space] = at + (object.bytes ?? 0);
  });
  const dynamic = program.objects.filter((object) => object.space === 'shared' && object.isDynamic);
  const dynamicStart = alignUp(next.shared, Math.max(16, ...dynamic.map((object) => object.alignment)));
  program.objects.forEach((object, index) => {
    if (dynamic.includes(object)) addresses[index] = addressWindows.shared + dynamicStart;
  });
  const sharedBytes = dynamic.length > 0 ? dynamicStart + Math.max(0, dynamicSharedBytes) : next.shared;
  const tables = program.objects.flatMap((object, index) => tableOf(object, addresses[index]));
  return { addresses, sharedBytes, localBytes: next.local, tables };
}

function tableOf(object: MemoryObject, address: number | undefined): Table[] {
  if (!object.contents || address === undefined) return [];
  const { type, values } = object.contents;
  const cell = cellOf(type);
  return [
    {
      first: address,
      end: address + cell.bytes * values.length,
      elementBytes: cell.bytes,
      tag: cell.tag,
      values: values.map((value) => heldForm(type, value)),
    },
  ];
}

/** Sets the inputs that are the same in all blocks. */
export function setLaunchInputs(
  program: Program,
  launch: LaunchShape,
  layout: Layout,
  values: readonly LaneValue[],
  reasons: Reasons,
): void {
  program.inputs.forEach((input, index) => {
    setLaunchInput(program, launch, layout, input, index, values[input.register], reasons);
  });
}

function setLaunchInput(
  program: Program,
  launch: LaunchShape,
  layout: Layout,
  input: Input,
  index: number,
  value: LaneValue,
  reasons: Reasons,
): void {
  const { source } = input;
  switch (source.kind) {
    case 'threadIdx':
      setLinear(value, 0, source.axis === 0 ? 1 : 0, source.axis === 1 ? 1 : 0, source.axis === 2 ? 1 : 0);
      break;
    case 'blockIdx':
      break;
    case 'blockDim':
      setUniform(value, launch.block[source.axis]);
      break;
    case 'gridDim':
      setNumber(input, value, program, launch.grid[source.axis], reasons);
      break;
    case 'laneId':
      setLanes(value, (lane) => lane % WARP);
      break;
    case 'warpId':
      setLanes(value, (lane) => Math.floor(lane / WARP));
      break;
    case 'dynamicSharedBytes':
      setNumber(input, value, program, launch.dynamicSharedBytes, reasons);
      break;
    case 'object': {
      const address = layout.addresses[source.object];
      if (address === undefined) setUnknown(value, reasons.number(`address of '${input.name}' is not known`));
      else setUniform(value, address);
      break;
    }
    case 'parameter':
    case 'global':
      setParameter(input, index, value, program, launch, reasons);
  }
}

/** Sets the block index. */
export function setBlockInputs(
  program: Program,
  block: readonly [number, number, number],
  values: readonly LaneValue[],
  reasons: Reasons,
): void {
  for (const input of program.inputs) {
    if (input.source.kind !== 'blockIdx') continue;
    setNumber(input, values[input.register], program, block[input.source.axis], reasons);
  }
}

function setParameter(
  input: Input,
  index: number,
  value: LaneValue,
  program: Program,
  launch: LaunchShape,
  reasons: Reasons,
): void {
  const given = launch.inputs.get(index);
  if (given === undefined) setUnknown(value, reasons.number(`'${input.name}' is not known`));
  else if (given.kind === 'unknown') setUnknown(value, reasons.number(given.reason));
  else if (given.kind === 'number') setNumber(input, value, program, given.value, reasons);
  else setUniform(value, addressWindows.global * (given.allocation + 1) + given.offset);
}

function setNumber(input: Input, value: LaneValue, program: Program, number: number, reasons: Reasons): void {
  const held = heldForm(program.registers[input.register].type, number);
  if (Number.isNaN(held) && !Number.isNaN(number)) setUnknown(value, reasons.number(`'${input.name}' is beyond 2^53`));
  else setUniform(value, held);
}

function setLanes(value: LaneValue, of: (lane: number) => number): void {
  const vector = overwrite(value);
  for (let lane = 0; lane < vector.length; lane++) vector[lane] = of(lane);
}

/** All threads of a block active, lanes beyond them not. */
export function fullMask(mask: Mask, threads: number): void {
  mask.lanes.fill(0);
  mask.lanes.fill(1, 0, threads);
  mask.recount();
}
