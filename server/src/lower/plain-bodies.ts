/**
 * Whether nothing in the body of a loop keeps the compiler from writing it several times: one way out, no loop inside that stays one, no call that is
 * not inlined. Methods of the user's are inlined like functions (PTX of eleven kernels, nvcc 13.0: `sum += view.at(i)`, `if (view.isValid(i)) …`
 * four times; not `sum += view.find(i)`, nor `find(view, i)`, whose search is a loop).
 */
import type * as ast from '../parse/ast';
import { calledFunction } from './called-functions';
import type { Context } from './context';
import { innerLoopsOf, isWrittenOutWithin } from './loop-size';
import { inScope } from './resolve-type';
import type { RecordInfo } from './types';

/** Calls of functions and methods. */
export const barriers: ReadonlySet<string> = new Set(['__syncthreads', '__syncwarp', 'sync', 'wait', '__trap']);
/** Their reduction of large arguments is a loop. */
export const loops = /^(sin|cos|tan|sincos)f?$/;

/** Functions that call functions are followed so far. */
const DEEPEST_CALL = 4;

/** Conditions of a method up to which its size is told well enough (a stencil of six conditional neighbours stays one: PTX of conjugate_gradient_coop.cu:50). */
const MOST_CONDITIONS = 2;

/** What the syntax alone tells. */
interface Syntax {
  readonly isPlain: boolean;
  readonly conditions: number;
  readonly calls: readonly ast.CallExpression[];
}

/** Loops are asked the same for each copy of what is around them. */
const known = { loop: new WeakMap<ast.Statement, Syntax>(), function: new WeakMap<ast.Statement, Syntax>() };

export function hasPlainBody(ctx: Context, body: ast.Statement): boolean {
  const { isPlain, calls } = syntaxOf(body, 'loop');
  return isPlain && calls.every((call) => isInlined(ctx, call, undefined, 0));
}

/** Whether the body of a loop itself changes memory by atomics. */
export const hasAtomic = (body: ast.Statement): boolean =>
  syntaxOf(body, 'loop').calls.some(
    ({ callee }) => callee.kind === 'name' && /^atomic/.test(callee.name.parts.at(-1)?.name ?? ''),
  );

function isInlined(ctx: Context, call: ast.CallExpression, owner: RecordInfo | undefined, depth: number): boolean {
  const isMethod = call.callee.kind === 'member';
  const called = depth < DEEPEST_CALL ? calledFunction(ctx, call, owner) : undefined;
  if (!called) return !isMethod;
  // what a function is given may be constants, that end its loops
  if (!isMethod) return !stays(called.body);
  const { isPlain, conditions, calls } = syntaxOf(called.body, 'function');
  const endsLoops = () => innerLoopsOf(called.body).every((inner) => isWrittenOutWithin(ctx, inner));
  return (
    isPlain &&
    conditions <= MOST_CONDITIONS &&
    inScope(ctx, called.owner?.scope ?? ctx.scope, endsLoops) &&
    calls.every((inner) => isInlined(ctx, inner, called.owner, depth + 1))
  );
}

function syntaxOf(body: ast.Statement, of: keyof typeof known): Syntax {
  let syntax = known[of].get(body);
  if (!syntax) {
    const calls: ast.CallExpression[] = [];
    const isPlain = isPlainPart(body, of === 'function', calls, 0);
    syntax = { isPlain, conditions: of === 'function' ? conditionsIn(body, 0) : 0, calls };
    known[of].set(body, syntax);
  }
  return syntax;
}

/** @param mayReturn the function that is inlined, not the loop, ends there */
function isPlainPart(value: unknown, mayReturn: boolean, calls: ast.CallExpression[], depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return true;
  if (Array.isArray(value)) return value.every((v) => isPlainPart(v, mayReturn, calls, depth + 1));
  const node = value as ast.Expression | ast.Statement;
  switch (node.kind) {
    case 'return':
      if (!mayReturn) return false;
      break;
    case 'break':
    case 'goto':
    case 'while':
    case 'do':
    case 'rangeFor':
    case 'switch':
    case 'asm':
    case 'lambda':
      return false;
    case 'call': {
      const { callee } = node;
      const name = callee.kind === 'name' || callee.kind === 'member' ? callee.name.parts.at(-1)?.name : undefined;
      if (!name || barriers.has(name) || loops.test(name)) return false;
      calls.push(node);
      break;
    }
    default:
      break;
  }
  return Object.values(node).every((v) => isPlainPart(v, mayReturn, calls, depth + 1));
}

function conditionsIn(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return 0;
  const { kind } = value as Partial<ast.Statement>;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return parts.reduce((sum: number, v) => sum + conditionsIn(v, depth + 1), kind === 'if' ? 1 : 0);
}

const loopsThatStay = new WeakMap<ast.Statement, boolean>();

/** Whether a function has a loop that nobody counts. */
function stays(body: ast.Statement): boolean {
  let found = loopsThatStay.get(body);
  if (found === undefined) loopsThatStay.set(body, (found = hasOpenLoop(body, 0)));
  return found;
}

function hasOpenLoop(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return false;
  if (Array.isArray(value)) return value.some((v) => hasOpenLoop(v, depth + 1));
  const node = value as ast.Statement;
  if (node.kind === 'while' || node.kind === 'rangeFor') return true;
  return Object.values(node).some((v) => hasOpenLoop(v, depth + 1));
}
