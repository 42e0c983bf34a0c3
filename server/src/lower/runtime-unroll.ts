/**
 * Loops whose number of iterations is known only at run time, but computed from values that do not change in the loop: the
 * compiler writes four iterations in one, and the one to three left over apart. Evidence (nvcc 13.0, sm_90, machine code of 13
 * kernels; H200: volume_3d.cu:30, branches.cu:54, text of rankSort in bitonic_sort.cu:87):
 *
 * - the step is a constant; with `i += blockDim.x` the loop stays as it is, and so it does with `i += warp.size()`, which becomes
 *   a constant too late (PTX of two softmax kernels with tiles of 32);
 * - one way out: no break, return or barrier, no loop inside, no call that is not inlined; sine, cosine and tangent
 *   of full precision have a loop in them (PTX: expf, logf, sqrtf, tanhf and divisions are no trouble);
 * - a loop that starts at a constant runs the rest behind the four (neighbouring loads of the four then merge), any other
 *   before them: lanes with different counts are then at different places of the array in the same instruction.
 */
import type * as ast from '../parse/ast';
import { isSimple } from './conditional';
import { constantOf } from './constants';
import type { Context } from './context';
import { convertRegister } from './conversions';
import { expression } from './expressions';
import { lookupName } from './lookup';
import { readRegister, rvalue } from './places';

export const RUNTIME_FACTOR = 4;
/** Source tokens of a body up to which the compiler writes it four times. */
const LARGEST_BODY = 120;

export interface RuntimeTrips {
  /** i32: iterations left when the loop is entered, at least 0. */
  readonly trips: number;
  readonly restFirst: boolean;
}

/** Computes the trip count in front of the loop; undefined where the compiler does not unroll it. */
export function runtimeTrips(ctx: Context, node: ast.ForStatement): RuntimeTrips | undefined {
  const { condition, increment, body } = node;
  if (condition?.kind !== 'binary' || !increment) return undefined;
  if (body.last - body.first + 1 > LARGEST_BODY || !isPlainBody(body, 0)) return undefined;
  const name = nameOf(
    increment.kind === 'unary' ? increment.operand : increment.kind === 'assign' ? increment.left : undefined,
  );
  const step = name === undefined ? undefined : stepOf(ctx, increment);
  if (name === undefined || !step) return undefined;
  const onLeft = nameOf(condition.left) === name;
  const bound = onLeft ? condition.right : nameOf(condition.right) === name ? condition.left : undefined;
  const operator = onLeft ? condition.operator : mirrored[condition.operator];
  const inclusive = operator === '<=' || operator === '>=';
  if (!bound || !(step > 0 ? /^<=?$/ : /^>=?$/).test(operator ?? '') || !isSimple(bound)) return undefined;
  if (changes(body, new Set([name, ...namesIn(bound)]), 0) || readsMemory(ctx, bound)) return undefined;
  return countTrips(ctx, name, bound, step, inclusive);
}

const mirrored: Record<string, string> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

function nameOf(node: ast.Expression | undefined): string | undefined {
  return node?.kind === 'name' && node.name.parts.length === 1 ? node.name.parts[0].name : undefined;
}

function stepOf(ctx: Context, node: ast.Expression): number | undefined {
  if (node.kind === 'unary') return node.operator.includes('++') ? 1 : node.operator.includes('--') ? -1 : undefined;
  if (node.kind !== 'assign' || (node.operator !== '+=' && node.operator !== '-=')) return undefined;
  if (node.right.kind === 'call' && node.right.callee.kind === 'member') return undefined;
  const by = constantOf(ctx, node.right);
  return by === undefined || by <= 0 ? undefined : node.operator === '+=' ? by : -by;
}

