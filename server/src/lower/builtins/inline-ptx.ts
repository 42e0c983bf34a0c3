/** Inline assembly: the few instructions that touch memory and are common; operands of others become unknown. */
import type { AsmStatement } from '../../parse/ast';
import type { ScalarType } from '../../program/program';
import { accessSite } from '../access-sites';
import { type Context, skip } from '../context';
import { expression } from '../expressions';
import { emitFence } from '../fences';
import { store } from '../operators';
import { rvalue } from '../places';
import { sharedPointer, toSharedOffset } from '../shared-window';
import { type Type, types } from '../types';
import { useValues } from '../unknown-calls';
import { type MemoryPlace, unknownValue, type Value } from '../values';
import { emitAsyncCopy } from './async-copy';

export function asmStatement(ctx: Context, node: AsmStatement): void {
  const text = node.template.replace(/\s+/g, ' ');
  const inputs = node.inputs.map((i) => rvalue(ctx, expression(ctx, i.expression), i.expression));
  const ordersMemory = /\b(membar|fence)\./.test(text);
  if (node.isVolatile || node.outputs.length === 0) emitFence(ctx, ordersMemory ? 'memory' : 'code');
  if (asyncCopy(ctx, node, text, inputs)) return;
  if (matrixAccess(ctx, node, text, inputs)) return;
  if (laneRegister(ctx, node, text)) return;
  if (sharedOffset(ctx, node, text, inputs)) return;
  if (plainAccess(ctx, node, text, inputs)) return;
  useValues(ctx, inputs);
  for (const output of node.outputs)
    store(
      ctx,
      expression(ctx, output.expression),
      unknownValue({ kind: 'unknown', reason: 'inline assembly' }, 'result of inline assembly'),
      output.expression,
    );
  if (touchesMemory(text)) skip(ctx, node, `inline assembly is not followed: ${firstWord(text)}`);
}

const firstWord = (text: string): string => text.trim().replace(/^\{/, '').trim().split(/[\s;]/)[0] || 'asm';
const touchesMemory = (text: string): boolean =>
  /\b(ld|st|atom|red|wmma\.load|wmma\.store|cp\.async\.bulk)\./.test(text);

/** cp.async.{ca,cg}.shared.global [dst], [src], bytes */
function asyncCopy(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  if (!/\bcp\.async\.(ca|cg)\.shared/.test(text)) return /\bcp\.async\.(commit_group|wait_group|wait_all)/.test(text);
  const size = /\],\s*(%\d+|\d+)/.exec(text.slice(text.lastIndexOf('[')))?.[1];
  const named = size?.startsWith('%') ? inputs[Number(size.slice(1)) - node.outputs.length] : undefined;
  const bytes = named?.kind === 'scalar' ? ctx.builder.constantValue(named.register) : Number(size);
  if ((bytes === 4 || bytes === 8 || bytes === 16) && inputs.length >= 2)
    emitAsyncCopy(ctx, node, inputs[0], inputs[1], bytes, /\bcp\.async\.cg\b/.test(text));
  else skip(ctx, node, 'size of an asynchronous copy is not constant');
  return true;
}

/** ldmatrix and stmatrix */
function matrixAccess(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  const found = /\b(ld|st)matrix\.sync\.aligned\.(?:m8n8\.)?x([124])/.exec(text);
  if (!found) return false;
  const matrices = Number(found[2]) as 1 | 2 | 4;
  const direction = found[1] === 'ld' ? 'load' : 'store';
  const address = inputs[0]
    ? sharedPointer(ctx, inputs[0], 'address of ldmatrix')
    : ctx.builder.unknown('i64', 'address of ldmatrix');
  const place: MemoryPlace = { kind: 'memory', address, offset: 0, node };
  const dst = direction === 'load' ? node.outputs.map(() => ctx.builder.register('u32', 'temporary')) : [];
  const access = accessSite(ctx, place, direction, address);
  ctx.builder.emit({ op: 'matrix', direction, matrices, dst, address, access });
  node.outputs.forEach((output, i) => {
    store(
      ctx,
      expression(ctx, output.expression),
      { kind: 'scalar', type: types.uint, register: dst[i] },
      output.expression,
    );
  });
  return true;
}

