/**
 * A loop over all but one: `for (int j = 0; j < n; j++) { if (j == i) continue; … }` behind `if (i >= n) return;`. NVVM makes two loops of it, up to `i`
 * and from `i + 1` on, without the question in them; of `if (j > i) …` the second alone, of `if (j < i) …` the first. Lanes of a warp have different `i`:
 * they leave the first loop in turns, and in the second each is at an element of its own. Evidence: PTX of 100 loops (nvcc 13.0, sm_90); H200:
 * cellpairs_lj_v1_v5.cu:82. What all of those have that are split, and none of the others:
 *
 * - it is the only loop of the kernel at run time (constant ones that are written out do not count), with no loop inside of whatever kind, no `break`
 *   and no barrier in it; sine, cosine and tangent have loops in them;
 * - it begins at 0, counts up by one, and ends with `<` at a bound that is no constant;
 * - the question comes first, behind arithmetic at most, and asks for the variable itself beside something that does not change;
 * - that has an upper bound where the loop stands, by a condition around it or a return before it: `i + 1` is then no overflow;
 * - no branch meets the loop's beginning or its end (branches-beside.ts).
 */
import { anywhere } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { dominatorsOf, reachableWithout, reversePostOrder } from '../program/control-flow';
import type { Instruction, Register } from '../program/program';
import { hasBranchBeside } from './branches-beside';
import { isSimple } from './conditional';
import { constantOf } from './constants';
import type { Context } from './context';
import { convertRegister } from './conversions';
import { expression } from './expressions';
import { mayAssign } from './flow';
import { lookupName } from './lookup';
import { readRegister, rvalue, writeRegister } from './places';
import { barriers, loops } from './plain-bodies';
import { namesIn } from './runtime-unroll';
import { statement } from './statements';
import { mirrored, nameOf } from './trip-count';
import { arithmeticType, scalarOf, type Type } from './types';

/** What of a loop is left when the question is gone. */
interface Split {
  readonly counter: string;
  readonly start: ast.Expression;
  /** What the variable is compared with. */
  readonly other: ast.Expression;
  /** With which values of the variable the body runs. */
  readonly side: 'all but' | 'below' | 'up to' | 'above' | 'from';
  readonly bound: ast.Expression;
  readonly body: ast.Statement;
  /** What is done where they are equal. */
  readonly alone: ast.Statement | undefined;
}

/** The name of the first loop's bound; no program can have it. */
const LIMIT = '(limit)';

/** How a loop is split whose variable is declared, with nothing emitted; undefined where it stays as it is. */
export function indexSplit(ctx: Context, node: ast.ForStatement): Split | undefined {
  if (ctx.unit.isHost || ctx.frame.jumps.length > 0 || !ctx.builder.reachable) return undefined;
  const split = splitOf(node);
  // each instance of a template, each call of a function has its own constants
  if (!split || constantOf(ctx, split.start) !== 0 || constantOf(ctx, split.bound) !== undefined) return undefined;
  if (hasBranchBeside(ctx.frame.declaration?.body, node)) return undefined;
  return isBounded(ctx, split.other) ? split : undefined;
}

