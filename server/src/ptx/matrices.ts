/** ldmatrix, stmatrix and the loads and stores of wmma. PTX ISA 9.0, 9.7.15. */

import {
  type Fragment,
  type LaneMove,
  laneMoves,
  type MatrixLoad,
  matrixLoads,
  movesOf,
} from '../hardware/matrix-fragments';
import type { Register, ScalarType } from '../program/program';
import type { Handler } from './arithmetic';
import type { Context } from './context';
import type { FlatInstruction } from './flatten';
import { addressOf, newSite, spaceOf, whole } from './memory';
import type { Memory } from './memory-objects';
import type { Operand } from './module';
import { typeOf } from './types';

export function matrixHandlers(memory: Memory): Readonly<Record<string, Handler>> {
  return {
    ldmatrix: (ctx, instruction) => rows(ctx, memory, instruction, 'load'),
    stmatrix: (ctx, instruction) => rows(ctx, memory, instruction, 'store'),
    wmma: (ctx, instruction) => wmma(ctx, memory, instruction),
  };
}

/** Lane i gives the address of row i: 16 bytes. */
function rows(ctx: Context, memory: Memory, instruction: FlatInstruction, direction: 'load' | 'store'): void {
  const { opcode, operands } = instruction;
  const { builder } = ctx;
  const matrices = opcode.parts.includes('x4') ? 4 : opcode.parts.includes('x2') ? 2 : 1;
  const isLoad = direction === 'load';
  const address = operands[isLoad ? 1 : 0];
  if (opcode.parts.includes('b8') || /m16n16|m8n16|m16n8/.test(opcode.text)) {
    ctx.skipAccess(`${opcode.text}: matrices of 8-bit elements are not counted`);
    if (isLoad) ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
    return;
  }
  const access = newSite(ctx, memory, instruction, direction, 'shared', address, 16);
  const at = whole(ctx, addressOf(ctx, address, spaceOf(opcode.parts)));
  const dst = isLoad ? Array.from({ length: matrices }, () => builder.register('u32', 'temporary')) : [];
  const isTransposed = opcode.parts.includes('trans');
  builder.emit({ op: 'matrix', direction, matrices, isTransposed, dst, address: at, access });
  const targets = operands[0]?.kind === 'vector' ? operands[0].elements : [operands[0]];
  if (isLoad) for (const [index, target] of targets.entries()) ctx.write(target, dst[index] ?? dst[0]);
}

/** Loads and stores of fragments, by the lanes that hold their elements. */
function wmma(ctx: Context, memory: Memory, instruction: FlatInstruction): void {
  const { opcode, operands } = instruction;
  const { parts } = opcode;
  const isLoad = parts[1] === 'load';
  if (!isLoad && parts[1] !== 'store') {
    ctx.builder.emit({ op: 'work', unit: 'tensor', count: 1 });
    ctx.writeUnknown(operands[0], `${opcode.text}: values of matrices are not computed`);
    return;
  }
  const [address, stride] = isLoad ? [operands[1], operands[2]] : [operands[0], operands[2]];
  if (isLoad) ctx.writeUnknown(operands[0], `${opcode.text}: values of matrices are not computed`);
  const fragment = fragmentOf(parts);
  const moves = fragment && movesOf(fragment);
  if (!moves) {
    ctx.skipAccess(`${opcode.text}: which lane reads what is not known for this shape`);
    return;
  }
  const space = spaceOf(parts);
  const step = stride ? ctx.read(stride, 'i32') : ctx.constant('i32', moves.columns);
  const work = { memory, instruction, address, step, space, bytes: fragment.bytes };
  if (moves.isMatrixLoad && space === 'shared') for (const load of matrixLoads(moves)) rowAddresses(ctx, work, load);
  else for (const move of laneMoves(moves)) moveElements(ctx, work, isLoad ? 'load' : 'store', move);
}

const bytesOfElement: Readonly<Record<string, number>> = { s8: 1, u8: 1, f16: 2, bf16: 2, f32: 4, tf32: 4, s32: 4 };
const uses: Readonly<Record<string, Fragment['use']>> = { a: 'a', b: 'b', c: 'accumulator', d: 'accumulator' };

