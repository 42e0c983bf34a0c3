/** Loops: unrolled where the compiler would, otherwise a header, a body and a step. */

import type * as ast from '../parse/ast';
import type { Register } from '../program/program';
import { type Context, type JumpTarget, LIBRARY_TOKENS, placeOf } from './context';
import { countingForm } from './counting-whiles';
import { expression } from './expressions';
import { firstOfLine } from './first-of-line';
import { forgetAssigned } from './flow';
import { indexSplit, splitLoops } from './index-split';
import { KnownValues } from './known-values';
import { lookupName } from './lookup';
import { openStart } from './open-start';
import { readRegister, writeRegister } from './places';
import { demandMoved, pointerTrips } from './pointer-loops';
import { type RuntimeTrips, runtimeTrips } from './runtime-unroll';
import { conditionOf, statement, withScope } from './statements';
import { loopCycle, mostTrips, tripCount } from './trip-count';
import { turningVariables } from './turns';
import { guardedDecision, unrollDecision } from './unroll';

export function forStatement(ctx: Context, node: ast.ForStatement): void {
  withScope(ctx, 'for', () => {
    if (node.initializer) statement(ctx, node.initializer);
    const split = indexSplit(ctx, node);
    if (split && ctx.budget.splitsLoop) {
      splitLoops(ctx, node, split, (part) => countedLoop(ctx, part));
      return;
    }
    const before = ctx.loops.all;
    countedLoop(ctx, node);
    if (split && ctx.loops.all === before + 1) ctx.loops.hasSplit = true;
  });
}

/** A loop whose variable is declared. */
function countedLoop(ctx: Context, node: ast.ForStatement): void {
  const trips = tripCount(ctx, node) ?? pointerTrips(ctx, node);
  const most = trips === undefined ? mostTrips(ctx, node) : undefined;
  const open = trips === undefined && most === undefined ? openStart(ctx, node) : undefined;
  if (open?.isWrittenOut) {
    ctx.loops.all++;
    unrolled(ctx, node, open.most, behindSure(ctx, open.sure, ownGuard(ctx, node)));
    return;
  }
  const plan = most === undefined ? unrollDecision(ctx, node, trips) : guardedDecision(ctx, node, most);
  ctx.loops.all++;
  if (plan.kind !== 'full') ctx.loops.atRunTime++;
  const isRuntime = plan.kind === 'none' && !ctx.unit.isHost && !open;
  const runtime = isRuntime ? runtimeTrips(ctx, node) : undefined;
  if (plan.kind === 'full') unrolled(ctx, node, plan.trips, most === undefined ? undefined : ownGuard(ctx, node));
  else if (runtime) inRounds(ctx, node, runtime);
  else
    loop(ctx, {
      node,
      condition: node.condition,
      body: node.body,
      increment: node.increment,
      repeat: plan.kind === 'partial' ? plan.factor : 1,
      copies: plan.kind === 'partial' ? plan.byFrontEnd : 1,
    });
}

export function whileStatement(ctx: Context, node: ast.WhileStatement): void {
  const counting = ctx.unit.isHost ? undefined : countingForm(node);
  if (counting) {
    forStatement(ctx, counting);
    return;
  }
  const trips = pointerTrips(ctx, node);
  if (trips !== undefined) {
    countedLoop(ctx, { ...node, kind: 'for', initializer: undefined, increment: undefined });
    return;
  }
  ctx.loops.all++;
  ctx.loops.atRunTime++;
  withScope(ctx, 'while', () =>
    loop(ctx, { node, condition: node.condition, body: node.body, increment: undefined, repeat: 1, copies: 1 }),
  );
}

/** Whether there is another pass. */
type Guard = () => Register;

/** The condition of a loop. */
function ownGuard(ctx: Context, { condition }: ast.ForStatement): Guard | undefined {
  return condition && (() => conditionOf(ctx, condition));
}

/** A guard that is only asked behind so many passes. */
function behindSure(ctx: Context, sure: number, guard: Guard | undefined): Guard | undefined {
  let left = sure;
  return guard && (() => (left-- > 0 ? ctx.builder.constant('pred', 1) : guard()));
}