/** Lowers the loops. @param loop lowers one, its variable declared already */
export function splitLoops(ctx: Context, node: ast.ForStatement, split: Split, loop: (node: ast.ForStatement) => void) {
  const { counter, other, side, bound, body, alone } = split;
  const { builder } = ctx;
  const variable = variableOf(ctx, counter);
  const [edge, end] = [integerOf(ctx, other), integerOf(ctx, bound)];
  if (!variable || !edge || !end) {
    loop(node);
    return;
  }
  const type = scalarOf(arithmeticType(edge.type, end.type)) ?? 'i32';
  const as = (register: Register) => convertRegister(ctx, register, builder.typeOf(register), type);
  const one = builder.constant(type, 1);
  const behind = builder.binary('add', type, as(edge.register), one);
  if (side !== 'above' && side !== 'from') {
    const first = side === 'up to' ? behind : as(edge.register);
    const limit = builder.binary('min', type, first, as(end.register));
    const name: ast.NameExpression = {
      kind: 'name',
      name: { global: false, parts: [{ name: LIMIT }], first: bound.first, last: bound.last },
      first: bound.first,
      last: bound.last,
    };
    ctx.scope.define(LIMIT, { kind: 'value', value: { kind: 'scalar', type: edge.type, register: limit } });
    const condition: ast.BinaryExpression = {
      ...(node.condition as ast.BinaryExpression),
      operator: '<',
      left: counterOf(node),
      right: name,
    };
    loop({ ...node, condition, body });
    if (side !== 'all but') return;
    // the rest of the loop has counted with a variable of its own
    const reached = builder.binary('max', type, limit, builder.constant(type, 0));
    writeRegister(ctx, variable, convertRegister(ctx, reached, type, builder.typeOf(variable)));
  }
  const own = builder.typeOf(variable);
  const at = readRegister(ctx, variable);
  const from = convertRegister(ctx, side === 'from' ? as(edge.register) : behind, type, own);
  if (side === 'all but') {
    if (alone) statement(ctx, alone);
    const isThere = builder.compare('eq', type, as(at), as(edge.register));
    writeRegister(ctx, variable, builder.select(own, isThere, from, at));
  } else writeRegister(ctx, variable, builder.binary('max', own, at, from));
  loop({ ...node, initializer: undefined, body });
}

const splits = new WeakMap<ast.ForStatement, Split | false>();

/** What the syntax alone tells of it. */
function splitOf(node: ast.ForStatement): Split | undefined {
  let known = splits.get(node);
  if (known === undefined) splits.set(node, (known = syntaxOf(node) ?? false));
  return known || undefined;
}

function syntaxOf(node: ast.ForStatement): Split | undefined {
  const { condition, increment, body, initializer } = node;
  if (condition?.kind !== 'binary' || condition.operator !== '<' || !initializer || !isPlain(body)) return undefined;
  const counter = nameOf(condition.left);
  if (increment?.kind !== 'unary' || !increment.operator.includes('++') || nameOf(increment.operand) !== counter)
    return undefined;
  const start = counter === undefined ? undefined : startOf(initializer, counter);
  if (counter === undefined || !start) return undefined;
  const bound = condition.right;
  if (!isSimple(bound)) return undefined;
  const found = questionOf(body, counter, condition);
  const { names } = mayAssign(body);
  const changing = found && [...namesIn(found.other), ...namesIn(bound), counter].some((name) => names.has(name));
  return found && !changing ? { ...found, start, bound } : undefined;
}

/** What a loop's variable begins with. */
function startOf(initializer: ast.Statement, counter: string): ast.Expression | undefined {
  if (initializer.kind === 'expression') {
    const { expression: e } = initializer;
    return e.kind === 'assign' && e.operator === '=' && nameOf(e.left) === counter ? e.right : undefined;
  }
  const [first] = initializer.kind === 'declaration' ? initializer.declarations : [];
  const init = first?.kind === 'variable' && first.name === counter ? first.initializer : undefined;
  return init?.form === 'assign' ? init.value : undefined;
}

/** No loop, no other way out, no barrier. */
const isPlain = (body: ast.Statement): boolean =>
  !anywhere(body, (n) => {
    if (n.kind === 'call') {
      const { callee } = n;
      const called = callee.kind === 'name' || callee.kind === 'member' ? callee.name.parts.at(-1)?.name : undefined;
      return called !== undefined && (barriers.has(called) || loops.test(called));
    }
    return /^(?:for|while|do|rangeFor|break|return|goto|label|switch|lambda)$/.test(n.kind);
  });

