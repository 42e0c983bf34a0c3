/**
 * Loops whose number of iterations is known only at run time, but computed from values that do not change in the loop: the
 * compiler writes four iterations in one (two of a larger body, as many as a pragma says), and those left over apart. Evidence (nvcc 13.0, sm_90, machine
 * code of 13 kernels, PTX of 160 loops with pragmas; H200: volume_3d.cu:30, branches.cu:54, text of rankSort in bitonic_sort.cu:87):
 *
 * - the variable cannot run past its bound and on from the other end (`steady-count.ts`), so that the passes can be counted: an `int` with
 *   `i += blockDim.x`, which is a sum of unsigned numbers, stays as it is, `i += (int)blockDim.x` and a `long long` do not;
 * - the step is a constant or does not change; with `i += warp.size()` the loop stays as it is, since that becomes
 *   a constant too late (PTX of two softmax kernels with tiles of 32);
 * - one way out: no break or return (`continue` is none: PTX of 7 loops), no loop inside that stays one, no call that is not inlined (`plain-bodies.ts`); sine, cosine and tangent
 *   of full precision have a loop in them (PTX: expf, logf, sqrtf, tanhf and divisions are no trouble);
 * - atomics do not keep it from that where the step is a constant; where it is not the loop stays as it is (PTX of 66 loops with twelve kinds of atomics);
 * - barriers do not keep it from that (PTX of 14 loops), but nothing merges over them: such loops are left as they are here, which counts the same;
 * - a loop that starts at a constant, or hands on another integer that does (`carried-constants.ts`), runs the rest behind the four (neighbouring loads of the four then merge where it is the counter), any other
 *   before them: lanes with different counts are then at different places of the array in the same instruction.
 */
import { anywhere, assignedBy } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { compoundStep } from '../parse/plain-step';
import { launchVariables } from './builtins/variables';
import { calledFunction } from './called-functions';
import { carriesConstant } from './carried-constants';
import { isSimple } from './conditional';
import { constantOf } from './constants';
import type { Context } from './context';
import { convertRegister } from './conversions';
import { expression } from './expressions';
import { lookupName } from './lookup';
import { innerLoopsOf, isWrittenOutWithin, plainTokens, sizeOf } from './loop-size';
import { passCost } from './pass-cost';
import { readRegister, rvalue } from './places';
import { hasAtomic, hasPlainBody } from './plain-bodies';
import { isSteady } from './steady-count';
import { mirrored, nameOf } from './trip-count';
import { sizeOf as bytesOf } from './types';
import { isUnchanging } from './unchanging-bounds';

/**
 * Instructions of a pass up to which the compiler writes it four times and two times, without and with `#pragma unroll`; where they cannot be told
 * (`pass-cost.ts`), tokens of the source with the functions that it calls.
 */
const LARGEST_BODIES = [
  { factor: 4, cost: 48, tokens: 200 },
  { factor: 2, cost: 91, tokens: 350 },
];
/**
 * The same where loops in the body are written out first. Their copies are plainer than other text, all instructions and no names: PTX of 95 loops around
 * `for (k = 0; k < 8; k++)` over sums and products of two arrays (four times up to some 130 such tokens, two times up to some 220).
 */
const LARGEST_WITH_LOOPS = [
  { factor: 4, tokens: 135 },
  { factor: 2, tokens: 225 },
];
/** Bodies with `continue` up to which that is known; those that are larger stay (H200: batchsolve.cu:101). */
const LARGEST_WITH_CONTINUE = 100;
const LARGEST_FACTOR = 32;

export interface RuntimeTrips {
  /** i32: iterations left when the loop is entered, at least 0. */
  readonly trips: number;
  /** Iterations in one pass. */
  readonly factor: number;
  readonly restFirst: boolean;
  /** The variable's step is known only at run time. */
  readonly hasOpenStep: boolean;
}

/** What `for (…; i + 1 < n; i += 2)` counts, where the compiler unrolls it. */
interface Counting {
  readonly name: string;
  readonly bound: ast.Expression;
  /** What the condition adds to the variable. */
  readonly ahead: number;
  /** An expression where it is known only at run time: it is taken to be positive. */
  readonly step: number | ast.Expression;
  readonly inclusive: boolean;
}

/** Computes the trip count in front of the loop; undefined where the compiler does not unroll it. */
export function runtimeTrips(ctx: Context, node: ast.ForStatement): RuntimeTrips | undefined {
  const counting = countingOf(ctx, node);
  if (!counting || readsMemory(ctx, counting.bound)) return undefined;
  if (typeof counting.step !== 'number' && readsMemory(ctx, counting.step)) return undefined;
  const factor = factorOf(ctx, node, counting.name);
  if (factor === undefined) return undefined;
  const counted = countTrips(ctx, node, counting);
  return counted && { ...counted, factor };
}