/**
 * Every iteration written out, with the loop variable constant in each.
 * @param guard what still ends the loop early
 */
function unrolled(ctx: Context, node: ast.ForStatement, trips: number, guard: Guard | undefined): void {
  const b = ctx.builder;
  const breaks = b.newBlock();
  const jumps = containsJump(node.body);
  const ends: KnownValues[] = [];
  const begin = b.instructionCount;
  const sizes: number[] = [];
  if (guard) b.enterRegion();
  const around = ctx.writtenOut;
  const last = lastOf(node.body);
  for (let i = 0; i < trips && b.reachable; i++) {
    ctx.writtenOut = { begin: b.instructionCount, left: trips - i - 1, around, last, step: node.increment };
    if (guard) leaveUnless(ctx, node, guard, breaks, ends);
    const next = jumps ? b.newBlock() : undefined;
    const target: JumpTarget = {
      breakBlock: breaks,
      continueBlock: next ?? breaks,
      onBreak: ends,
      onContinue: [],
      locals: ctx.locals.length,
    };
    ctx.frame.jumps.push(target);
    if (jumps) b.enterRegion();
    asPass(ctx, i, () => withScope(ctx, 'iteration', () => statement(ctx, node.body)));
    if (jumps) b.leaveRegion();
    ctx.frame.jumps.pop();
    if (next !== undefined) {
      if (b.reachable) target.onContinue.push(ctx.known);
      b.jump(next);
      b.use(next);
      ctx.known = KnownValues.merged(target.onContinue);
      if (target.onContinue.length === 0) b.exit();
    }
    if (node.increment) expression(ctx, node.increment);
    sizes.push(b.instructionCount - begin);
    ctx.writtenOut = around;
    foresee(ctx, sizes, trips);
  }
  if (guard) b.leaveRegion();
  if (b.reachable) ends.push(ctx.known);
  b.jump(breaks);
  b.use(breaks);
  if (ends.length === 0) b.exit();
  ctx.known = KnownValues.merged(ends);
}

/** The statement that a pass ends with. */
function lastOf(body: ast.Statement): ast.Statement | undefined {
  for (let at: ast.Statement | undefined = body; ; ) {
    if (at?.kind !== 'compound') return at;
    at = at.body.at(-1);
  }
}

/** Lowers a body; all but the first of its passes are copies, which a loop that stays does without. */
function asPass(ctx: Context, pass: number, lower: () => void): void {
  if (pass === 0 || ctx.isInCopy) {
    lower();
    return;
  }
  const before = ctx.builder.instructionCount;
  ctx.isInCopy = true;
  lower();
  ctx.isInCopy = false;
  ctx.copied += ctx.builder.instructionCount - before;
}

/** Two passes are alike whose instructions differ by this part at most: what a pass leaves to the next, and no triangle. */
const ALIKE = 1 / 256;
/** What a later pass of a loop around has at least of the present one: addresses are shared with it, and triangles become smaller. */
const LEAST_LATER = 1 / 2;

/**
 * Two passes that are alike tell how large the loop becomes, and about how large those around it: where the budget will not suffice for them
 * nothing more is lowered.
 * @param sizes instructions of the loop behind each pass so far
 */
function foresee(ctx: Context, sizes: readonly number[], trips: number): void {
  const { builder, budget } = ctx;
  const made = sizes.length;
  if (!budget.foresees || made < 2 || !builder.reachable) return;
  const [pass, before] = [sizes[made - 1] - sizes[made - 2], sizes[made - 2] - (sizes[made - 3] ?? 0)];
  if (Math.abs(pass - before) > pass * ALIKE) return;
  let end = builder.instructionCount + pass * (trips - made);
  for (let at = ctx.writtenOut; at; at = at.around) end += (end - at.begin) * LEAST_LATER * at.left;
  if (end <= budget.instructions) return;
  ctx.isForeseen = true;
  builder.cutOff();
}

