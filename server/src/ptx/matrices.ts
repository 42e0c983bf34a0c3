/** ldmatrix, stmatrix and the loads and stores of wmma. PTX ISA 9.0, 9.7.15. */

import type { AccessSite, Register, ScalarType } from '../program/program';
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
  builder.emit({ op: 'matrix', direction, matrices, dst, address: at, access });
  const targets = operands[0]?.kind === 'vector' ? operands[0].elements : [operands[0]];
  if (isLoad) for (const [index, target] of targets.entries()) ctx.write(target, dst[index] ?? dst[0]);
}

/**
 * Fragments of m16n16k16, as compiled for 7.5 and later (counters of a WMMA product recorded on an H200, capability 9.0):
 * halves in shared memory are read by one ldmatrix of four matrices, halves in global memory by four 4-byte loads a lane,
 * floats by four 8-byte accesses a lane. Lane l holds row l / 4 (and + 8) and the two columns from 2 (l % 4) (and + 8).
 */
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
  const type = typeOf(parts);
  const isHalf = (type === 'f16' || type === 'bf16') && (parts[2] === 'a' || parts[2] === 'b');
  const isFloat = type === 'f32' && (parts[2] === 'c' || parts[2] === 'd') && parts.includes('row');
  if (!parts.includes('m16n16k16') || (!isHalf && !isFloat)) {
    ctx.skipAccess(`${opcode.text}: which lane reads what is not known for this shape`);
    return;
  }
  const space = spaceOf(parts);
  const elements = { bytes: isHalf ? 2 : 4, type: (isHalf ? 'u32' : 'f32') as ScalarType };
  const step = stride ? ctx.read(stride, 'i32') : ctx.constant('i32', 16);
  if (isHalf && space === 'shared') {
    rowAddresses(ctx, memory, instruction, address, step);
    return;
  }
  for (const row of [0, 8]) {
    for (const column of [0, 8]) {
      const operation = isLoad ? 'load' : 'store';
      fragment(ctx, memory, instruction, { operation, address, step, row, column, space, ...elements });
    }
  }
}

interface Fragment {
  readonly operation: AccessSite['operation'];
  readonly address: Operand | undefined;
  readonly step: Register;
  readonly row: number;
  readonly column: number;
  readonly space: string;
  readonly bytes: number;
  readonly type: ScalarType;
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

function fragment(ctx: Context, memory: Memory, instruction: FlatInstruction, f: Fragment): void {
  const { builder } = ctx;
  const lane = ctx.special('%laneid');
  const row = builder.binary(
    'add',
    'i32',
    builder.binary('shr', 'u32', lane, ctx.constant('u32', 2)),
    ctx.constant('i32', f.row),
  );
  const pair = builder.binary('and', 'u32', lane, ctx.constant('u32', 3));
  const column = builder.binary(
    'add',
    'i32',
    builder.binary('shl', 'i32', pair, ctx.constant('i32', 1)),
    ctx.constant('i32', f.column),
  );
  const base = whole(ctx, addressOf(ctx, f.address, f.space));
  const address = elementAddress(ctx, base, row, column, f.step, f.bytes);
  const count = (2 * f.bytes) / 4;
  const access = newSite(ctx, memory, instruction, f.operation, f.space, f.address, 2 * f.bytes);
  if (f.operation === 'load') {
    const dst = Array.from({ length: count }, () => builder.register(f.type, 'temporary'));
    builder.emit({ op: 'load', type: f.type, dst, address, offset: 0, access });
  } else {
    const values = Array.from({ length: count }, () => builder.unknown(f.type, 'values of matrices are not computed'));
    builder.emit({ op: 'store', type: f.type, values, address, offset: 0, access });
  }
}

/** One ldmatrix.x4: lane l gives row l % 16, columns from 8 (l / 16). */
function rowAddresses(
  ctx: Context,
  memory: Memory,
  instruction: FlatInstruction,
  operand: Operand | undefined,
  step: Register,
): void {
  const { builder } = ctx;
  const lane = ctx.special('%laneid');
  const row = builder.binary('and', 'u32', lane, ctx.constant('u32', 15));
  const half = builder.binary('shr', 'u32', lane, ctx.constant('u32', 4));
  const column = builder.binary('shl', 'i32', half, ctx.constant('i32', 3));
  const base = whole(ctx, addressOf(ctx, operand, 'shared'));
  const address = elementAddress(ctx, base, row, column, step, 2);
  const access = newSite(ctx, memory, instruction, 'load', 'shared', operand, 16);
  const dst = Array.from({ length: 4 }, () => builder.register('u32', 'temporary'));
  builder.emit({ op: 'matrix', direction: 'load', matrices: 4, dst, address, access });
}