function countTrips(
  ctx: Context,
  name: string,
  bound: ast.Expression,
  step: number,
  inclusive: boolean,
): RuntimeTrips | undefined {
  const b = ctx.builder;
  const entity = lookupName(ctx, ctx.scope, name);
  const place = entity?.kind === 'value' && entity.value.kind === 'place' ? entity.value.place : undefined;
  if (place?.kind !== 'storage' || place.storage.kind !== 'scalar') return undefined;
  const variable = place.storage.register;
  if (!/^[iu](32|64)$/.test(b.typeOf(variable))) return undefined;
  const limit = rvalue(ctx, expression(ctx, bound), bound);
  if (limit.kind !== 'scalar' || !/^[iu]/.test(b.typeOf(limit.register))) return undefined;
  const start = readRegister(ctx, variable);
  const isConstant = b.constantValue(start) !== undefined;
  const from = convertRegister(ctx, start, b.typeOf(start), 'i64');
  const to = convertRegister(ctx, limit.register, b.typeOf(limit.register), 'i64');
  const distance = step > 0 ? b.binary('sub', 'i64', to, from) : b.binary('sub', 'i64', from, to);
  const size = Math.abs(step);
  const up = b.binary('add', 'i64', distance, b.constant('i64', size - (inclusive ? 0 : 1)));
  const trips = b.binary('div', 'i64', up, b.constant('i64', size));
  return {
    trips: b.convert('i64', 'i32', b.binary('max', 'i64', trips, b.constant('i64', 0))),
    restFirst: !isConstant,
  };
}

const barriers = new Set(['__syncthreads', '__syncwarp', 'sync', 'wait', '__trap']);
/** Their reduction of large arguments is a loop. */
const loops = /^(sin|cos|tan|sincos)f?$/;

/** Nothing that keeps the compiler from writing the body several times. */
function isPlainBody(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return true;
  if (Array.isArray(value)) return value.every((v) => isPlainBody(v, depth + 1));
  const node = value as ast.Expression | ast.Statement;
  switch (node.kind) {
    case 'break':
    case 'continue':
    case 'return':
    case 'goto':
    case 'for':
    case 'while':
    case 'do':
    case 'rangeFor':
    case 'switch':
    case 'asm':
    case 'lambda':
      return false;
    case 'call': {
      const callee = node.callee.kind === 'name' ? node.callee.name.parts.at(-1)?.name : undefined;
      if (!callee || barriers.has(callee) || loops.test(callee) || /^(__shfl|atomic|__ballot|__any|__all)/.test(callee))
        return false;
      break;
    }
    default:
      break;
  }
  return Object.values(node).every((v) => isPlainBody(v, depth + 1));
}

function namesIn(value: unknown, found: string[] = []): string[] {
  if (typeof value !== 'object' || value === null || value instanceof Set) return found;
  if (Array.isArray(value)) for (const v of value) namesIn(v, found);
  else {
    const name = nameOf(value as ast.Expression);
    if (name) found.push(name);
    for (const v of Object.values(value)) namesIn(v, found);
  }
  return found;
}

/** A bound in memory is read again every time, since a store of the body may change it (PTX of `i < deviceCounter`). */
function readsMemory(ctx: Context, bound: ast.Expression): boolean {
  return namesIn(bound).some((name) => {
    const entity = lookupName(ctx, ctx.scope, name);
    if (entity?.kind === 'global') return entity.declaration.specifiers.isDevice === true;
    return entity?.kind === 'value' && entity.value.kind === 'place' && entity.value.place.kind === 'memory';
  });
}

function changes(value: unknown, names: ReadonlySet<string>, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return false;
  if (Array.isArray(value)) return value.some((v) => changes(v, names, depth + 1));
  const node = value as ast.Expression;
  const target =
    node.kind === 'assign'
      ? node.left
      : node.kind === 'unary' && /\+\+|--|^&$/.test(node.operator)
        ? node.operand
        : undefined;
  const name = nameOf(target);
  if (name !== undefined && names.has(name)) return true;
  return Object.values(node).some((v) => changes(v, names, depth + 1));
}
