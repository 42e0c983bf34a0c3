/**
 * Functions of the host that call themselves: a tree is built, numbers are sorted, codes are assigned. Functions are inlined elsewhere; of these the
 * body is a part of the program of its own, between an entry and an exit (`HostFunction`), that control comes to from outside as if it were inlined,
 * and that `recurse` calls once more. Arguments and results go through variables that all its runs share; what is declared inside is a run's own, what
 * has an address lies in a frame of memory that each run allocates.
 *
 * What a program has to be lowered anew for is asked as for variables that need addresses: `wanted` functions are found by inlining them a few times.
 */

import { anywhere } from '../../parse/anywhere';
import type * as ast from '../../parse/ast';
import type { HostFunction, HostInstruction } from '../../program/host-program';
import { readsOf, writesOf } from '../../program/operands';
import type { Register } from '../../program/program';
import { type Context, LIBRARY_TOKENS } from '../context';
import type { ChosenFunction } from '../overloads';
import { addressOf, readStorage, writeStorage } from '../places';
import { instanceKey } from '../records';
import { resolveType } from '../resolve-type';
import { Scope } from '../scope';
import { bindTemplateParameters } from '../templates';
import { scalarOf, type Type, types, unqualified, withoutReference } from '../types';
import { type MemoryPlace, type Storage, unknownValue, type Value } from '../values';
import { allocateStorage } from '../variables';
import { type Given, givenOf, handOver, placeAt, registersOf, type Slot, slotFor, taken } from './handed-over';

/** How a function is told from others: by its text, and where that has several meanings by where it was found and its template arguments. */
interface Identity {
  readonly node: object;
  readonly scope?: Scope;
  readonly instance?: string;
}

/** State of a lowering; what it found out about functions is kept for the next try. */
export interface Recursion {
  /** Of the syntax: functions that become parts of their own, and those that cannot. */
  readonly wanted: Set<object>;
  readonly refused: Set<object>;
  /** Calls that are being inlined. */
  readonly calls: Identity[];
  /** Bodies that are being lowered as parts of their own, the innermost last. */
  readonly bodies: Body[];
  readonly functions: HostFunction[];
}

export const newRecursion = (wanted = new Set<object>(), refused = new Set<object>()): Recursion => ({
  wanted,
  refused,
  calls: [],
  bodies: [],
  functions: [],
});

interface Body {
  readonly identity: Identity;
  readonly index: number;
  readonly slots: readonly Slot[];
  readonly result: Storage | undefined;
  /** Registers from here on are its own. */
  readonly first: Register;
  readonly calls: Recurse[];
  readonly frame: { readonly base: Register; bytes: number };
}

/** What stands in them is complete only when the body is. */
type Leave = HostInstruction & { args: readonly Register[] };
type Recurse = Leave & { results: readonly Register[] };

/** A function as far as it matters here. */
interface Callee {
  readonly identity: Identity;
  readonly parameters: readonly ast.Parameter[];
  /** Where its parameters' types and defaults are looked up. */
  readonly scope: Scope;
  readonly result: Type;
  readonly body: ast.CompoundStatement;
}

/** Calls within one another that are inlined before a function becomes a part of its own; cycles of grids are few and short. */
const INLINED = 2;
const INLINED_LAUNCHING = 8;

/**
 * Calls a function as a part of the program of its own, where it calls itself and can be one; undefined where it is to be inlined.
 * @param inlined lowers its body
 */
