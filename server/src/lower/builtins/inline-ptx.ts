/**
 * Inline assembly: the few instructions that touch memory and are common, and those that only compute (`inline-computation.ts`);
 * operands of others become unknown.
 */
import { isSwapLoop } from '../../hardware/atomic-class';
import type { AsmStatement, Expression, Node } from '../../parse/ast';
import { bytesOf, type Register, type ScalarType } from '../../program/program';
import { accessSite } from '../access-sites';
import { type Context, skip } from '../context';
import { expression } from '../expressions';
import { emitFence } from '../fences';
import { standingAt, store } from '../operators';
import { rvalue } from '../places';
import { sharedPointer, toSharedOffset } from '../shared-window';
import { isFloat, type Type, types } from '../types';
import { useValues } from '../unknown-calls';
import { type MemoryPlace, unknownValue, type Value } from '../values';
import { emitAsyncCopy } from './async-copy';
import { atomicClass, atomicFunctionOf } from './atomics';
import { computedOutputs } from './inline-computation';
import { behindGuard, guardOf, readBehind } from './inline-guard';

export function asmStatement(ctx: Context, node: AsmStatement): void {
  const text = node.template.replace(/\s+/g, ' ');
  const inputs = node.inputs.map((i) => rvalue(ctx, expression(ctx, i.expression), i.expression));
  const ordersMemory = /\b(membar|fence)\./.test(text);
  if (node.isVolatile || node.outputs.length === 0) emitFence(ctx, ordersMemory ? 'memory' : 'code');
  if (asyncCopy(ctx, node, text, inputs)) return;
  if (matrixAccess(ctx, node, text, inputs)) return;
  if (sharedOffset(ctx, node, text, inputs)) return;
  if (plainAccess(ctx, node, text, inputs) || atomicAccess(ctx, node, text, inputs)) return;
  if (computes(ctx, node, inputs)) return;
  useOperands(ctx, operandsOf(ctx, node, inputs));
  for (const output of node.outputs)
    store(
      ctx,
      placeOfOutput(ctx, node, output),
      unknownValue({ kind: 'unknown', reason: 'inline assembly' }, 'result of inline assembly'),
      output.expression,
    );
  if (touchesMemory(text)) skip(ctx, node, `inline assembly is not followed: ${firstWord(text)}`);
}