/** `{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }` */
function sharedOffset(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  const [pointer] = inputs;
  if (!/\bcvta\.to\.shared/.test(text) || node.outputs.length !== 1 || pointer?.kind !== 'scalar') return false;
  const register = toSharedOffset(ctx, pointer.register);
  store(ctx, expression(ctx, node.outputs[0].expression), { kind: 'scalar', type: types.ulong, register }, node);
  return true;
}

const machineTypes: Readonly<Record<string, ScalarType>> = {
  b8: 'u8',
  u8: 'u8',
  s8: 'i8',
  b16: 'u16',
  u16: 'u16',
  s16: 'i16',
  f16: 'f16',
  b32: 'u32',
  u32: 'u32',
  s32: 'i32',
  f32: 'f32',
  b64: 'u64',
  u64: 'u64',
  s64: 'i64',
  f64: 'f64',
};

/** One `ld` or `st` of shared or global memory: `ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];` */
function plainAccess(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  const found = /\b(ld|st)\.([\w.:]+)\s+([^;]*);/.exec(text);
  if (!found || /\b(ld|st|atom|red)\./.test(text.slice((found.index ?? 0) + found[0].length))) return false;
  const suffixes = found[2].split('.');
  const type = machineTypes[suffixes[suffixes.length - 1]];
  const address = /\[\s*%(\d+)\s*(?:\+\s*(\d+)\s*)?\]/.exec(found[3]);
  if (!type || !address || suffixes.includes('param')) return false;
  const operands = [...found[3].replace(address[0], '').matchAll(/%(\d+)/g)].map(([, i]) => Number(i));
  const width = suffixes.includes('v4') ? 4 : suffixes.includes('v2') ? 2 : 1;
  const pointer = inputs[Number(address[1]) - node.outputs.length];
  if (!pointer || operands.length !== width) return false;
  const base = suffixes.some((s) => /^shared/.test(s))
    ? sharedPointer(ctx, pointer, 'address in inline assembly')
    : pointer.kind === 'scalar'
      ? ctx.builder.convert(ctx.builder.typeOf(pointer.register), 'i64', pointer.register)
      : ctx.builder.unknown('i64', pointer.kind === 'unknown' ? pointer.reason : 'address in inline assembly');
  const full = ctx.builder.binary('add', 'i64', base, ctx.builder.constant('i64', Number(address[2] ?? 0)));
  const { register, offset } = ctx.builder.splitAddress(full);
  const place: MemoryPlace = {
    kind: 'memory',
    address: register,
    offset,
    node,
    readOnly: suffixes.includes('nc'),
    isAssembly: true,
  };
  const isLoad = found[1] === 'ld';
  const access = accessSite(ctx, place, isLoad ? 'load' : 'store', register);
  if (!isLoad) {
    const values = operands.map((o) => {
      const value = inputs[o - node.outputs.length];
      return value?.kind === 'scalar'
        ? ctx.builder.convert(ctx.builder.typeOf(value.register), type, value.register)
        : ctx.builder.unknown(type, 'operand of inline assembly');
    });
    ctx.builder.emit({ op: 'store', type, values, address: register, offset, access });
    return true;
  }
  const dst = operands.map(() => ctx.builder.register(type, 'temporary'));
  ctx.builder.emit({ op: 'load', type, dst, address: register, offset, access });
  const valueType = typeOfMachine(type);
  operands.forEach((o, i) => {
    const output = node.outputs[o];
    if (output)
      store(
        ctx,
        expression(ctx, output.expression),
        { kind: 'scalar', type: valueType, register: dst[i] },
        output.expression,
      );
  });
  return true;
}

const typeOfMachine = (type: ScalarType): Type => ({ kind: 'scalar', scalar: type, name: type });

/** mov.u32 %0, %laneid; */
function laneRegister(ctx: Context, node: AsmStatement, text: string): boolean {
  const found = /mov\.u32\s+%0,\s*%{1,2}(laneid|warpid)/.exec(text);
  if (!found || node.outputs.length !== 1) return false;
  const kind = found[1] === 'laneid' ? 'laneId' : 'warpId';
  const register = ctx.builder.input('u32', { kind }, found[1]);
  store(ctx, expression(ctx, node.outputs[0].expression), { kind: 'scalar', type: types.uint, register }, node);
  return true;
}