export function callFunctionItself(
  ctx: Context,
  chosen: ChosenFunction,
  args: readonly Value[],
  self: Value | undefined,
  node: ast.Node,
  inlined: (args: readonly Value[], self: Value | undefined) => Value,
): Value | undefined {
  const { declaration } = chosen;
  const { body } = declaration;
  if (!body) return undefined;
  const identity = identityOf(chosen);
  const how = howCalled(ctx, identity, body);
  if (how !== 'itself') return how === 'asked' ? askedFor() : undefined;
  const scope = new Scope(chosen.scope, 'parameters');
  if (declaration.templateParameters)
    bindTemplateParameters(ctx, scope, declaration.templateParameters, chosen.templateArguments);
  const result = resolveType(ctx, declaration.result, scope);
  const callee: Callee = { identity, parameters: declaration.parameters, scope, result, body };
  const own = self ? ([self] as const) : [];
  return call(ctx, callee, own, args, node, (bound) =>
    self ? inlined(bound.slice(1), bound[0]) : inlined(bound, undefined),
  );
}

/**
 * The same for a lambda.
 * @param own what it is called with before its arguments: the block that holds its captures, where memory holds it
 */
export function callLambdaItself(
  ctx: Context,
  callee: Value & { kind: 'lambda' },
  own: readonly Value[],
  args: readonly Value[],
  node: ast.Node,
  lower: (own: readonly Value[], args: readonly Value[]) => Value,
): Value {
  const { lambda } = callee;
  const identity: Identity = { node: lambda.body, instance: own.length > 0 ? 'kept' : undefined };
  const inlined = (block: readonly Value[], given: readonly Value[]) =>
    whileInlining(ctx, identity, () => lower(block, given));
  const how = howCalled(ctx, identity, lambda.body);
  if (how !== 'itself') return how === 'asked' ? askedFor() : inlined(own, args);
  const { scope } = callee;
  const result = lambda.result ? resolveType(ctx, lambda.result, scope) : undefined;
  const returns = anywhere(lambda.body, (n) =>
    n.kind === 'lambda' ? 'closed' : n.kind === 'return' && n.value !== undefined,
  );
  if (!result && returns) {
    refuse(ctx, identity);
    return inlined(own, args);
  }
  const { parameters, body } = lambda;
  return call(ctx, { identity, parameters, scope, result: result ?? types.void, body }, own, args, node, (bound) =>
    inlined(bound.slice(0, own.length), bound.slice(own.length)),
  );
}

export const identityOf = ({ declaration, scope, templateArguments }: ChosenFunction): Identity => ({
  node: declaration,
  scope,
  instance: instanceKey(templateArguments),
});

const isSame = (a: Identity, b: Identity): boolean =>
  a.node === b.node && a.scope === b.scope && a.instance === b.instance;

/** Calls of an instance that are being inlined. */
export function callsWithin({ recursion }: Context, chosen: ChosenFunction): number {
  const identity = identityOf(chosen);
  return recursion.calls.filter((c) => isSame(c, identity)).length;
}

/** Notes a call that is being inlined, for as long as it is. */
export function whileInlining<T>(ctx: Context, identity: Identity, run: () => T): T {
  ctx.recursion.calls.push(identity);
  const result = run();
  ctx.recursion.calls.pop();
  return result;
}

/** Inlined, as a part of its own, or not at all: the program is lowered anew. */
function howCalled(ctx: Context, identity: Identity, body: ast.CompoundStatement): 'inlined' | 'itself' | 'asked' {
  const { wanted, refused, calls } = ctx.recursion;
  const { node } = identity;
  if (!ctx.unit.isHost || body.first >= LIBRARY_TOKENS || refused.has(node) || !ctx.builder.reachable) return 'inlined';
  if (wanted.has(node)) return 'itself';
  const most = launches(body) ? INLINED_LAUNCHING : INLINED;
  if (calls.filter((c) => isSame(c, identity)).length < most) return 'inlined';
  wanted.add(node);
  ctx.demanded = true;
  return 'asked';
}

/** Whether a lambda that is being lowered may be called by its own body. */
export const mayCallItself = (ctx: Context, value: Value): boolean =>
  value.kind === 'lambda' && !ctx.recursion.refused.has(value.lambda.body);

const askedFor = (): Value =>
  unknownValue({ kind: 'unknown', reason: 'recursion' }, 'a recursion that is lowered in the next try');

