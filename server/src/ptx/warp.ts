/** Operations across lanes, barriers, tensor cores and what is named only. PTX ISA 9.0, 9.7.9, 9.7.13 to 9.7.17. */

import type { LaneInstruction, Register, ScalarType } from '../program/program';
import type { Handler } from './arithmetic';
import type { Context } from './context';
import type { Operand } from './module';
import { irType, typeOf } from './types';

const shuffles: Readonly<Record<string, LaneInstruction['fn']>> = {
  up: 'shuffleUp',
  down: 'shuffleDown',
  bfly: 'shuffleXor',
  idx: 'shuffle',
};

/** shfl: `c` holds the last lane of the clamp in its low byte and the segment mask above. */
const shuffle: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const fn = opcode.parts.map((part) => shuffles[part]).find((found) => found !== undefined);
  const [dst, a, b, c] = operands;
  if (fn === undefined) {
    ctx.writeUnknown(dst, `${opcode.text} is not computed`);
    return;
  }
  const target = dst?.kind === 'pair' ? dst.first : dst;
  const value = ctx.read(a, 'i32');
  const from = ctx.read(b, 'u32');
  const segment = builder.binary(
    'and',
    'u32',
    builder.binary('shr', 'u32', ctx.read(c, 'u32'), ctx.constant('u32', 8)),
    ctx.constant('u32', 31),
  );
  const width = builder.binary('sub', 'u32', ctx.constant('u32', 32), segment);
  const result = builder.register('i32', 'temporary');
  builder.emit({ op: 'lane', fn, type: 'i32', dst: result, a: value, b: from, width });
  ctx.write(target, result);
  if (dst?.kind === 'pair') ctx.write(dst.second, isInRange(ctx, fn, from, width));
};

/** The predicate of shfl: the source lane lies within the segment. */
function isInRange(ctx: Context, fn: LaneInstruction['fn'], b: Register, width: Register): Register {
  const { builder } = ctx;
  const one = ctx.constant('u32', 1);
  const within = builder.binary('and', 'u32', ctx.special('%laneid'), builder.binary('sub', 'u32', width, one));
  if (fn === 'shuffleUp') return builder.compare('ge', 'u32', within, b);
  if (fn === 'shuffleDown') return builder.compare('lt', 'u32', builder.binary('add', 'u32', within, b), width);
  if (fn === 'shuffleXor') return builder.compare('lt', 'u32', builder.binary('xor', 'u32', within, b), width);
  return builder.compare('lt', 'u32', b, width);
}

function lane(ctx: Context, fn: LaneInstruction['fn'], type: ScalarType, a: Register | undefined): Register {
  const { builder } = ctx;
  const dst = builder.register(
    fn === 'any' || fn === 'all' || fn === 'blockAny' || fn === 'blockAll' ? 'pred' : type,
    'temporary',
  );
  builder.emit({ op: 'lane', fn, type, dst, a });
  return dst;
}

const vote: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const [dst, source] = operands;
  const p = ctx.read(source, 'pred');
  if (opcode.parts.includes('ballot')) ctx.write(dst, lane(ctx, 'ballot', 'u32', p));
  else if (opcode.parts.includes('any')) ctx.write(dst, lane(ctx, 'any', 'pred', p));
  else if (opcode.parts.includes('all')) ctx.write(dst, lane(ctx, 'all', 'pred', p));
  else {
    const none = builder.unary('lognot', 'pred', lane(ctx, 'any', 'pred', p));
    ctx.write(dst, builder.binary('or', 'pred', none, lane(ctx, 'all', 'pred', p)));
  }
};

const match: Handler = (ctx, { opcode, operands }) => {
  const [dst, a] = operands;
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  if (!opcode.parts.includes('any')) {
    ctx.writeUnknown(dst, `${opcode.text} is not computed`);
    return;
  }
  ctx.write(dst, lane(ctx, 'matchAny', 'u32', ctx.read(a, type)));
};

const reductions: Readonly<Record<string, LaneInstruction['fn']>> = {
  add: 'reduceAdd',
  min: 'reduceMin',
  max: 'reduceMax',
  and: 'reduceAnd',
  or: 'reduceOr',
  xor: 'reduceXor',
};