/** `wmma.load.a.sync.aligned.row.m16n16k16.shared.f16` */
function fragmentOf(parts: readonly string[]): Fragment | undefined {
  const use = uses[parts[2]];
  const bytes = bytesOfElement[typeOf(parts) ?? ''];
  const shape = parts.map((part) => /^m(\d+)n(\d+)k(\d+)$/.exec(part)).find((each) => each !== null);
  if (use === undefined || bytes === undefined || !shape) return undefined;
  const [m, n, k] = shape.slice(1).map(Number);
  return { use, m, n, k, isByRows: parts.includes('row'), bytes };
}

interface FragmentWork {
  readonly memory: Memory;
  readonly instruction: FlatInstruction;
  readonly address: Operand | undefined;
  /** Elements from one row to the next. */
  readonly step: Register;
  readonly space: string;
  /** Of an element. */
  readonly bytes: number;
}

/** base + (row · stride + column) · bytes, in bytes */
function elementAddress(
  ctx: Context,
  base: Register,
  row: Register,
  column: Register,
  step: Register,
  bytes: number,
): Register {
  const { builder } = ctx;
  const index = builder.binary('add', 'i32', builder.binary('mul', 'i32', row, step), column);
  const distance = builder.binary('mul', 'i64', builder.convert('i32', 'i64', index), ctx.constant('i64', bytes));
  return builder.binary('add', 'i64', base, distance);
}

/** One load or store of all lanes. */
function moveElements(
  ctx: Context,
  { memory, instruction, address: operand, step, space, bytes }: FragmentWork,
  operation: 'load' | 'store',
  { isAcross, step: apart, row, column, count }: LaneMove,
): void {
  const { builder } = ctx;
  const lane = ctx.special('%laneid');
  const quarter = builder.binary('shr', 'u32', lane, ctx.constant('u32', 2));
  const pair = builder.binary('and', 'u32', lane, ctx.constant('u32', 3));
  const first = builder.binary('mul', 'i32', pair, ctx.constant('i32', apart));
  const [rowOfLane, columnOfLane] = isAcross ? [first, quarter] : [quarter, first];
  const base = whole(ctx, addressOf(ctx, operand, space));
  const address = elementAddress(
    ctx,
    base,
    builder.binary('add', 'i32', rowOfLane, ctx.constant('i32', row)),
    builder.binary('add', 'i32', columnOfLane, ctx.constant('i32', column)),
    step,
    bytes,
  );
  const access = newSite(ctx, memory, instruction, operation, space, operand, count * bytes);
  // two halves are one word, and so are four bytes
  const [type, length]: [ScalarType, number] = bytes === 4 ? ['f32', count] : [count * bytes === 4 ? 'u32' : 'u8', 1];
  if (operation === 'load') {
    const dst = Array.from({ length }, () => builder.register(type, 'temporary'));
    builder.emit({ op: 'load', type, dst, address, offset: 0, access });
  } else {
    const values = Array.from({ length }, () => builder.unknown(type, 'values of matrices are not computed'));
    builder.emit({ op: 'store', type, values, address, offset: 0, access });
  }
}

function rowAddresses(
  ctx: Context,
  { memory, instruction, address: operand, step, bytes }: FragmentWork,
  { matrices, period, row, column }: MatrixLoad,
): void {
  const { builder } = ctx;
  const lane = ctx.special('%laneid');
  const rowOfLane = builder.binary('rem', 'u32', lane, ctx.constant('u32', period));
  const part = builder.binary('div', 'u32', lane, ctx.constant('u32', period));
  const first = builder.binary('shl', 'i32', part, ctx.constant('i32', 3));
  const base = whole(ctx, addressOf(ctx, operand, 'shared'));
  const at = builder.binary('add', 'i32', first, ctx.constant('i32', column));
  const from = builder.binary('add', 'i32', rowOfLane, ctx.constant('i32', row));
  const address = elementAddress(ctx, base, from, at, step, bytes);
  const access = newSite(ctx, memory, instruction, 'load', 'shared', operand, 16);
  const dst = Array.from({ length: matrices }, () => builder.register('u32', 'temporary'));
  builder.emit({ op: 'matrix', direction: 'load', matrices, dst, address, access });
}
