/** Loops whose number of iterations is a compile-time constant. */
import type * as ast from '../parse/ast';
import { compoundStep } from '../parse/plain-step';
import type { Cycle } from '../program/low-bits';
import type { Register } from '../program/program';
import { constantOf } from './constants';
import type { Context } from './context';
import { lookupName } from './lookup';

const LIMIT = 4096;

type Step = (value: number) => number;

/** What holds for two numbers, by its operator. */
export const comparisons: Record<string, (a: number, b: number) => boolean> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '!=': (a, b) => a !== b,
};

/** Comparisons with their sides changed over. */
export const mirrored: Readonly<Record<string, string>> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '==': '==',
  '!=': '!=',
};

const compound: Partial<Record<string, (value: number, by: number) => number>> = {
  '+=': (v, by) => v + by,
  '-=': (v, by) => v - by,
  '*=': (v, by) => v * by,
  '/=': (v, by) => Math.trunc(v / by),
  '<<=': (v, by) => v * 2 ** by,
  '>>=': (v, by) => Math.floor(v / 2 ** by),
};

/** Iterations of a for loop, after its initialiser was lowered; undefined when not constant or above 4096. */
export function tripCount(ctx: Context, node: ast.ForStatement): number | undefined {
  if (!node.condition || !node.increment) return undefined;
  const name = loopVariable(node.increment);
  if (!name || assignedNames(node.body).has(name)) return undefined;
  const start = constantVariable(ctx, name)?.value;
  const step = stepOf(ctx, node.increment);
  const test = testOf(ctx, node.condition, name);
  if (start === undefined || !step || !test) return undefined;
  let trips = 0;
  for (let value = start; test(value); value = step(value)) if (++trips > LIMIT) return undefined;
  return trips;
}

/**
 * Most iterations of `for (…; i < n && k < 4; k++)`: those that the part with a constant bound allows; undefined where neither part or
 * each of them has one.
 */
export function mostTrips(ctx: Context, node: ast.ForStatement): number | undefined {
  const { condition } = node;
  if (condition?.kind !== 'binary' || condition.operator !== '&&') return undefined;
  const left = tripCount(ctx, { ...node, condition: condition.left });
  const right = tripCount(ctx, { ...node, condition: condition.right });
  return left === undefined || right === undefined ? (left ?? right) : undefined;
}

/** The variable of a loop with a constant start and step, and its values in front of the passes, each of some bodies; undefined where it has none. */
export function loopCycle(
  ctx: Context,
  node: ast.ForStatement,
  bodies: number,
): { readonly register: Register; readonly cycle: Cycle } | undefined {
  const name = node.increment && loopVariable(node.increment);
  if (!node.increment || !name || assignedNames(node.body).has(name)) return undefined;
  const variable = constantVariable(ctx, name);
  const step = stepOf(ctx, node.increment);
  if (!variable || !step || step(1) - step(0) !== 1 || !Number.isInteger(variable.value)) return undefined;
  const { register, value } = variable;
  const by = step(0);
  return { register, cycle: { modulus: Math.abs(by) * bodies, remainder: value, isNonNegative: value >= 0 && by > 0 } };
}

/** What an expression names that is a plain name. */
export function nameOf(node: ast.Expression | undefined): string | undefined {
  return node?.kind === 'name' && node.name.parts.length === 1 ? node.name.parts[0].name : undefined;
}

export function loopVariable(node: ast.Expression): string | undefined {
  if (node.kind === 'unary' && /\+\+|--/.test(node.operator)) return nameOf(node.operand);
  if (node.kind === 'assign') return nameOf(node.left);
  return undefined;
}

export function stepOf(ctx: Context, node: ast.Expression): Step | undefined {
  if (node.kind === 'unary') return node.operator.includes('+') ? (v) => v + 1 : (v) => v - 1;
  const step = compoundStep(node) ?? node;
  const apply = step.kind === 'assign' ? compound[step.operator] : undefined;
  const by = step.kind === 'assign' && apply ? constantOf(ctx, step.right) : undefined;
  return apply === undefined || by === undefined || by === 0 ? undefined : (v) => apply(v, by);
}

export function testOf(
  ctx: Context,
  node: ast.Expression | ast.VariableDeclaration,
  name: string,
): ((value: number) => boolean) | undefined {
  // `for (int s = 16; s; s >>= 1)`
  if (node.kind === 'name') return nameOf(node) === name ? (value) => value !== 0 : undefined;
  if (node.kind !== 'binary') return undefined;
  const left = aheadOf(ctx, node.left, name);
  const ahead = left ?? aheadOf(ctx, node.right, name);
  const fn = comparisons[left !== undefined ? node.operator : (mirrored[node.operator] ?? '')];
  if (ahead === undefined || !fn) return undefined;
  const bound = constantOf(ctx, left !== undefined ? node.right : node.left);
  return bound === undefined ? undefined : (value) => fn(value + ahead, bound);
}

/** How far what is tested is ahead of the variable: 4 of `i + 4`; undefined for what is no such sum. */
function aheadOf(ctx: Context, node: ast.Expression, name: string): number | undefined {
  if (nameOf(node) === name) return 0;
  if (node.kind !== 'binary' || node.operator !== '+') return undefined;
  const other = nameOf(node.left) === name ? node.right : nameOf(node.right) === name ? node.left : undefined;
  return other && constantOf(ctx, other);
}

/** A local variable that is a constant here. */
export function constantVariable(
  ctx: Context,
  name: string,
): { readonly register: Register; readonly value: number } | undefined {
  const variable = heldVariable(ctx, name);
  const value = variable && ctx.builder.constantValue(variable.held);
  return variable && value !== undefined ? { register: variable.register, value } : undefined;
}

/** A local variable in a register, with the one that holds its value here. */
export function heldVariable(
  ctx: Context,
  name: string,
): { readonly register: Register; readonly held: Register } | undefined {
  const entity = lookupName(ctx, ctx.scope, name);
  if (entity?.kind !== 'value' || entity.value.kind !== 'place' || entity.value.place.kind !== 'storage')
    return undefined;
  const storage = entity.value.place.storage;
  if (storage.kind !== 'scalar') return undefined;
  const held = ctx.known.get(storage.register);
  return held === undefined ? undefined : { register: storage.register, held };
}

const assignedCache = new WeakMap<object, ReadonlySet<string>>();

/** Names that a loop's body changes itself, or whose address it takes. */
export function assignedNames(body: ast.Statement | ast.Expression | ast.VariableDeclaration): ReadonlySet<string> {
  let names = assignedCache.get(body);
  if (!names) {
    const found = new Set<string>();
    collectAssigned(body, found, 0);
    assignedCache.set(body, (names = found));
  }
  return names;
}

function collectAssigned(value: unknown, found: Set<string>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return;
  if (Array.isArray(value)) {
    for (const v of value) collectAssigned(v, found, depth + 1);
    return;
  }
  const node = value as ast.Expression;
  const changed =
    node.kind === 'assign'
      ? node.left
      : node.kind === 'unary' && /\+\+|--|^&$/.test(node.operator)
        ? node.operand
        : undefined;
  if (changed) addNames(changed, found);
  for (const v of Object.values(value)) collectAssigned(v, found, depth + 1);
}

/** What is assigned; of `(c ? a : b) = v` either may be meant. */
function addNames(target: ast.Expression, found: Set<string>): void {
  const name = nameOf(target);
  if (name !== undefined) found.add(name);
  if (target.kind === 'conditional') for (const side of [target.then, target.else]) addNames(side, found);
}