const launches = (body: ast.CompoundStatement): boolean => anywhere(body, (n) => n.kind === 'launch');

function refuse(ctx: Context, { node }: Identity): Value {
  ctx.recursion.refused.add(node);
  ctx.demanded = true;
  return unknownValue({ kind: 'unknown', reason: 'recursion' }, 'a recursion that is not followed');
}

function call(
  ctx: Context,
  callee: Callee,
  own: readonly Value[],
  args: readonly Value[],
  node: ast.Node,
  inlined: (bound: readonly Value[]) => Value,
): Value {
  const { identity } = callee;
  const given = givenOf(ctx, callee, own, args, node);
  // what it is given may have an address in the next try
  if (!given) return ctx.demanded ? askedFor() : refuse(ctx, identity);
  const running = ctx.recursion.bodies.findLast((body) => isSame(body.identity, identity));
  if (running) return recurse(ctx, running, callee, given, node);
  return enter(ctx, callee, given, node, inlined);
}

// ---- calls ----

/** The first call, from outside: the body is lowered here. */
function enter(
  ctx: Context,
  callee: Callee,
  given: readonly Given[],
  node: ast.Node,
  inlined: (bound: readonly Value[]) => Value,
): Value {
  const { builder, recursion } = ctx;
  const { result: type } = callee;
  const slots = given.map((each) => slotFor(ctx, each));
  const result = resultOf(ctx, type);
  if (result === 'refused') return refuse(ctx, callee.identity);
  handOver(ctx, slots, given, node);
  const [entry, exit] = [builder.newBlock(), builder.newBlock()];
  const index = recursion.functions.length;
  recursion.functions.push({ entry, exit });
  builder.jump(entry);
  builder.use(entry);
  const base = builder.register('i64', 'temporary', 'frame');
  const body: Body = {
    identity: callee.identity,
    index,
    slots,
    result,
    first: base,
    calls: [],
    frame: { base, bytes: 0 },
  };
  const allocation: { op: 'host'; fn: 'allocate'; dst: Register; args: Register[] } = {
    op: 'host',
    fn: 'allocate',
    dst: base,
    args: [builder.constant('i64', 0)],
  };
  builder.emit(allocation);
  builder.enterRegion();
  forget(ctx);
  recursion.bodies.push(body);
  // what it throws out of itself is not followed
  const { tries } = ctx;
  ctx.tries = [];
  const value = inlined(slots.map((slot) => taken(ctx, slot, node)));
  ctx.tries = tries;
  const isKept = keepResult(ctx, type, result, value, node);
  recursion.bodies.pop();
  builder.jump(exit);
  builder.use(exit);
  if (body.frame.bytes > 0) {
    allocation.args[0] = builder.constant('i64', body.frame.bytes);
    builder.emit({ op: 'host', fn: 'release', args: [base] });
  } else builder.drop(entry, allocation);
  const leave: Leave = { op: 'host', fn: 'leave', args: result ? registersOf(result) : [], callee: index };
  builder.emit(leave);
  const after = builder.newBlock();
  builder.jump(after);
  builder.use(after);
  builder.leaveRegion();
  forget(ctx);
  const isClosed = shareOuter(ctx, body, leave, entry, after);
  return isKept && isClosed ? resultIn(ctx, type, result, node) : refuse(ctx, callee.identity);
}

/** A call in the body itself. */
function recurse(ctx: Context, body: Body, callee: Callee, given: readonly Given[], node: ast.Node): Value {
  const { slots, result, index } = body;
  if (!handOver(ctx, slots, given, node)) return refuse(ctx, callee.identity);
  const args = slots.flatMap((slot) => (slot.kind === 'same' ? [] : registersOf(slot.storage)));
  const instruction: Recurse = {
    op: 'host',
    fn: 'recurse',
    args,
    results: result ? registersOf(result) : [],
    callee: index,
  };
  ctx.builder.emit(instruction);
  body.calls.push(instruction);
  forget(ctx);
  return resultIn(ctx, callee.result, result, node);
}