/** The same question of a loop whose variables need not be declared yet. */
export function isWrittenInFours(ctx: Context, node: ast.ForStatement): boolean {
  const counting = countingOf(ctx, node);
  if (counting === undefined || (typeof counting.step !== 'number' && isOfLaunch(counting.step))) return false;
  return factorOf(ctx, node, counting.name) === 4;
}

/** `blockDim.x` as it is, unsigned: passes of an `int` that steps by it cannot be counted (steady-count.ts). */
function isOfLaunch(step: ast.Expression): boolean {
  return anywhere(step, (node) => {
    if (node.kind === 'cast') return 'closed';
    return node.kind === 'name' && launchVariables.has(node.name.parts[0].name);
  });
}

/** The number of a pragma, or what fits; undefined for none. */
function factorOf(ctx: Context, node: ast.ForStatement, counter: string): number | undefined {
  const { unroll, body } = node;
  if (unroll !== undefined && ctx.budget.keepsLoops) return undefined;
  if (unroll === undefined || unroll === 'full') {
    const cost = passCost(ctx, node, counter);
    if (cost !== undefined) return LARGEST_BODIES.find((each) => cost <= each.cost)?.factor;
    const tokens = plainTokens(sizeOf(ctx, body));
    if (continues(body)) return tokens <= LARGEST_WITH_CONTINUE ? 4 : undefined;
    const largest = innerLoopsOf(body).length > 0 ? LARGEST_WITH_LOOPS : LARGEST_BODIES;
    return largest.find((each) => tokens <= each.tokens)?.factor;
  }
  const factor = constantOf(ctx, unroll);
  return factor !== undefined && factor > 1 && factor <= LARGEST_FACTOR ? factor : undefined;
}

function countingOf(ctx: Context, node: ast.ForStatement): Counting | undefined {
  const { condition, increment, body } = node;
  if (condition?.kind !== 'binary' || !increment) return undefined;
  if (!hasPlainBody(ctx, body) || !innerLoopsOf(body).every((inner) => isWrittenOutWithin(ctx, inner)))
    return undefined;
  const name = nameOf(
    increment.kind === 'unary' ? increment.operand : increment.kind === 'assign' ? increment.left : undefined,
  );
  const step = name === undefined ? undefined : stepOf(ctx, increment);
  if (name === undefined || !step) return undefined;
  if (typeof step !== 'number' && hasAtomic(body)) return undefined;
  const onLeft = isAhead(condition.left, name);
  const bound = onLeft ? condition.right : isAhead(condition.right, name) ? condition.left : undefined;
  const operator = onLeft ? condition.operator : mirrored[condition.operator];
  const inclusive = operator === '<=' || operator === '>=';
  const isUp = typeof step !== 'number' || step > 0;
  if (!bound || !(isUp ? /^<=?$/ : /^>=?$/).test(operator ?? '')) return undefined;
  if (!isSimple(bound) && !isUnchanging(ctx, bound, body)) return undefined;
  if (changesCount(ctx, node, name, bound, typeof step === 'number' ? undefined : step)) return undefined;
  const ahead = aheadOf(ctx, onLeft ? condition.left : condition.right);
  return ahead === undefined ? undefined : { name, bound, ahead, step, inclusive };
}

/** `i`, `i + 1` or `i - 1` */
function isAhead(node: ast.Expression, name: string): boolean {
  if (node.kind !== 'binary') return nameOf(node) === name;
  return (node.operator === '+' || node.operator === '-') && nameOf(node.left) === name;
}

function aheadOf(ctx: Context, node: ast.Expression): number | undefined {
  if (node.kind !== 'binary') return 0;
  const by = constantOf(ctx, node.right);
  return by === undefined || node.operator === '+' ? by : -by;
}

function stepOf(ctx: Context, increment: ast.Expression): number | ast.Expression | undefined {
  if (increment.kind === 'unary')
    return increment.operator.includes('++') ? 1 : increment.operator.includes('--') ? -1 : undefined;
  const node = compoundStep(increment) ?? increment;
  if (node.kind !== 'assign' || (node.operator !== '+=' && node.operator !== '-=')) return undefined;
  if (node.right.kind === 'call' && node.right.callee.kind === 'member') return undefined;
  const by = constantOf(ctx, node.right);
  if (by === undefined) return node.operator === '+=' && isSimple(node.right) ? node.right : undefined;
  return by <= 0 ? undefined : node.operator === '+=' ? by : -by;
}

