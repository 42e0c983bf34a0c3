/**
 * Branches next to a loop. NVVM splits a loop (index-split.ts) only where straight code leads into it and out of it: not where both ways of an `if` meet right
 * in front of it, and not where the code behind it ends at a condition. Evidence: PTX of 40 kernels (nvcc 13.0, sm_90), each with one statement
 * added to a loop that is split: a store, load or long computation under a condition beside the loop keeps it one, and so does a `return` under
 * a condition behind it; a `return` in front of it does not, nor a short choice of values, which is a selection by then, nor a branch with
 * a loop of known length in between.
 */
import { anywhere } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { isSimple } from './conditional';
import { nameOf } from './trip-count';

/** Instructions that NVVM computes for both ways of a condition (TwoEntryPHINodeFoldingThreshold of LLVM's SimplifyCFG). */
const MOST_SELECTED = 4;
/** A division counts as more than that. */
const DIVISION = 5;

/** Whether a branch meets a loop's beginning or its end, of the statements in one list with it. @param body of the function that it is in */
export function hasBranchBeside(body: ast.Statement | undefined, loop: ast.Statement): boolean {
  const list = listAround(body, loop);
  const at = list?.indexOf(loop) ?? -1;
  if (!list || at < 0) return false;
  const before = list.slice(0, at).findLast(isControl);
  const behind = list.slice(at + 1).find(isControl);
  return (before !== undefined && isBranch(before) && !isGuard(before)) || (behind !== undefined && isBranch(behind));
}

/** The statements among which one stands. */
function listAround(body: ast.Statement | undefined, wanted: ast.Statement): readonly ast.Statement[] | undefined {
  let found: readonly ast.Statement[] | undefined;
  anywhere(body, (n) => {
    if (n.kind === 'compound' && n.body.includes(wanted)) found = n.body;
    return found !== undefined;
  });
  return found;
}

/** Where straight code ends; a short choice of values is none. */
const isControl = (s: ast.Statement): boolean =>
  /^(?:for|while|do|rangeFor|switch|compound)$/.test(s.kind) || (s.kind === 'if' && isBranch(s));

/** Of loops nothing is told: those of known length begin without a condition, and others are seen where they are lowered. */
const isBranch = (s: ast.Statement): boolean => s.kind === 'if' && !s.isConstexpr && selectedCost(s) > MOST_SELECTED;

/** Leaves the function on one way: the ways do not meet. */
const isGuard = (s: ast.Statement): boolean => s.kind === 'if' && [s.then, s.else].some(returns);

function returns(s: ast.Statement | undefined): boolean {
  return s?.kind === 'return' || (s?.kind === 'compound' && returns(s.body.at(-1)));
}

/** Instructions of an `if` as a selection; infinite where it cannot be one. */
function selectedCost(s: ast.Statement | undefined): number {
  switch (s?.kind) {
    case undefined:
    case 'empty':
      return 0;
    case 'compound':
      return s.body.reduce((sum, each) => sum + selectedCost(each), 0);
    case 'expression':
      return assignedCost(s.expression);
    case 'if':
      return choiceCost(s);
    default:
      return Number.POSITIVE_INFINITY;
  }
}

/** What both ways take; of a choice inside of another the comparison and what it selects too. */
function choiceCost(s: ast.IfStatement): number {
  if (s.condition.kind === 'variable' || !isSimple(s.condition)) return Number.POSITIVE_INFINITY;
  return [s.then, s.else].reduce((sum, way) => sum + selectedCost(way) + innerCost(way), 0);
}

function innerCost(way: ast.Statement | undefined): number {
  const only = way?.kind === 'compound' && way.body.length === 1 ? way.body[0] : way;
  if (only?.kind !== 'if') return 0;
  const names = new Set<string>();
  anywhere(only, (n) => {
    const name = n.kind === 'assign' ? nameOf(n.left) : undefined;
    if (name !== undefined) names.add(name);
    return false;
  });
  return 1 + names.size;
}

function assignedCost(e: ast.Expression): number {
  if (e.kind !== 'assign' || nameOf(e.left) === undefined || !isSimple(e.right)) return Number.POSITIVE_INFINITY;
  return (e.operator === '=' ? 0 : operationCost(e.operator)) + computedCost(e.right);
}

function computedCost(e: ast.Expression): number {
  let cost = 0;
  anywhere(e, (n) => {
    // a constant with its sign is one
    if (n.kind === 'binary') cost += operationCost(n.operator);
    return false;
  });
  return cost;
}

const operationCost = (operator: string): number => (/^[/%]/.test(operator) ? DIVISION : 1);
