/**
 * How large the body of a loop is for NVVM, which decides how often it is written out. Its limits are in instructions: one is some four tokens of the source
 * (PTX of 250 loops, nvcc 13.0: each further `b = b * v + 2;` of eight tokens, two instructions, moves the limit alike), but for functions of the
 * mathematical library, which are many instructions each.
 */
import type * as ast from '../parse/ast';
import { type CalledFunction, calledFunction, calledLambda } from './called-functions';
import { constantOf } from './constants';
import type { Context } from './context';
import type { RecordInfo } from './types';

export interface Size {
  /** With the functions and lambdas of the user that it calls, and inner loops of known length written out. */
  readonly tokens: number;
  /** Instructions of the mathematical library. */
  readonly library: number;
}

/**
 * Instructions of a call, from the number of passes up to which NVVM writes a loop with one out (PTX of 59 × 25 loops, nvcc 13.0): 400 in all for what does not
 * become simpler by being written out.
 */
export const LIBRARY: Readonly<Record<string, number>> = {
  expf: 10,
  logf: 26,
  log2f: 32,
  log10f: 26,
  log1pf: 32,
  expm1f: 26,
  sinpif: 26,
  cospif: 26,
  sincospif: 36,
  tanhf: 15,
  erff: 24,
  erfcf: 48,
  atanf: 17,
  atan2f: 26,
  asinf: 24,
  acosf: 26,
  sinhf: 26,
  coshf: 15,
  cbrtf: 13,
  hypotf: 20,
  erfinvf: 26,
  normcdff: 68,
  normcdfinvf: 36,
  powf: 150,
};

/** Tokens of an instruction, where the limit is the same for all. */
export const INSTRUCTION_TOKENS = 4;

export const plainTokens = (size: Size): number => size.tokens + size.library * INSTRUCTION_TOKENS;

export function sizeOf(ctx: Context, body: ast.Statement): Size {
  return sizeOfNode(ctx, body, undefined, 0);
}

/** Functions that call functions are followed so far. */
const DEEPEST_CALL = 4;

function sizeOfNode(ctx: Context, node: ast.Statement, owner: RecordInfo | undefined, depth: number): Size {
  let tokens = node.last - node.first + 1 - freeTokens(node);
  let library = 0;
  for (const call of callsIn(node)) {
    const known = call.callee.kind === 'name' ? (LIBRARY[call.callee.name.parts.at(-1)?.name ?? ''] ?? 0) : 0;
    library += known;
    // what the table tells is the whole function, though some are written in the library's own words (`sincospif`)
    const called = known === 0 && depth < DEEPEST_CALL && !isOfClass(call) ? calledBody(ctx, call, owner) : undefined;
    if (!called) continue;
    const inside = sizeOfNode(ctx, called.body, called.owner, depth + 1);
    tokens += inside.tokens;
    library += inside.library;
  }
  // (H200: attention.cu:72, 32 × 32 passes, stays a loop)
  for (const inner of innerLoopsOf(node)) {
    const inside = sizeOfNode(ctx, inner.body, owner, depth);
    const more = innerTrips(ctx, inner) - 1;
    tokens += inside.tokens * more;
    library += inside.library * more;
  }
  return { tokens, library };
}

/** Lambdas are inlined before loops are looked at, as functions are; their names are those of the function that they stand in. */
function calledBody(
  ctx: Context,
  call: ast.CallExpression,
  owner: RecordInfo | undefined,
): Pick<CalledFunction, 'body' | 'owner'> | undefined {
  const lambda = calledLambda(ctx, call);
  return lambda ? { body: lambda, owner: undefined } : calledFunction(ctx, call, owner);
}

/**
 * Tokens of what makes no instructions: static assertions, constants of the compiler, all arms of an `if constexpr` but the largest, and casts that only
 * name another type; a conversion is one.
 */
function freeTokens(node: ast.Statement): number {
  let free = freeTokenCache.get(node);
  if (free === undefined) freeTokenCache.set(node, (free = freeTokensIn(node, 0)));
  return free;
}

const freeTokenCache = new WeakMap<ast.Statement, number>();

