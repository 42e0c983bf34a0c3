/**
 * Loops that move a pointer over a local array: `for (const int *p = a; p < a + 4; p++)`, `while (p != end) sum += *p++;`. The compiler knows how often
 * they pass and writes them out like any other (PTX of nvcc 13.0: no local memory); one that stays needs the array in memory.
 */
import { anywhere, assignedBy } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { type Context, demandMemory } from './context';
import { expression } from './expressions';
import { lookupName } from './lookup';
import { rvalue } from './places';
import { distanceBetween } from './register-pointers';
import { assignedNames, comparisons, mirrored, nameOf, stepOf } from './trip-count';
import type { Value } from './values';

type RegisterPointer = Value & { readonly kind: 'placePointer' };

const LIMIT = 4096;

/** Passes of a loop whose condition compares such a pointer with another into the same array; undefined where that is not known. */
export function pointerTrips(ctx: Context, node: ast.ForStatement | ast.WhileStatement): number | undefined {
  const { condition } = node;
  if (ctx.unit.isHost || condition?.kind !== 'binary') return undefined;
  const isLeft = pointerOf(ctx, nameOf(condition.left)) !== undefined && isMoved(node, nameOf(condition.left));
  const [moving, other] = isLeft ? [condition.left, condition.right] : [condition.right, condition.left];
  const name = nameOf(moving);
  const start = pointerOf(ctx, name);
  const holds = comparisons[isLeft ? condition.operator : (mirrored[condition.operator] ?? '')];
  const step = name === undefined || !start ? undefined : onlyStep(node, name);
  if (!start || !holds || !step || anywhere(other, (n) => assignedBy(n) !== undefined)) return undefined;
  const move = stepOf(ctx, step);
  if (!move) return undefined;
  const bound = rvalue(ctx, expression(ctx, other), other);
  if (bound.kind !== 'placePointer' || bound.target.elements !== start.target.elements) return undefined;
  if (start.type.kind !== 'pointer') return undefined;
  let trips = 0;
  let at = distanceBetween(start.target, bound.target, start.type.to);
  for (; holds(at, 0); at = move(at)) if (++trips > LIMIT) return undefined;
  return trips;
}

/** What a loop that stays moves needs an address. */
export function demandMoved(
  ctx: Context,
  nodes: readonly (ast.Statement | ast.Expression | ast.VariableDeclaration | undefined)[],
): void {
  if (ctx.unit.isHost) return;
  for (const node of nodes)
    for (const name of node ? assignedNames(node) : []) {
      const owner = pointerOf(ctx, name)?.target.owner;
      if (owner) demandMemory(ctx, owner);
    }
}

/** A variable that stands for a place in registers. */
function pointerOf(ctx: Context, name: string | undefined): RegisterPointer | undefined {
  const entity = name === undefined ? undefined : lookupName(ctx, ctx.scope, name);
  const value = entity?.kind === 'value' ? entity.value : undefined;
  const storage = value?.kind === 'place' && value.place.kind === 'storage' ? value.place.storage : undefined;
  return storage?.kind === 'fixed' && storage.cell.value.kind === 'placePointer' ? storage.cell.value : undefined;
}

const isMoved = (node: ast.ForStatement | ast.WhileStatement, name: string | undefined): boolean =>
  name !== undefined && movesOf(node, name, false).length > 0;

/** The one place where a pass moves the variable, whatever else it does. */
function onlyStep(node: ast.ForStatement | ast.WhileStatement, name: string): ast.Expression | undefined {
  const [step, ...others] = movesOf(node, name, false);
  const isSure = movesOf(node, name, true).length === 1 && !anywhere(node.body, (n) => n.kind === 'continue');
  return step && others.length === 0 && isSure ? step : undefined;
}

/** What the lanes of a pass do not all come to, or more than once. */
const guarded = new Set(['if', 'conditional', 'for', 'while', 'do', 'switch', 'rangeFor', 'lambda', 'try']);

/** @param sure only those that every pass comes to once */
function movesOf(node: ast.ForStatement | ast.WhileStatement, name: string, sure: boolean): ast.Expression[] {
  const found: ast.Expression[] = [];
  const look = (n: ast.Expression | ast.Statement) => {
    const target = n.kind === 'unary' && n.operator === '&' ? n.operand : assignedBy(n);
    if (target && nameOf(target) === name) found.push(n as ast.Expression);
    const isGuarded = guarded.has(n.kind) || (n.kind === 'binary' && /^(?:&&|\|\|)$/.test(n.operator));
    return sure && isGuarded ? 'closed' : false;
  };
  for (const part of [node.kind === 'for' ? node.increment : undefined, node.body, node.condition])
    anywhere(part, look);
  return found;
}