function leaveUnless(ctx: Context, node: ast.ForStatement, guard: Guard, breaks: number, ends: KnownValues[]): void {
  const b = ctx.builder;
  const body = b.newBlock();
  const { first, last } = node.condition ?? node;
  b.branch(guard(), body, breaks, { place: placeOf(ctx, { first, last }), kind: 'if' });
  ends.push(ctx.known.fork());
  b.use(body);
}

/**
 * Several iterations in one pass, and the rest before or behind them. Inside another loop the rest is written out too (PTX of 800 loops in
 * loops, nvcc 13.0): behind the others, three of its loads may then be one of 16 bytes.
 */
function inRounds(ctx: Context, node: ast.ForStatement, runtime: RuntimeTrips): void {
  const { trips, factor, restFirst, hasOpenStep } = runtime;
  const b = ctx.builder;
  const rest = b.binary('rem', 'i32', trips, b.constant('i32', factor));
  const whole = b.binary('sub', 'i32', trips, rest);
  const parts = { node, condition: node.condition, body: node.body, increment: node.increment };
  const isFree = node.unroll === undefined && (!restFirst || !hasOpenStep);
  const run = (passes: number, repeat: number) =>
    loop(ctx, { ...parts, repeat, copies: repeat, counted: { ...countdown(ctx, passes, repeat), isFree } });
  const isInside = ctx.frame.jumps.length > 0;
  if (restFirst) {
    if (isInside) writtenOutRest(ctx, node, countdown(ctx, rest, 1), factor - 1);
    else run(rest, 1);
  }
  run(whole, factor);
  if (restFirst) return;
  withFreshVariable(ctx, node, () => {
    if (isInside && node.condition) unrolled(ctx, node, factor - 1, ownGuard(ctx, node));
    else run(rest, 1);
  });
}

interface Countdown {
  /** Whether passes are left. */
  readonly more: Guard;
  /** A pass, of so many iterations, is made. */
  readonly count: () => void;
}

function countdown(ctx: Context, passes: Register, repeat: number): Countdown {
  const b = ctx.builder;
  const left = b.variable('i32');
  b.move(left, passes);
  return {
    more: () => b.compare('gt', 'i32', left, b.constant('i32', 0)),
    count: () => b.move(left, b.binary('sub', 'i32', left, b.constant('i32', repeat))),
  };
}

function writtenOutRest(ctx: Context, node: ast.ForStatement, { more, count }: Countdown, most: number): void {
  unrolled(ctx, node, most, () => {
    const isLeft = more();
    count();
    return isLeft;
  });
}

/** The rest counts with a variable of its own where it can, so that the other stays a multiple of what a pass makes. */
function withFreshVariable(ctx: Context, node: ast.ForStatement, run: () => void): void {
  const name = counterOf(node);
  const entity = name === undefined ? undefined : lookupName(ctx, ctx.scope, name);
  const value = entity?.kind === 'value' ? entity.value : undefined;
  const storage = value?.kind === 'place' && value.place.kind === 'storage' ? value.place.storage : undefined;
  if (name === undefined || storage?.kind !== 'scalar') {
    run();
    return;
  }
  const register = ctx.builder.variable(ctx.builder.typeOf(storage.register), name);
  writeRegister(ctx, register, readRegister(ctx, storage.register));
  withScope(ctx, 'rest', () => {
    const place = { kind: 'storage' as const, storage: { ...storage, register } };
    ctx.scope.define(name, { kind: 'value', value: { kind: 'place', type: storage.type, place } });
    run();
  });
  if (node.initializer?.kind !== 'declaration') writeRegister(ctx, storage.register, readRegister(ctx, register));
}

/** What a loop declares, or else moves. */
function counterOf({ initializer, increment }: ast.ForStatement): string | undefined {
  const declared = initializer?.kind === 'declaration' ? initializer.declarations[0] : undefined;
  if (declared) return declared.kind === 'variable' ? declared.name : undefined;
  const moved =
    increment?.kind === 'unary' ? increment.operand : increment?.kind === 'assign' ? increment.left : undefined;
  return moved?.kind === 'name' && moved.name.parts.length === 1 ? moved.name.parts[0].name : undefined;
}

