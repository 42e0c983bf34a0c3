/** Numbers in constant memory as the run of `main` has left them at a launch (`cudaMemcpyToSymbol` of what the text does not tell). */
import type { MemoryBlock } from '../execute/execution';
import type { HostRound } from '../host/run-host';
import type { Input, Program, ScalarType } from '../program/program';

export interface RunNumber {
  readonly value: number;
  /** The seed of random numbers that were drawn before. */
  readonly seed?: number;
}

const readers: Partial<Record<ScalarType, readonly [bytes: number, read: (view: DataView, at: number) => number]>> = {
  i8: [1, (view, at) => view.getInt8(at)],
  u8: [1, (view, at) => view.getUint8(at)],
  pred: [1, (view, at) => view.getUint8(at)],
  i16: [2, (view, at) => view.getInt16(at, true)],
  u16: [2, (view, at) => view.getUint16(at, true)],
  i32: [4, (view, at) => view.getInt32(at, true)],
  u32: [4, (view, at) => view.getUint32(at, true)],
  i64: [8, (view, at) => Number(view.getBigInt64(at, true))],
  u64: [8, (view, at) => Number(view.getBigUint64(at, true))],
  f32: [4, (view, at) => view.getFloat32(at, true)],
  f64: [8, (view, at) => view.getFloat64(at, true)],
};

/** What an input that is a number in constant memory is at each of the rounds; undefined where that is not known or not the same. */
export function numberAt(
  rounds: readonly HostRound[],
  symbols: ReadonlyMap<string, number | undefined>,
  { registers }: Program,
  { source, register }: Input,
): RunNumber | undefined {
  if (source.kind !== 'global' || source.offset === undefined) return undefined;
  const start = symbols.get(source.path[0]);
  if (start === undefined) return undefined;
  const address = start + source.offset;
  const { type } = registers[register];
  const values = new Set(rounds.map(({ contents }) => read(contents, address, type)));
  const [value] = values;
  return values.size === 1 && value !== undefined ? { value, seed: rounds[0].seed } : undefined;
}

function read(blocks: readonly MemoryBlock[], address: number, type: ScalarType): number | undefined {
  const reader = readers[type];
  const block = blocks.find((b) => address >= b.address && address < b.address + b.size);
  if (!reader || !block?.bytes) return undefined;
  const [bytes, value] = reader;
  const at = address - block.address;
  if (at + bytes > block.bytes.length || block.shadows?.subarray(at, at + bytes).includes(0)) return undefined;
  const number = value(new DataView(block.bytes.buffer, block.bytes.byteOffset), at);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? undefined : number;
}
