/** Inline assembly: the few instructions that touch memory and are common; operands of others become unknown. */
import type { AsmStatement } from '../../parse/ast';
import { accessSite } from '../access-sites';
import { useValues } from '../calls';
import { type Context, skip } from '../context';
import { expression } from '../expressions';
import { store } from '../operators';
import { rvalue } from '../places';
import { types } from '../types';
import { type MemoryPlace, unknownValue, type Value } from '../values';
import { emitAsyncCopy } from './async-copy';

export function asmStatement(ctx: Context, node: AsmStatement): void {
  const text = node.template.replace(/\s+/g, ' ');
  const inputs = node.inputs.map((i) => rvalue(ctx, expression(ctx, i.expression), i.expression));
  if (asyncCopy(ctx, node, text, inputs)) return;
  if (matrixAccess(ctx, node, text, inputs)) return;
  if (laneRegister(ctx, node, text)) return;
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
    emitAsyncCopy(ctx, node, inputs[0], inputs[1], bytes);
  else skip(ctx, node, 'size of an asynchronous copy is not constant');
  return true;
}

/** ldmatrix and stmatrix */
function matrixAccess(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  const found = /\b(ld|st)matrix\.sync\.aligned\.(?:m8n8\.)?x([124])/.exec(text);
  if (!found) return false;
  const matrices = Number(found[2]) as 1 | 2 | 4;
  const direction = found[1] === 'ld' ? 'load' : 'store';
  const pointer = inputs[0];
  const address =
    pointer?.kind === 'scalar'
      ? ctx.builder.convert(ctx.builder.typeOf(pointer.register), 'i64', pointer.register)
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

/** mov.u32 %0, %laneid; */
function laneRegister(ctx: Context, node: AsmStatement, text: string): boolean {
  const found = /mov\.u32\s+%0,\s*%{1,2}(laneid|warpid)/.exec(text);
  if (!found || node.outputs.length !== 1) return false;
  const kind = found[1] === 'laneid' ? 'laneId' : 'warpId';
  const register = ctx.builder.input('u32', { kind }, found[1]);
  store(ctx, expression(ctx, node.outputs[0].expression), { kind: 'scalar', type: types.uint, register }, node);
  return true;
}