interface LoopParts {
  readonly node: ast.ForStatement | ast.WhileStatement;
  readonly condition: ast.Expression | ast.VariableDeclaration | undefined;
  readonly body: ast.Statement;
  readonly increment: ast.Expression | undefined;
  /** Copies of the body in one pass (partial unrolling; the trip count is a multiple of it). */
  readonly repeat: number;
  /** Those of them that the PTX has. */
  readonly copies: number;
  /** Instead of the condition: passes are counted. */
  readonly counted?: Countdown & {
    /** The assembler may write it out further. */
    readonly isFree: boolean;
  };
}

/** Lowers a loop; what it declares without a value has none before it, and keeps what it holds from pass to pass. */
function aroundLoop(ctx: Context, run: () => void): void {
  const { frame } = ctx;
  const isOutermost = ctx.unit.isHost && frame.beforeLoops === undefined && ctx.builder.reachable;
  if (isOutermost) frame.beforeLoops = ctx.builder.currentBlock;
  run();
  if (isOutermost) frame.beforeLoops = undefined;
}

function loop(ctx: Context, parts: LoopParts): void {
  aroundLoop(ctx, () => loopAround(ctx, parts));
}

function loopAround(ctx: Context, parts: LoopParts): void {
  const b = ctx.builder;
  const blocks = { header: b.newBlock(), body: b.newBlock(), exit: b.newBlock() };
  const counting = parts.node.kind === 'for' ? loopCycle(ctx, parts.node, parts.repeat) : undefined;
  const isTurning = parts.repeat % 2 === 0 && !containsJump(parts.body);
  const turning = isTurning ? turningVariables(ctx, parts.body, [parts.condition, parts.increment]) : undefined;
  b.jump(blocks.header);
  b.use(blocks.header);
  forgetAssigned(ctx, [parts.condition, parts.body, parts.increment]);
  demandMoved(ctx, [parts.condition, parts.body, parts.increment]);
  const entry = ctx.known.fork();
  for (const [variable, value] of turning ?? []) ctx.known.set(variable, value);
  b.enterRegion();
  withScope(ctx, 'loop', () => {
    if (parts.condition) {
      const condition = parts.counted ? parts.counted.more() : conditionOf(ctx, parts.condition);
      b.branch(condition, blocks.body, blocks.exit, {
        place: placeOf(ctx, { first: parts.condition.first, last: parts.condition.last }),
        kind: 'loop',
        ...(parts.copies > 1 && { copies: parts.copies }),
        ...(parts.counted?.isFree && { isFree: true }),
      });
    } else b.jump(blocks.body);
    b.use(blocks.body);
    parts.counted?.count();
    if (counting) b.know(readRegister(ctx, counting.register), counting.cycle);
    for (let copy = 0; copy < parts.repeat && b.reachable; copy++)
      asPass(ctx, copy, () => iteration(ctx, parts, blocks.exit));
    b.jump(blocks.header);
  });
  b.leaveRegion();
  b.use(blocks.exit);
  ctx.known = entry;
}

function iteration(ctx: Context, parts: LoopParts, exit: number): void {
  const b = ctx.builder;
  const step = containsJump(parts.body) ? b.newBlock() : undefined;
  const target: JumpTarget = {
    breakBlock: exit,
    continueBlock: step ?? exit,
    onBreak: [],
    onContinue: [],
    locals: ctx.locals.length,
  };
  ctx.frame.jumps.push(target);
  if (step !== undefined) b.enterRegion();
  const around = ctx.writtenOut;
  const isCopied = parts.repeat > 1 || parts.counted !== undefined;
  if (isCopied && parts.increment)
    ctx.writtenOut = { begin: b.instructionCount, left: 0, around, last: lastOf(parts.body), step: parts.increment };
  withScope(ctx, 'iteration', () => statement(ctx, parts.body));
  ctx.writtenOut = around;
  if (step !== undefined) b.leaveRegion();
  ctx.frame.jumps.pop();
  if (step !== undefined) {
    if (b.reachable) target.onContinue.push(ctx.known);
    b.jump(step);
    b.use(step);
    ctx.known = KnownValues.merged(target.onContinue);
    if (target.onContinue.length === 0) b.exit();
  }
  if (parts.increment) stepOf(ctx, parts, parts.increment);
}