const firstWord = (text: string): string => text.trim().replace(/^\{/, '').trim().split(/[\s;]/)[0] || 'asm';
const touchesMemory = (text: string): boolean =>
  /\b(ld|st|atom|red|wmma\.load|wmma\.store|cp\.async\.bulk)\./.test(text);

/** cp.async.{ca,cg}.shared.global [dst], [src], bytes {, bytes that are read} {, policy} */
function asyncCopy(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  if (!/\bcp\.async\.(ca|cg)\.shared/.test(text)) return /\bcp\.async\.(commit_group|wait_group|wait_all)/.test(text);
  const [, size, second, third] =
    /\],\s*(%\d+|\d+)(?:\s*,\s*(%\d+|\d+))?(?:\s*,\s*(%\d+))?/.exec(text.slice(text.lastIndexOf('['))) ?? [];
  const operand = (name: string | undefined): Value | undefined =>
    name?.startsWith('%') ? inputs[Number(name.slice(1)) - node.outputs.length] : undefined;
  const named = operand(size);
  const reading = third === undefined && /cache_hint/.test(text) ? undefined : operand(second);
  const bytes = named?.kind === 'scalar' ? ctx.builder.constantValue(named.register) : Number(size);
  const addresses = /\[\s*(%\d+)\s*\]\s*,\s*\[\s*(%\d+)\s*\]/.exec(text);
  const [to, from] = addresses ? [operand(addresses[1]), operand(addresses[2])] : inputs;
  if ((bytes === 4 || bytes === 8 || bytes === 16) && to && from) {
    const around = behindGuard(ctx, node, guardOf(ctx, text, operandsOf(ctx, node, inputs)));
    emitAsyncCopy(ctx, node, to, from, bytes, /\bcp\.async\.cg\b/.test(text), reading, around);
  } else skip(ctx, node, 'size of an asynchronous copy is not constant');
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
  const isTransposed = /\.trans\b/.test(text);
  ctx.builder.emit({ op: 'matrix', direction, matrices, isTransposed, dst, address, access });
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
  store(ctx, placeOfOutput(ctx, node, node.outputs[0]), { kind: 'scalar', type: types.ulong, register }, node);
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

const accessPattern = /\b(ld|st|atom|red)\.([\w.:]+)\s+([^;]*);/g;

/** One access of a register or a few to shared or global memory, as it is written: `ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];` */
interface WrittenAccess {
  readonly kind: string;
  /** What stands behind it: `global`, `nc`, `v4`. */
  readonly suffixes: readonly string[];
  readonly type: ScalarType;
  /** Its operands but for the address, by their numbers in the statement. */
  readonly operands: readonly number[];
  readonly pointer: Value;
  readonly offset: number;
}

/** The only access of a statement; undefined where there are several, or it is of a kind that is not understood. */
function writtenAccess(node: AsmStatement, text: string, inputs: readonly Value[]): WrittenAccess | undefined {
  const [found, ...others] = text.matchAll(accessPattern);
  if (!found || others.length > 0) return undefined;
  const [, kind, behind, written] = found;
  const suffixes = behind.split('.');
  const type = machineTypes[suffixes[suffixes.length - 1]];
  const address = /\[\s*%(\d+)\s*(?:\+\s*(\d+)\s*)?\]/.exec(written);
  const pointer = address ? inputs[Number(address[1]) - node.outputs.length] : undefined;
  if (!type || !address || !pointer || suffixes.includes('param')) return undefined;
  const operands = [...written.replace(address[0], '').matchAll(/%(\d+)/g)].map(([, i]) => Number(i));
  return { kind, suffixes, type, operands, pointer, offset: Number(address[2] ?? 0) };
}

/** Its address, and the place with it. */
function placeIn(ctx: Context, node: AsmStatement, { suffixes, pointer, offset: behind }: WrittenAccess): MemoryPlace {
  const base = suffixes.some((s) => /^shared/.test(s))
    ? sharedPointer(ctx, pointer, 'address in inline assembly')
    : pointer.kind === 'scalar'
      ? ctx.builder.convert(ctx.builder.typeOf(pointer.register), 'i64', pointer.register)
      : ctx.builder.unknown('i64', pointer.kind === 'unknown' ? pointer.reason : 'address in inline assembly');
  const full = ctx.builder.binary('add', 'i64', base, ctx.builder.constant('i64', behind));
  const { register, offset } = ctx.builder.splitAddress(full);
  const readOnly = suffixes.includes('nc');
  return { kind: 'memory', address: register, offset, node, readOnly, isAssembly: true };
}

function operandOf(ctx: Context, type: ScalarType, value: Value | undefined): Register {
  return value?.kind === 'scalar'
    ? ctx.builder.convert(ctx.builder.typeOf(value.register), type, value.register)
    : ctx.builder.unknown(type, 'operand of inline assembly');
}

/** Where an output is stored: all of them with the last operand, which nvcc looks at last (line tables of 20 kernels). */
const placeOfOutput = (ctx: Context, node: AsmStatement, output: AsmStatement['outputs'][number]): Value =>
  standingAt(
    expression(ctx, output.expression),
    lastOf((node.inputs.at(-1) ?? node.outputs.at(-1) ?? output).expression),
  );

/** What is computed last of an expression. */
function lastOf(node: Expression): Node {
  switch (node.kind) {
    case 'binary':
      return lastOf(node.right);
    case 'unary':
      return lastOf(node.operand);
    case 'index':
      return lastOf(node.indices[node.indices.length - 1] ?? node.base);
    case 'cast':
      return node.arguments.length === 0 ? node : lastOf(node.arguments[node.arguments.length - 1]);
    default:
      return node;
  }
}

function storeOutput(
  ctx: Context,
  node: AsmStatement,
  output: AsmStatement['outputs'][number],
  type: ScalarType,
  register: Register,
): void {
  const value: Value = { kind: 'scalar', type: typeOfMachine(type), register };
  store(ctx, placeOfOutput(ctx, node, output), value, output.expression);
}

/** `ld` and `st` */
function plainAccess(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  const written = writtenAccess(node, text, inputs);
  if (written?.kind !== 'ld' && written?.kind !== 'st') return false;
  const { suffixes, type, operands } = written;
  if (operands.length !== (suffixes.includes('v4') ? 4 : suffixes.includes('v2') ? 2 : 1)) return false;
  const place = placeIn(ctx, node, written);
  const { address, offset } = place;
  const isLoad = written.kind === 'ld';
  const access = accessSite(ctx, place, isLoad ? 'load' : 'store', address);
  const given = operandsOf(ctx, node, inputs);
  if (!isLoad) {
    const values = operands.map((o) => operandOf(ctx, type, inputs[o - node.outputs.length]));
    const around = behindGuard(ctx, node, guardOf(ctx, text, given));
    around(() => ctx.builder.emit({ op: 'store', type, values, address, offset, access }));
    return true;
  }
  const dst = readBehind(ctx, { node, text, given }, type, operands, (loaded) =>
    ctx.builder.emit({ op: 'load', type, dst: loaded, address, offset, access }),
  );
  operands.forEach((o, i) => {
    const output = node.outputs[o];
    if (output) storeOutput(ctx, node, output, type, dst[i]);
  });
  return true;
}

/** `atom` and `red`, of one number: `atom.add.release.gpu.u32 %0, [%1], %2;` */
function atomicAccess(ctx: Context, node: AsmStatement, text: string, inputs: readonly Value[]): boolean {
  const written = writtenAccess(node, text, inputs);
  const fn = written?.suffixes.map((suffix) => atomicFunctionOf[suffix]).find((each) => each !== undefined);
  if (!written || !fn || (written.kind !== 'atom' && written.kind !== 'red')) return false;
  const { type, suffixes } = written;
  const resultUsed = written.kind === 'atom';
  const given = written.operands.slice(resultUsed ? 1 : 0);
  if (given.length !== (fn === 'cas' ? 2 : 1) || suffixes.some((suffix) => /^v\d$|x2$/.test(suffix))) return false;
  const values = given.map((o) => operandOf(ctx, type, inputs[o - node.outputs.length]));
  const place = placeIn(ctx, node, written);
  const { address, offset } = place;
  const value = values[values.length - 1];
  const mayBeShared = suffixes.some((suffix) => suffix.startsWith('shared'));
  const atomic = atomicClass(ctx, { fn, bytes: bytesOf[type], isFloat: isFloat(type), mayBeShared }, value, resultUsed);
  if (mayBeShared && isSwapLoop(atomic)) return false;
  const access = accessSite(ctx, place, 'atomic', address, { atomic, resultUsed });
  const compare = fn === 'cas' ? values[0] : undefined;
  const statement = { node, text, given: operandsOf(ctx, node, inputs) };
  const [dst] = readBehind(ctx, statement, type, resultUsed ? [written.operands[0]] : [], ([read]) =>
    ctx.builder.emit({ op: 'atomic', fn, type, dst: read, address, offset, value, compare, access }),
  );
  const output = resultUsed ? node.outputs[written.operands[0]] : undefined;
  if (output && dst !== undefined) storeOutput(ctx, node, output, type, dst);
  return true;
}

const typeOfMachine = (type: ScalarType): Type => ({ kind: 'scalar', scalar: type, name: type });

/** The values of all operands by number; of outputs only those that are read (`+r`). */
function operandsOf(ctx: Context, node: AsmStatement, inputs: readonly Value[]): readonly (Value | undefined)[] {
  const read = node.outputs.map(({ constraint, expression: output }) =>
    constraint.includes('+') ? rvalue(ctx, expression(ctx, output), output) : undefined,
  );
  return [...read, ...inputs];
}

const useOperands = (ctx: Context, given: readonly (Value | undefined)[]): void =>
  useValues(
    ctx,
    given.flatMap((value) => value ?? []),
  );

/** Instructions that touch no memory: what they make of the inputs. */
function computes(ctx: Context, node: AsmStatement, inputs: readonly Value[]): boolean {
  const given = operandsOf(ctx, node, inputs);
  const computed = computedOutputs(ctx, node, given);
  if (!computed) return false;
  if (computed.losesOperands) useOperands(ctx, given);
  computed.outputs.forEach(({ type, register }, i) => {
    storeOutput(ctx, node, node.outputs[i], type, register);
  });
  return true;
}