/** The question at the beginning of a body, and what is done behind it. */
function questionOf(
  body: ast.Statement,
  counter: string,
  condition: ast.BinaryExpression,
): Omit<Split, 'start' | 'bound'> | undefined {
  const statements = body.kind === 'compound' ? body.body : [body];
  const at = statements.findIndex((s) => !isArithmetic(s));
  const asked = statements[at];
  if (asked?.kind !== 'if' || asked.initializer || asked.condition.kind === 'variable') return undefined;
  const before = statements.slice(0, at);
  const rest = statements.slice(at + 1);
  const leaves =
    asked.then.kind === 'continue' || (asked.then.kind === 'compound' && asked.then.body.at(-1)?.kind === 'continue');
  const isNegated = leaves || rest.length === 0;
  if (!isNegated) return undefined;
  const terms = termsOf(asked.condition, leaves ? '||' : '&&');
  const compared = comparedWith(terms[0], counter);
  if (!compared) return undefined;
  const { other } = compared;
  const whole = (list: readonly ast.Statement[]): ast.Statement => ({
    kind: 'compound',
    body: [...before, ...list],
    first: body.first,
    last: body.last,
  });
  const more = terms.length > 1 ? joined(terms.slice(1), leaves ? '||' : '&&') : undefined;
  const isEqual = compared.operator === '==';
  const isOther = compared.operator === '!=';
  const side = (leaves ? without : within)[compared.operator];
  // where both sides of a comparison do something there are more loops: they stay one here
  const [onTrue, onFalse] = [asked.then, asked.else];
  const hasAlone = leaves
    ? onTrue.kind === 'compound' && onTrue.body.length > 1
    : isEqual
      ? true
      : onFalse !== undefined;
  if (hasAlone && (more || !(isEqual || isOther))) return undefined;
  if (leaves) {
    if (onFalse || !side) return undefined;
    const left = more ? [{ ...asked, condition: more }, ...rest] : rest;
    const alone = hasAlone ? atEqual(terms[0], condition, whole([withoutLast(onTrue)])) : undefined;
    return { counter, other, side, body: whole(left), alone };
  }
  if (isEqual) {
    if (!onFalse || more) return undefined;
    return {
      counter,
      other,
      side: 'all but',
      body: whole([onFalse]),
      alone: atEqual(terms[0], condition, whole([onTrue])),
    };
  }
  if (!side) return undefined;
  const then: ast.Statement = more ? { ...asked, condition: more, else: undefined } : onTrue;
  const equal: ast.Expression = { ...(terms[0] as ast.BinaryExpression), operator: '==' };
  const alone = onFalse && atEqual(equal, condition, whole([onFalse]));
  return { counter, other, side, body: whole([then]), alone };
}

const withoutLast = (s: ast.Statement): ast.Statement =>
  s.kind === 'compound' ? { ...s, body: s.body.slice(0, -1) } : s;

/** What the one pass does in which the variable is what it is compared with. */
function atEqual(equal: ast.Expression, condition: ast.BinaryExpression, then: ast.Statement): ast.IfStatement {
  const { first, last } = equal;
  const both: ast.BinaryExpression = { kind: 'binary', operator: '&&', left: condition, right: equal, first, last };
  return { kind: 'if', isConstexpr: false, condition: both, then, first, last };
}

/** With which values of the variable a body runs that stands in the branch, and one behind `continue`. */
const within: Readonly<Record<string, Split['side'] | undefined>> = {
  '!=': 'all but',
  '<': 'below',
  '<=': 'up to',
  '>': 'above',
  '>=': 'from',
};
const without: Readonly<Record<string, Split['side'] | undefined>> = {
  '==': 'all but',
  '>=': 'below',
  '>': 'up to',
  '<=': 'above',
  '<': 'from',
};

function comparedWith(node: ast.Expression, counter: string): { operator: string; other: ast.Expression } | undefined {
  if (node.kind !== 'binary' || !mirrored[node.operator]) return undefined;
  const isLeft = nameOf(node.left) === counter;
  if (!isLeft && nameOf(node.right) !== counter) return undefined;
  const other = isLeft ? node.right : node.left;
  const operator = isLeft ? node.operator : (mirrored[node.operator] ?? '');
  return nameOf(other) !== undefined && nameOf(other) !== counter ? { operator, other } : undefined;
}

function termsOf(node: ast.Expression, operator: string): ast.Expression[] {
  return node.kind === 'binary' && node.operator === operator
    ? [...termsOf(node.left, operator), ...termsOf(node.right, operator)]
    : [node];
}