function freeTokensIn(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > 60 || value instanceof Set) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, v) => sum + freeTokensIn(v, depth + 1), 0);
  const node = value as ast.Statement | ast.Declaration | ast.Expression;
  const counted = (part: ast.Node): number => lengthOf(part) - freeTokensIn(part, depth + 1);
  if (node.kind === 'staticAssert') return lengthOf(node);
  if (node.kind === 'variable' && node.specifiers.isConstexpr) return lengthOf(node);
  if (node.kind === 'if' && node.isConstexpr)
    return lengthOf(node) - Math.max(...(node.else ? [node.then, node.else] : [node.then]).map(counted));
  if (node.kind === 'cast' && node.arguments.length === 1 && /^(static|reinterpret|const)$/.test(node.form))
    return lengthOf(node) - counted(node.arguments[0]) - (node.form === 'static' ? INSTRUCTION_TOKENS : 0);
  return freeTokensIn(Object.values(node), depth + 1);
}

const lengthOf = ({ first, last }: ast.Node): number => last - first + 1;

/** `Convert<T>::to(x)`: such functions mostly are no instruction, but another name of one (H200: dl_rmsnorm_dispatch.cu:75). */
const isOfClass = ({ callee }: ast.CallExpression): boolean =>
  callee.kind === 'name' &&
  callee.name.parts.some((part, index, { length }) => index < length - 1 && part.templateArguments);

/** The same syntax is asked for at every pass of the loops around it. */
const callCache = new WeakMap<ast.Statement, readonly ast.CallExpression[]>();

function callsIn(body: ast.Statement): readonly ast.CallExpression[] {
  let calls = callCache.get(body);
  if (!calls) {
    const found: ast.CallExpression[] = [];
    collectCalls(body, found, 0);
    callCache.set(body, (calls = found));
  }
  return calls;
}

function collectCalls(value: unknown, found: ast.CallExpression[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth > 60 || value instanceof Set) return;
  if (Array.isArray(value)) {
    for (const v of value) collectCalls(v, found, depth + 1);
    return;
  }
  const node = value as ast.Expression;
  if (node.kind === 'call') found.push(node);
  for (const v of Object.values(node)) collectCalls(v, found, depth + 1);
}

const innerLoopCache = new WeakMap<ast.Statement, readonly ast.ForStatement[]>();

/** Loops right in a body, not those in its loops. */
export function innerLoopsOf(body: ast.Statement): readonly ast.ForStatement[] {
  let loops = innerLoopCache.get(body);
  if (!loops) {
    const found: ast.ForStatement[] = [];
    collectLoops(body, found, 0);
    innerLoopCache.set(body, (loops = found));
  }
  return loops;
}

function collectLoops(value: unknown, found: ast.ForStatement[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth > 60 || value instanceof Set) return;
  if (Array.isArray(value)) for (const v of value) collectLoops(v, found, depth + 1);
  else if ((value as ast.Statement).kind === 'for') found.push(value as ast.ForStatement);
  else for (const v of Object.values(value)) collectLoops(v, found, depth + 1);
}

/** Of `for (int i = 0; i < 32; ++i)`; 1 where it is not as plain as that. */
const innerTrips = (ctx: Context, node: ast.ForStatement): number => plainTrips(ctx, node) ?? 1;

export function plainTrips(ctx: Context, { condition, increment }: ast.ForStatement): number | undefined {
  if (condition?.kind !== 'binary' || condition.operator !== '<' || increment?.kind !== 'unary') return undefined;
  const bound = constantOf(ctx, condition.right);
  return bound !== undefined && bound > 0 && bound <= 4096 ? bound : undefined;
}

/** Whether a loop begins at a constant, counts to one and is written out whole before the loop around it is looked at. */
export function isWrittenOutWithin(ctx: Context, node: ast.ForStatement): boolean {
  const { initializer, unroll, body } = node;
  const own = initializer?.kind === 'declaration' ? initializer.declarations[0] : undefined;
  const start = own?.kind === 'variable' && own.initializer?.form === 'assign' ? own.initializer.value : undefined;
  const trips = plainTrips(ctx, node);
  if (trips === undefined || start?.kind !== 'integer') return false;
  const copies = unroll === undefined || unroll === 'full' ? trips : (constantOf(ctx, unroll) ?? 1);
  return copies >= trips && innerLoopsOf(body).every((inner) => isWrittenOutWithin(ctx, inner));
}