function countTrips(
  ctx: Context,
  node: ast.ForStatement,
  counting: Counting,
): Omit<RuntimeTrips, 'factor'> | undefined {
  const { name, bound, inclusive } = counting;
  const b = ctx.builder;
  const entity = lookupName(ctx, ctx.scope, name);
  const value = entity?.kind === 'value' && entity.value.kind === 'place' ? entity.value : undefined;
  if (value?.place.kind !== 'storage' || value.place.storage.kind !== 'scalar') return undefined;
  const variable = value.place.storage.register;
  if (!/^[iu](32|64)$/.test(b.typeOf(variable))) return undefined;
  const hasOpenStep = typeof counting.step !== 'number';
  // a pointer moves by what it points to
  const unit = value.type.kind === 'pointer' ? bytesOf(value.type.to) : 1;
  if (unit === undefined || (hasOpenStep && unit !== 1)) return undefined;
  const step = typeof counting.step === 'number' ? counting.step * unit : counting.step;
  const ahead = counting.ahead * unit;
  const limit = integerOf(ctx, bound);
  const by = typeof step === 'number' ? step : integerOf(ctx, step);
  if (limit === undefined || by === undefined) return undefined;
  const start = readRegister(ctx, variable);
  const steps = hasOpenStep ? ({ kind: 'open', register: by } as const) : ({ kind: 'constant', by } as const);
  if (!isSteady(b, { start, limit, bound, inclusive, steps })) return undefined;
  const from = b.binary('add', 'i64', convertRegister(ctx, start, b.typeOf(start), 'i64'), b.constant('i64', ahead));
  const to = convertRegister(ctx, limit, b.typeOf(limit), 'i64');
  const isUp = typeof step !== 'number' || step > 0;
  const distance = isUp ? b.binary('sub', 'i64', to, from) : b.binary('sub', 'i64', from, to);
  const size =
    typeof step === 'number' ? b.constant('i64', Math.abs(step)) : convertRegister(ctx, by, b.typeOf(by), 'i64');
  const more = inclusive ? size : b.binary('sub', 'i64', size, b.constant('i64', 1));
  const trips = b.binary('div', 'i64', b.binary('add', 'i64', distance, more), size);
  return {
    trips: b.convert('i64', 'i32', b.binary('max', 'i64', trips, b.constant('i64', 0))),
    restFirst: b.constantValue(start) === undefined && !carriesConstant(ctx, node),
    hasOpenStep,
  };
}

/** The value of an expression, as a register; undefined if it is no integer. */
function integerOf(ctx: Context, node: ast.Expression): number | undefined {
  const value = rvalue(ctx, expression(ctx, node), node);
  return value.kind === 'scalar' && /^[iu]/.test(ctx.builder.typeOf(value.register)) ? value.register : undefined;
}

const continues = (body: ast.Statement): boolean => anywhere(body, ({ kind }) => kind === 'continue');

/** By loop, for a constant step and for an open one. */
const countChanges = {
  constant: new WeakMap<ast.ForStatement, boolean>(),
  open: new WeakMap<ast.ForStatement, boolean>(),
};

/** Whether the body changes what decides how often it runs. */
function changesCount(
  ctx: Context,
  node: ast.ForStatement,
  name: string,
  bound: ast.Expression,
  openStep: ast.Expression | undefined,
): boolean {
  const known = openStep ? countChanges.open : countChanges.constant;
  let found = known.get(node);
  if (found === undefined) {
    const names = new Set([name, ...namesIn(bound), ...(openStep ? namesIn(openStep) : [])]);
    known.set(node, (found = changes(ctx, node.body, names)));
  }
  return found;
}

export function namesIn(value: unknown, found: string[] = []): string[] {
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

function changes(ctx: Context, body: object, names: ReadonlySet<string>): boolean {
  return anywhere(body, (node) => {
    const isAddress = node.kind === 'unary' && node.operator === '&';
    const name = nameOf(isAddress ? node.operand : (assignedBy(node) ?? changedObject(ctx, node)));
    return name !== undefined && names.has(name);
  });
}

/** The object whose method is called, which may change it. */
function changedObject(ctx: Context, node: ast.Expression | ast.Statement): ast.Expression | undefined {
  if (node.kind !== 'call' || node.callee.kind !== 'member' || node.callee.arrow) return undefined;
  return calledFunction(ctx, node)?.isConst === true ? undefined : node.callee.object;
}