const reduce: Handler = (ctx, { opcode, operands }) => {
  const fn = opcode.parts.map((part) => reductions[part]).find((found) => found !== undefined);
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  if (fn === undefined) ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
  else ctx.write(operands[0], lane(ctx, fn, type, ctx.read(operands[1], type)));
};

/** elect.sync d|p: the first active lane. */
const elect: Handler = (ctx, { operands }) => {
  const { builder } = ctx;
  const active = lane(ctx, 'activeMask', 'u32', undefined);
  const first = builder.binary('sub', 'u32', builder.unary('ffs', 'u32', active), ctx.constant('u32', 1));
  const [dst] = operands;
  const write = (operand: Operand | undefined, value: Register) => ctx.write(operand, value);
  if (dst?.kind === 'pair') {
    write(dst.first, first);
    write(dst.second, builder.compare('eq', 'u32', first, ctx.special('%laneid')));
  } else write(dst, first);
};

const barrier: Handler = (ctx, { opcode, operands }) => {
  const { parts } = opcode;
  ctx.builder.emit({ op: 'barrier', scope: parts.includes('warp') ? 'warp' : 'block' });
  if (!parts.includes('red')) return;
  const said = operands.at(-1);
  const fn = parts.includes('popc') ? 'blockCount' : parts.includes('and') ? 'blockAll' : 'blockAny';
  // a number of threads before the predicate: only some of the block come to it
  if (operands.length > 3) ctx.writeUnknown(operands[0], `${opcode.text}: a vote of a part of the block`);
  else ctx.write(operands[0], lane(ctx, fn, fn === 'blockCount' ? 'u32' : 'pred', ctx.read(said, 'pred')));
};

/** Products of matrices: data that no address depends on. */
const tensor: Handler = (ctx, { opcode, operands }) => {
  ctx.builder.emit({ op: 'work', unit: 'tensor', count: 1 });
  ctx.writeUnknown(operands[0], `${opcode.text}: values of matrices are not computed`);
};

/** Accesses that are not counted: said so, and their results unknown. */
const named: Handler = (ctx, { opcode, operands }) => {
  ctx.skipAccess(`${opcode.text} is not counted`);
  ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
};

/** mbarrier: waiting succeeds, as it does in the end. */
const memoryBarrier: Handler = (ctx, { opcode, operands }) => {
  const isWait = opcode.parts.includes('try_wait') || opcode.parts.includes('test_wait');
  if (isWait) ctx.write(operands[0], ctx.builder.constant('pred', 1));
  else ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
};

const nothing: Handler = () => {};

/** Results known at run time only. */
const unknown: Handler = (ctx, { opcode, operands }) => {
  ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
};

export const warp: Readonly<Record<string, Handler>> = {
  shfl: shuffle,
  vote,
  match,
  redux: reduce,
  elect,
  activemask: (ctx, { operands }) => ctx.write(operands[0], lane(ctx, 'activeMask', 'u32', undefined)),
  bar: barrier,
  barrier,
  mma: tensor,
  wgmma: (ctx, instruction) => {
    if (instruction.opcode.parts[1] !== 'mma_async') return;
    ctx.skipAccess(`${instruction.opcode.text}: its reads of shared memory are not counted`);
    tensor(ctx, instruction);
  },
  tcgen05: named,
  tex: named,
  tld4: named,
  txq: unknown,
  suq: unknown,
  suld: named,
  sust: named,
  sured: named,
  multimem: named,
  mbarrier: memoryBarrier,
  call: nothing,
  membar: nothing,
  fence: nothing,
  prefetch: nothing,
  prefetchu: nothing,
  applypriority: nothing,
  discard: nothing,
  nanosleep: nothing,
  pmevent: nothing,
  brkpt: nothing,
  trap: nothing,
  setmaxnreg: nothing,
  griddepcontrol: nothing,
  tensormap: nothing,
  createpolicy: unknown,
  getctarank: unknown,
  mapa: unknown,
  istypep: unknown,
  alloca: unknown,
  stacksave: unknown,
  stackrestore: nothing,
  fns: unknown,
};