/** The step of a `while` stands in its body, a statement of its own (counting-whiles.ts). */
function stepOf(ctx: Context, { body }: LoopParts, increment: ast.Expression): void {
  const { statement: outer } = ctx.builder;
  const { first } = increment;
  if (first > body.first && first < LIBRARY_TOKENS) ctx.builder.statement = firstOfLine(ctx.unit.tokens, first);
  expression(ctx, increment);
  ctx.builder.statement = outer;
}

/** do … while: the condition stands at the end, in a block of its own. */
export function doStatement(ctx: Context, node: ast.DoStatement): void {
  aroundLoop(ctx, () => doLoop(ctx, node));
}

function doLoop(ctx: Context, node: ast.DoStatement): void {
  const b = ctx.builder;
  const blocks = { body: b.newBlock(), test: b.newBlock(), exit: b.newBlock() };
  b.jump(blocks.body);
  b.use(blocks.body);
  if (isNever(node.condition)) {
    doOnce(ctx, node, blocks);
    return;
  }
  ctx.loops.all++;
  ctx.loops.atRunTime++;
  forgetAssigned(ctx, [node.condition, node.body]);
  demandMoved(ctx, [node.condition, node.body]);
  const entry = ctx.known.fork();
  b.enterRegion();
  const target: JumpTarget = {
    breakBlock: blocks.exit,
    continueBlock: blocks.test,
    onBreak: [],
    onContinue: [],
    locals: ctx.locals.length,
  };
  ctx.frame.jumps.push(target);
  withScope(ctx, 'do', () => statement(ctx, node.body));
  ctx.frame.jumps.pop();
  b.jump(blocks.test);
  b.leaveRegion();
  b.use(blocks.test);
  ctx.known = entry.fork();
  b.enterRegion();
  const condition = conditionOf(ctx, node.condition);
  b.branch(condition, blocks.body, blocks.exit, {
    place: placeOf(ctx, { first: node.condition.first, last: node.condition.last }),
    kind: 'loop',
  });
  b.leaveRegion();
  b.use(blocks.exit);
  ctx.known = entry;
}

/** `do { … } while (0)`, as macros use it. */
function doOnce(ctx: Context, node: ast.DoStatement, blocks: { test: number; exit: number }): void {
  const b = ctx.builder;
  const ends: KnownValues[] = [];
  ctx.frame.jumps.push({
    breakBlock: blocks.exit,
    continueBlock: blocks.exit,
    onBreak: ends,
    onContinue: ends,
    locals: ctx.locals.length,
  });
  b.enterRegion();
  withScope(ctx, 'do', () => statement(ctx, node.body));
  b.leaveRegion();
  ctx.frame.jumps.pop();
  if (b.reachable) ends.push(ctx.known);
  b.jump(blocks.exit);
  b.use(blocks.exit);
  if (ends.length === 0) b.exit();
  ctx.known = KnownValues.merged(ends);
}

const isNever = (node: ast.Expression): boolean => node.kind === 'integer' && node.value === 0n;

const jumpCache = new WeakMap<object, boolean>();

/** A break or continue that belongs to this body (not to a loop inside it). */
function containsJump(body: ast.Statement): boolean {
  const known = jumpCache.get(body);
  if (known !== undefined) return known;
  const found = findJump(body, false, 0);
  jumpCache.set(body, found);
  return found;
}

function findJump(value: unknown, insideSwitch: boolean, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return false;
  if (Array.isArray(value)) return value.some((v) => findJump(v, insideSwitch, depth + 1));
  const node = value as { kind?: string };
  if (node.kind === 'continue') return true;
  if (node.kind === 'break') return !insideSwitch;
  if (
    node.kind === 'for' ||
    node.kind === 'while' ||
    node.kind === 'do' ||
    node.kind === 'rangeFor' ||
    node.kind === 'lambda'
  )
    return false;
  return Object.values(value).some((v) => findJump(v, insideSwitch || node.kind === 'switch', depth + 1));
}