/** Nothing is known of variables where control comes from several calls. */
function forget(ctx: Context): void {
  ctx.known.clear();
  ctx.builder.forgetPure();
}

function resultOf(ctx: Context, type: Type): Storage | undefined | 'refused' {
  if (type.kind === 'void') return undefined;
  if (type.kind === 'reference') return allocateStorage(ctx, { kind: 'pointer', to: withoutReference(type) }, 'result');
  if (!scalarOf(type) && type.kind !== 'record') return 'refused';
  return allocateStorage(ctx, unqualified(type), 'result');
}

function keepResult(ctx: Context, type: Type, result: Storage | undefined, value: Value, node: ast.Node): boolean {
  if (!result || !ctx.builder.reachable) return true;
  if (type.kind === 'reference') {
    if (value.kind !== 'place' || value.place.kind !== 'memory' || value.place.bits) return false;
    const register = addressOf(ctx, value.place);
    writeStorage(ctx, result, { kind: 'scalar', type: { kind: 'pointer', to: value.type }, register }, node);
    return true;
  }
  if (value.kind === 'lambda' || value.kind === 'functions' || value.kind === 'builtin') return false;
  writeStorage(ctx, result, value.kind === 'void' ? unknownValue(type, 'nothing was returned') : value, node);
  return true;
}

/** The result as a value of its own: the next call overwrites the variables. */
function resultIn(ctx: Context, type: Type, result: Storage | undefined, node: ast.Node): Value {
  if (!result) return { kind: 'void', type: types.void };
  if (type.kind === 'reference')
    return { kind: 'place', type: withoutReference(type), place: placeAt(ctx, result, node) };
  const copy = allocateStorage(ctx, result.type, 'returned');
  writeStorage(ctx, copy, readStorage(ctx, result), node);
  return readStorage(ctx, copy);
}

/**
 * Variables from outside that the body uses are read and assigned by its calls too. False where they are those of another such body: each of its
 * runs has its own.
 */
function shareOuter(ctx: Context, body: Body, leave: Leave, entry: number, end: number): boolean {
  const { builder, recursion } = ctx;
  const handed = new Set(
    [...body.slots, ...(body.result ? [{ kind: 'value', storage: body.result } as const] : [])].flatMap((slot) =>
      slot.kind === 'same' ? [] : registersOf(slot.storage),
    ),
  );
  const around = recursion.bodies.at(-1)?.first;
  const read = new Set<Register>();
  const written = new Set<Register>();
  let isClosed = true;
  const note = (register: Register, into: Set<Register>) => {
    const { role } = builder.registers[register];
    if (register >= body.first || handed.has(register) || (role !== 'variable' && role !== 'temporary')) return;
    if (around !== undefined && register >= around) isClosed = false;
    if (role === 'variable') into.add(register);
  };
  for (const { instructions } of builder.blocksSoFar().slice(entry, end))
    for (const instruction of instructions) {
      for (const register of readsOf(instruction)) note(register, read);
      for (const register of writesOf(instruction)) note(register, written);
    }
  const used = [...new Set([...read, ...written])];
  leave.args = [...leave.args, ...used];
  for (const each of body.calls) {
    each.args = [...each.args, ...used];
    each.results = [...each.results, ...written];
  }
  return isClosed;
}

// ---- frames ----

const FRAME_ALIGNMENT = 16;

/** Memory for an object that a run of a recursive function has of its own; undefined outside of such functions. */
export function inFrame(ctx: Context, bytes: number, alignment: number, node: ast.Node): MemoryPlace | undefined {
  const frame = ctx.recursion.bodies.at(-1)?.frame;
  if (!frame) return undefined;
  const step = Math.max(FRAME_ALIGNMENT, alignment);
  const offset = Math.ceil(frame.bytes / step) * step;
  frame.bytes = offset + bytes;
  return { kind: 'memory', address: frame.base, offset, node };
}
