/**
 * Ways that end the program with an error, as they are written: `if (!file) { sprintf(text, …); fail(text); }` where `fail` prints and exits. What is done
 * on them nobody sees, and programs that check all they do have more of it than of anything else: such a way is its end alone.
 */
import type * as ast from '../../parse/ast';
import { type Context, LIBRARY_TOKENS } from '../context';
import { lookupName } from '../lookup';
import type { Scope } from '../scope';

/** Functions that are looked into, from one to the next. */
const MAX_DEPTH = 6;

const aborting = new Set(['abort', 'terminate', '__assert_fail']);
const exiting = new Set(['exit', '_exit', '_Exit', 'quick_exit']);
/** By these something is left on the device, or goes on elsewhere; */
const leading = /^(?:<<<|throw|co_\w+|\w*[Ll]aunch\w*)$/;
/** so it does by these, but only where they stand in the way itself. */
const jumping = /^(?:return|break|continue|goto|case|default)$/;

/** Whether a statement ends the program with an error whatever happens on it, and comes to no launch. */
export function endsInError(ctx: Context, statement: ast.Statement): boolean {
  return ctx.unit.isHost === true && ctx.tries.length === 0 && endsSo(ctx, ctx.scope, statement, 0);
}

function endsSo(ctx: Context, scope: Scope, statement: ast.Statement, depth: number): boolean {
  const last = statement.kind === 'compound' ? statement.body.at(-1) : statement;
  if (!last || statement.first >= LIBRARY_TOKENS || depth > MAX_DEPTH) return false;
  if (last.kind === 'compound') return isQuiet(ctx, scope, statement, depth) && endsSo(ctx, scope, last, depth);
  const called = last.kind === 'expression' ? last.expression : undefined;
  return called?.kind === 'call' && isEnd(ctx, scope, called, depth) && isQuiet(ctx, scope, statement, depth);
}

/** `exit(1)`, `abort()`, or a function of the user's that ends so. */
function isEnd(ctx: Context, scope: Scope, { callee, arguments: args }: ast.CallExpression, depth: number): boolean {
  if (callee.kind !== 'name') return false;
  const name = callee.name.parts.at(-1)?.name ?? '';
  const body = bodyOf(ctx, scope, callee.name);
  if (body) return endsSo(ctx, scope, body, depth + 1);
  return aborting.has(name) || (exiting.has(name) && args.length === 1 && isFailure(args[0]));
}

/** A number other than 0: of any other status it is not known whether it tells an error. */
function isFailure(status: ast.Expression): boolean {
  if (status.kind === 'unary') return status.operator === '-' && isFailure(status.operand);
  return status.kind === 'integer' && status.value !== 0n;
}

/** The only body of a function of the user's. */
function bodyOf(ctx: Context, scope: Scope, { parts }: ast.QualifiedName): ast.Statement | undefined {
  const entity = parts.length === 1 ? lookupName(ctx, scope, parts[0].name) : undefined;
  const bodies = entity?.kind === 'functions' ? entity.declarations.flatMap(({ body }) => body ?? []) : [];
  return bodies.length === 1 && bodies[0].first < LIBRARY_TOKENS ? bodies[0] : undefined;
}

/** Nothing in it leads elsewhere than to its end: no jump, no launch, no function of the user's that may come to one. */
function isQuiet(ctx: Context, scope: Scope, { first, last }: ast.Statement, depth: number): boolean {
  const { text } = ctx.unit.tokens;
  for (let at = first; at <= last; at++) {
    if (leading.test(text[at]) || jumping.test(text[at])) return false;
    if (text[at + 1] === '(' && !isQuietFunction(ctx, scope, text[at], depth + 1)) return false;
  }
  return true;
}

function isQuietFunction(ctx: Context, scope: Scope, name: string, depth: number): boolean {
  const entity = lookupName(ctx, scope, name);
  if (entity?.kind !== 'functions') return true;
  return entity.declarations.every(
    ({ body, specifiers }) => !specifiers.isGlobal && (!body || isQuietBody(ctx, scope, body, depth)),
  );
}

/** What a function does that is called on the way: it comes back, or ends the program so itself. */
function isQuietBody(ctx: Context, scope: Scope, body: ast.Statement, depth: number): boolean {
  if (body.first >= LIBRARY_TOKENS || endsSo(ctx, scope, body, depth)) return true;
  if (depth > MAX_DEPTH) return false;
  const { text } = ctx.unit.tokens;
  for (let at = body.first; at <= body.last; at++) {
    const word = text[at];
    if (leading.test(word) || exiting.has(word)) return false;
    if (text[at + 1] === '(' && !isQuietFunction(ctx, scope, word, depth + 1)) return false;
  }
  return true;
}
