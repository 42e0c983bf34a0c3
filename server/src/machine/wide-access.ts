/** One access made of several neighbours: its type, its registers, and what takes it apart again. */
import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Register,
  type RegisterInfo,
  type ScalarType,
  type StoreInstruction,
} from '../program/program';
import { BitPieces } from './split-bits';

export type Access = LoadInstruction | StoreInstruction;

export interface Candidate {
  readonly index: number;
  readonly instruction: Access;
  readonly bytes: number;
}

/**
 * Puts one access in place of several.
 * @param registers grows by those that the access needs
 * @param replaced by index in the block: what stands there instead
 * @param access the site that it bears, unless the first of loads or the last of stores
 */
export function replaceByOne(
  registers: RegisterInfo[],
  run: readonly Candidate[],
  start: number,
  width: number,
  replaced: Map<number, readonly Instruction[]>,
  access?: number,
): void {
  const first = run.reduce((a, b) => (b.index < a.index ? b : a));
  const last = run.reduce((a, b) => (b.index > a.index ? b : a));
  for (const c of run) replaced.set(c.index, []);
  const bearing = (own: Access): Access => (access === undefined ? own : { ...own, access });
  if (first.instruction.op === 'load')
    replaced.set(first.index, wideLoad(registers, run, bearing(first.instruction), start, width));
  else replaced.set(last.index, wideStore(registers, run, bearing(last.instruction), start));
}

/** One element type for all: their own, or unsigned integers of their size. */
function commonType(run: readonly Candidate[]): ScalarType {
  const types = run.map((c) => c.instruction.type);
  if (types.every((t) => t === types[0])) return types[0];
  const size = Math.min(...types.map((t) => bytesOf[t]));
  return size === 8 ? 'u64' : size === 4 ? 'u32' : size === 2 ? 'u16' : 'u8';
}

function temporary(registers: RegisterInfo[], type: ScalarType): Register {
  registers.push({ type, role: 'temporary' });
  return registers.length - 1;
}

function wideLoad(
  registers: RegisterInfo[],
  run: readonly Candidate[],
  first: Access,
  start: number,
  width: number,
): readonly Instruction[] {
  const type = commonType(run);
  const size = bytesOf[type];
  const dst: Register[] = Array.from({ length: width / size }, () => -1);
  const pieces = new BitPieces(registers);
  const behind = pieces.instructions;
  for (const { instruction } of run) {
    if (instruction.op !== 'load') continue;
    instruction.dst.forEach((d, k) => {
      const at = (instruction.offset - start + k * bytesOf[instruction.type]) / size;
      if (instruction.type === type) dst[at] = d;
      else if (bytesOf[instruction.type] === size) {
        dst[at] = temporary(registers, type);
        behind.push({ op: 'unary', fn: 'bitcast', type: instruction.type, from: type, dst: d, a: dst[at] });
      } else {
        const parts = Array.from({ length: bytesOf[instruction.type] / size }, () => temporary(registers, type));
        parts.forEach((part, i) => {
          dst[at + i] = part;
        });
        pieces.join(parts, type, d, instruction.type);
      }
    });
  }
  const filled = dst.map((d) => (d < 0 ? temporary(registers, type) : d));
  const load: LoadInstruction = {
    op: 'load',
    type,
    dst: filled,
    address: first.address,
    offset: start,
    access: first.access,
    isHanded: run.some(({ instruction: i }) => i.op === 'load' && i.offset === start && i.isHanded === true),
    isReinterpreted: run.every(({ instruction: i }) => i.op === 'load' && i.isReinterpreted) || undefined,
    isOfLoop: run.every(({ instruction: i }) => i.op === 'load' && i.isOfLoop) || undefined,
  };
  return [load, ...behind];
}

function wideStore(
  registers: RegisterInfo[],
  run: readonly Candidate[],
  last: Access,
  start: number,
): readonly Instruction[] {
  const type = commonType(run);
  const pieces = new BitPieces(registers);
  const values = run.flatMap(({ instruction }) => {
    if (instruction.op !== 'store') return [];
    if (instruction.type === type) return [...instruction.values];
    return instruction.values.flatMap((value) => pieces.split(value, instruction.type, type));
  });
  const stores = run.flatMap(({ instruction: i }) => (i.op === 'store' ? [i] : []));
  const store: StoreInstruction = {
    op: 'store',
    type,
    values,
    address: last.address,
    offset: start,
    access: last.access,
    callsThrough: Math.min(...stores.map(({ callsThrough = 0 }) => callsThrough)),
    isReinterpreted: stores.every((i) => i.isReinterpreted) || undefined,
  };
  return [...pieces.instructions, store];
}