const joined = (terms: readonly ast.Expression[], operator: string): ast.Expression =>
  terms.reduce((left, right) => ({ kind: 'binary', operator, left, right, first: left.first, last: right.last }));

/** Declares numbers that no memory is read for. */
const isArithmetic = (s: ast.Statement): boolean =>
  s.kind === 'declaration' &&
  s.declarations.every(
    (d) =>
      d.kind === 'variable' &&
      d.initializer?.form === 'assign' &&
      d.initializer.value.kind !== 'initList' &&
      isSimple(d.initializer.value),
  );

function counterOf({ condition }: ast.ForStatement): ast.Expression {
  return (condition as ast.BinaryExpression).left;
}

/** The register of a variable that is a number. */
function variableOf(ctx: Context, name: string): Register | undefined {
  const entity = lookupName(ctx, ctx.scope, name);
  const value = entity?.kind === 'value' && entity.value.kind === 'place' ? entity.value : undefined;
  return value?.place.kind === 'storage' && value.place.storage.kind === 'scalar'
    ? value.place.storage.register
    : undefined;
}

/** An integer, its value as a register. */
function integerOf(
  ctx: Context,
  node: ast.Expression,
): { readonly type: Type; readonly register: Register } | undefined {
  const value = rvalue(ctx, expression(ctx, node), node);
  return value.kind === 'scalar' && /^[iu]/.test(ctx.builder.typeOf(value.register)) ? value : undefined;
}

// ---- upper bounds ----

/** Whether control comes here only where a condition has told that the number is below something. */
function isBounded(ctx: Context, node: ast.Expression): boolean {
  const { builder } = ctx;
  const value = integerOf(ctx, node);
  if (!value || builder.constantValue(value.register) !== undefined) return false;
  const here = builder.currentBlock;
  const definitions = new Map<Register, Instruction>();
  const blocks = builder.blocksSoFar();
  for (const { instructions } of blocks)
    for (const i of instructions) if ('dst' in i && typeof i.dst === 'number') definitions.set(i.dst, i);
  const source = origin(definitions, value.register);
  const successors = blocks.map(({ terminator: t }) =>
    t?.kind === 'jump' ? [t.target] : t?.kind === 'branch' ? [t.ifTrue, t.ifFalse] : [],
  );
  const dominator = dominatorsOf(successors, reversePostOrder(successors, 0));
  for (let block = dominator[here]; block >= 0; block = dominator[block]) {
    const t = blocks[block].terminator;
    if (t?.kind !== 'branch') continue;
    const reaches = (from: number) => from === here || reachableWithout(successors, from, block).includes(here);
    const [onTrue, onFalse] = [reaches(t.ifTrue), reaches(t.ifFalse)];
    if (onTrue !== onFalse && tells(definitions, t.condition, source, onTrue)) return true;
  }
  return false;
}

/** What a register was copied or converted from. */
function origin(definitions: ReadonlyMap<Register, Instruction>, register: Register): Register {
  for (let at = register; ; ) {
    const i = definitions.get(at);
    if (i?.op !== 'convert' && !(i?.op === 'unary' && i.fn === 'mov')) return at;
    at = i.a;
  }
}

/** Whether a condition that is so tells that a number is below something. */
function tells(
  definitions: ReadonlyMap<Register, Instruction>,
  condition: Register,
  number: Register,
  isSo: boolean,
): boolean {
  const i = definitions.get(condition);
  if (i?.op === 'unary' && (i.fn === 'lognot' || i.fn === 'mov'))
    return tells(definitions, i.a, number, i.fn === 'mov' ? isSo : !isSo);
  if (i?.op === 'binary' && i.fn === (isSo ? 'and' : 'or'))
    return tells(definitions, i.a, number, isSo) || tells(definitions, i.b, number, isSo);
  if (i?.op !== 'compare') return false;
  const isFirst = origin(definitions, i.a) === number;
  if (!isFirst && origin(definitions, i.b) !== number) return false;
  const isBelow = i.fn === 'lt' || i.fn === 'le';
  const isAbove = i.fn === 'gt' || i.fn === 'ge';
  return isFirst === isSo ? isBelow : isAbove;
}
