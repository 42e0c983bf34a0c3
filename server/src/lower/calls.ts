/** Calls: overloads are chosen, templates deduced, bodies inlined; builtin functions go to their tables. */

import type * as ast from '../parse/ast';
import { assertion } from './assertion';
import { associatedFunctions } from './associated-functions';
import { bindParameter, boundTo, materialise } from './bound-values';
import { callBuiltin } from './builtins/functions';
import { takesNumbers } from './builtins/math';
import { conditionalPlace } from './conditional';
import { constexprValue } from './constexpr';
import { construct, initialiseMembers } from './construct';
import { type Context, type Frame, forgetSince, LIBRARY_TOKENS, placeOf, skip, skipCall } from './context';
import { expression } from './expressions';
import { emitFence } from './fences';
import { callClosure, signatureOf } from './host/closures';
import { leaveLocals, noteTemporary } from './host/destructors';
import { callBehindMemberPointer, callMemberPointer } from './host/member-pointers';
import { changeByCall } from './host/memory';
import { callFunctionItself, identityOf, whileInlining } from './host/recursion';
import { callVirtual, markClass } from './host/virtual-calls';
import { KnownValues } from './known-values';
import { callLambda, lambdaBase } from './lambda-calls';
import { isLibraryScope } from './library/library';
import { lookupIn, lookupName } from './lookup';
import { type ChosenFunction, chooseOverload } from './overloads';
import { isBeyondOwnCalls } from './own-calls';
import { rvalue } from './places';
import { findMethods, recordOf } from './records';
import { resolveNamedType, resolveType } from './resolve-type';
import { hasEarlyReturn, returnedFrom } from './returns';
import { Scope } from './scope';
import { statement } from './statements';
import { bindTemplateParameters } from './templates';
import { parameterType, scalarOf, type Type, types, withoutReference } from './types';
import { unknownCall } from './unknown-calls';
import { unknownValue, type Value } from './values';

/** Lowers a call. `callee` and `args` may be given when they are known already (operators). */
export function callExpression(ctx: Context, node: ast.CallExpression, callee?: Value, args?: readonly Value[]): Value {
  const ofMember = callee
    ? undefined
    : callBehindMemberPointer(ctx, node, () => args ?? callArguments(ctx, node.arguments));
  if (ofMember) return ofMember;
  const target = callee ?? calleeValue(ctx, node);
  if (target.kind === 'builtin' && target.name === 'assert' && !target.self && !args && !ctx.unit.isHost)
    return assertion(ctx, node);
  const values =
    args ?? (takesNumbersOnly(ctx, target) ? numbers(ctx, node) : callArguments(ctx, node.arguments, target));
  return callValue(ctx, target, values, node);
}

const takesNumbersOnly = ({ unit }: Context, target: Value): boolean =>
  target.kind === 'builtin' && !target.self && !unit.isHost && takesNumbers(target.name);

/** Arguments that are read as they are evaluated, from the left: `min(s[i], s[j] + 1)` reads `s[i]` first (PTX of nvcc 13.0). */
function numbers(ctx: Context, node: ast.CallExpression): Value[] {
  return node.arguments.flatMap((argument) =>
    callArguments(ctx, [argument]).map((value) =>
      value.kind === 'place' && scalarOf(withoutReference(value.type)) ? rvalue(ctx, value, argument) : value,
    ),
  );
}

/**
 * Arguments; packs are spread. On the host the last one is evaluated first, as g++ does for calls of functions, methods, lambdas and
 * constructors alike (22 calls with side effects, run): `connect(a(), b())` draws for `b` before it draws for `a`.
 */
export function callArguments(ctx: Context, nodes: readonly ast.Expression[], target?: Value): Value[] {
  if (!ctx.unit.isHost) return listElements(ctx, nodes);
  return nodes
    .map((node, index) => ({ node, index }))
    .reverse()
    .map(({ node, index }) =>
      node.kind === 'conditional' && mayChange(target, index)
        ? [conditionalPlace(ctx, node)]
        : listElements(ctx, [node]),
    )
    .reverse()
    .flat();
}

/** Whether a function may change what it is given there: `add(c ? a : b, 3)`. */
const mayChange = (target: Value | undefined, index: number): boolean =>
  target?.kind === 'functions' &&
  target.declarations.some(({ parameters }) => {
    const type = parameters[index]?.type;
    return type?.kind === 'reference' && !type.rvalue && !type.to.isConst;
  });

/** What stands in braces is evaluated from the left; packs are spread. */
export function listElements(ctx: Context, nodes: readonly ast.Expression[]): Value[] {
  const out: Value[] = [];
  for (const node of nodes) {
    const value = expression(ctx, node);
    if (value.kind === 'pack') out.push(...value.elements);
    else out.push(value);
  }
  return out;
}

/** `T(x)` with a template parameter or a record parses as a call: the type is constructed. */
function calleeValue(ctx: Context, node: ast.CallExpression): Value {
  const callee = node.callee;
  if (callee.kind === 'name') {
    const part = callee.name.parts[callee.name.parts.length - 1];
    const entity = callee.name.parts.length === 1 ? lookupName(ctx, ctx.scope, part.name) : undefined;
    if (entity && entity.kind !== 'functions' && entity.kind !== 'value' && entity.kind !== 'global') {
      const type = resolveNamedType(ctx, ctx.scope, entity, part);
      if (type) return unknownValue(type, 'type');
    }
  }
  return expression(ctx, callee);
}

export function callValue(ctx: Context, callee: Value, args: readonly Value[], node: ast.CallExpression): Value {
  const member = ctx.unit.isHost ? callMemberPointer(ctx, callee, args, node) : undefined;
  if (member) return member;
  switch (callee.kind) {
    case 'functions':
      return callFunctions(ctx, callee, args, node);
    case 'lambda':
      return callLambda(ctx, callee, args, node);
    case 'builtin': {
      const associated = callee.self ? undefined : associatedFunctions(callee.name, args);
      return associated
        ? callFunctions(ctx, { ...associated, kind: 'functions', type: callee.type }, args, node)
        : callBuiltin(ctx, callee, args, node);
    }
    case 'place': {
      if (recordOf(callee.type)) return callObject(ctx, callee, args, node);
      const value = rvalue(ctx, callee, node);
      const signature = value.kind === 'scalar' ? signatureOf(ctx, value.type) : undefined;
      if (value.kind === 'scalar' && signature) return callClosure(ctx, value, signature, args, node);
      const isOpen = value.kind === 'unknown' && callee.place.kind === 'memory';
      return isOpen || value.kind === 'place' || value.kind === 'scalar'
        ? unknownCall(ctx, node, args, 'call through a function pointer that is read from memory')
        : callValue(ctx, value, args, node);
    }
    case 'aggregate':
      return callObject(ctx, callee, args, node);
    case 'unknown':
      if (callee.reason === 'type' || callee.reason.endsWith('is a type'))
        return construct(ctx, callee.type, args, node, false);
      return unknownCall(ctx, node, args, callee.reason);
    case 'scalar': {
      const signature = signatureOf(ctx, callee.type);
      if (signature) return callClosure(ctx, callee, signature, args, node);
      return unknownCall(ctx, node, args, 'call of a value that is no function');
    }
    default:
      return unknownCall(ctx, node, args, 'call of a value that is no function');
  }
}

function callObject(ctx: Context, callee: Value, args: readonly Value[], node: ast.CallExpression): Value {
  const record = recordOf(callee.type);
  const methods = record && findMethods(record, 'operator()');
  const base = record && !methods ? lambdaBase(ctx, callee, record, args, node) : undefined;
  if (base) return callValue(ctx, base, args, node);
  if (!methods?.owner.scope) return unknownCall(ctx, node, args, `${record?.name ?? 'value'} cannot be called`);
  return callFunctions(
    ctx,
    {
      kind: 'functions',
      type: { kind: 'function' },
      declarations: methods.declarations,
      scope: methods.owner.scope,
      self: callee,
    },
    args,
    node,
  );
}

function callFunctions(
  ctx: Context,
  callee: Value & { kind: 'functions' },
  args: readonly Value[],
  node: ast.CallExpression,
): Value {
  const candidates = [...callee.declarations];
  const name = callee.declarations[0]?.name.parts.at(-1)?.name ?? '';
  // a function may be declared in several enclosing scopes and namespaces: all of them are candidates
  // but std::ranges has algorithms of its own, which hide those of std
  if (!callee.self && callee.scope.label !== 'ranges')
    for (let s = callee.scope.parent; s; s = s.parent) {
      const outer = s.isPlain ? s.own(name) : lookupIn(ctx, s, name, new Set());
      if (outer?.kind === 'functions')
        for (const d of outer.declarations) if (!candidates.includes(d)) candidates.push(d);
    }
  const chosen = chooseOverload(ctx, candidates, callee.scope, args, callee.templateArguments, callee.self);
  if (!chosen) {
    const associated = callee.self || callee.templateArguments ? undefined : associatedFunctions(name, args);
    if (associated?.declarations.some((d) => !candidates.includes(d)))
      return callFunctions(ctx, { ...associated, kind: 'functions', type: callee.type }, args, node);
    if (candidates.every((c) => !c.body))
      return callBuiltin(
        ctx,
        {
          kind: 'builtin',
          type: callee.type,
          name,
          templateArguments: callee.templateArguments,
          parameters: candidates.find(({ parameters }) => parameters.length === args.length)?.parameters,
        },
        args,
        node,
      );
    // headers that are not read may have one: make_float4 of four numbers beside the user's own
    return callBuiltin(
      ctx,
      { kind: 'builtin', type: callee.type, name, templateArguments: callee.templateArguments, self: callee.self },
      args,
      node,
      `no definition of ${name} fits the call`,
    );
  }
  const self = chosen.declaration.specifiers.isStatic ? undefined : callee.self;
  const notFollowed = () => {
    const reason = `which ${name} is called is not known`;
    skip(ctx, node, reason);
    changeByCall(ctx, chosen.declaration, args, self, node);
    return unknownValue(chosen.isDoubtful ? { kind: 'unknown', reason } : returnTypeOf(ctx, chosen), reason);
  };
  if (chosen.isDoubtful) return notFollowed();
  const dispatched = self && ctx.unit.isHost ? callVirtual(ctx, chosen, args, self, node, notFollowed) : undefined;
  if (dispatched) return dispatched;
  return callFunction(ctx, chosen, args, self && inPlace(ctx, self, node), node);
}

/** A temporary object as the `this` of its methods. */
function inPlace(ctx: Context, object: Value, node: ast.Node): Value {
  if (object.kind !== 'aggregate') return object;
  const made = materialise(ctx, object, node);
  noteTemporary(ctx, made, node);
  return made;
}

// ---- inlining ----

/** Inlines a function. */
export function callFunction(
  ctx: Context,
  chosen: ChosenFunction,
  args: readonly Value[],
  self: Value | undefined,
  node: ast.Node,
): Value {
  const { declaration } = chosen;
  const name = declaration.name.parts.at(-1)?.name ?? 'function';
  const body = declaration.body;
  if (!body)
    return unknownValue({ kind: 'unknown', reason: name }, `${name} is not defined in the files that could be read`);
  const folded = self ? undefined : constexprValue(ctx, chosen, args);
  if (folded) return folded;
  const isLinked = isOfOtherFile(ctx, declaration);
  const run = (given: readonly Value[], object: Value | undefined) => {
    if (isLinked) emitFence(ctx, 'call');
    const inline = () => inlineFunction(ctx, chosen, body, given, object, node);
    const result = whileInlining(ctx, identityOf(chosen), inline);
    if (isLinked) emitFence(ctx, 'call');
    return result;
  };
  const itself = callFunctionItself(ctx, chosen, args, self, node, run);
  if (itself) return itself;
  if (isTooDeep(ctx, chosen)) {
    const reason = `${name} is recursive or nested too deeply to follow`;
    const { first, last } = declaration;
    skipCall(ctx, node, reason, ctx.active.get(declaration) ? { first, last } : undefined);
    if (ctx.unit.isHost) changeByCall(ctx, declaration, args, self, node);
    return unknownValue(returnTypeOf(ctx, chosen), reason);
  }
  return run(args, self);
}

/** A function of another file is compiled on its own (`nvcc -rdc=true`): what a kernel accesses stays on its side of the call. */
const isOfOtherFile = ({ unit }: Context, { first }: ast.FunctionDeclaration): boolean =>
  unit.linkedFrom !== undefined && first >= unit.linkedFrom && first < LIBRARY_TOKENS;

function inlineFunction(
  ctx: Context,
  chosen: ChosenFunction,
  body: ast.CompoundStatement,
  args: readonly Value[],
  self: Value | undefined,
  node: ast.Node,
): Value {
  const { declaration } = chosen;
  const scope = new Scope(chosen.scope, declaration.name.parts.at(-1)?.name ?? 'function');
  if (declaration.templateParameters)
    bindTemplateParameters(ctx, scope, declaration.templateParameters, chosen.templateArguments);
  scope.thisValue = self;
  return withCall(ctx, declaration, node, isLibraryScope(chosen.scope, ctx.unit.scope), () => {
    const { length: locals } = ctx.locals;
    bindParameters(ctx, scope, declaration, args, node);
    if (declaration.initializers && self) {
      ctx.scope = scope;
      initialiseMembers(ctx, declaration, self);
    }
    if (self && isConstructor(declaration, self)) markClass(ctx, self, node);
    const result = resolveType(ctx, declaration.result, scope);
    return atCall(inlineBody(ctx, body, new Scope(scope, 'body'), result, declaration, locals), node);
  });
}

const isConstructor = (declaration: ast.FunctionDeclaration, self: Value): boolean =>
  recordOf(self.type)?.declaration?.name?.parts.at(-1)?.name === declaration.name.parts.at(-1)?.name;

/** Calls of a function in calls of itself; the host's (a sort, a search: two calls in each) only as far as they leave room for the rest of the program. */
function isTooDeep(ctx: Context, chosen: ChosenFunction): boolean {
  const { declaration } = chosen;
  const running = ctx.active.get(declaration) ?? 0;
  if (running > 0 && !ctx.unit.isHost && isBeyondOwnCalls(ctx, chosen)) return true;
  if (ctx.callDepth >= ctx.budget.callDepth || running >= (declaration.templateParameters ? 64 : ctx.budget.recursion))
    return true;
  if (!ctx.unit.isHost || running < 2 || declaration.first >= LIBRARY_TOKENS) return false;
  return ctx.builder.instructionCount > ctx.budget.instructions / RECURSION_SHARE;
}

/** Of the instructions of the host's program: what may be in use when a recursion is followed further. */
const RECURSION_SHARE = 6;

/** What a returned reference refers to is read and written where the call stands (H200: fdtd_waves.cu:16, lambda_functors.cu:38). */
export function atCall(value: Value, node: ast.Node): Value {
  if (value.kind !== 'place' || value.place.kind !== 'memory' || node.first >= LIBRARY_TOKENS) return value;
  return { ...value, place: { ...value.place, node } };
}

function returnTypeOf(ctx: Context, chosen: ChosenFunction): Type {
  const scope = new Scope(chosen.scope, 'result');
  if (chosen.declaration.templateParameters)
    bindTemplateParameters(ctx, scope, chosen.declaration.templateParameters, chosen.templateArguments);
  return resolveType(ctx, chosen.declaration.result, scope);
}

export function withCall(
  ctx: Context,
  declaration: ast.FunctionDeclaration | undefined,
  node: ast.Node,
  inLibrary: boolean,
  run: () => Value,
): Value {
  const { call, libraryCall, callPath, frame } = ctx;
  const saved = { call, libraryCall, callPath, scope: ctx.scope, frame };
  const running = declaration ? (ctx.active.get(declaration) ?? 0) : 0;
  if (declaration) ctx.active.set(declaration, running + 1);
  // what the library hands to a functor of the user's is read where the user calls the library
  const fromLibrary = node.first >= LIBRARY_TOKENS;
  if (!inLibrary) ctx.call = placeOf(ctx, node);
  if (!fromLibrary) ctx.libraryCall = inLibrary ? node : undefined;
  ctx.builder.call = ctx.call;
  ctx.builder.isFromLibrary = ctx.libraryCall !== undefined;
  const { callBlock } = ctx.builder;
  ctx.builder.callBlock = ctx.builder.currentBlock;
  ctx.callPath = `${ctx.callPath}/${node.first}`;
  ctx.callDepth++;
  const first = ctx.builder.registers.length;
  const result = run();
  if (result.kind !== 'lambda') forgetSince(ctx, first);
  ctx.callDepth--;
  if (declaration) ctx.active.set(declaration, running);
  Object.assign(ctx, saved);
  ctx.builder.call = call;
  ctx.builder.isFromLibrary = libraryCall !== undefined;
  ctx.builder.callBlock = callBlock;
  return result;
}

/** Parameter types are resolved in the function's scope, default arguments evaluated there. */
function bindParameters(
  ctx: Context,
  scope: Scope,
  declaration: ast.FunctionDeclaration,
  args: readonly Value[],
  node: ast.Node,
): void {
  for (const [i, parameter] of declaration.parameters.entries()) {
    if (parameter.pack) {
      bindPack(ctx, scope, parameter, args.slice(i), node);
      break;
    }
    let value = args[i];
    if (!value && parameter.default) {
      const saved = ctx.scope;
      ctx.scope = scope;
      value = expression(ctx, parameter.default);
      ctx.scope = saved;
    }
    if (!parameter.name) continue;
    const type = parameterType(resolveType(ctx, parameter.type, scope));
    bindParameter(
      ctx,
      scope,
      parameter,
      parameter.name,
      type,
      value ?? unknownValue(type, `argument ${parameter.name} is missing`),
      node,
    );
  }
}

const REFERENCE: Type = { kind: 'reference', to: types.void, isRvalue: true };

/** The arguments of a parameter pack; references stay what they refer to, records are variables of their own. */
export function bindPack(
  ctx: Context,
  scope: Scope,
  parameter: ast.Parameter,
  args: readonly Value[],
  node: ast.Node,
): void {
  const isReference = parameter.type.kind === 'reference';
  const elements = args.map((a, i) => {
    const value = isReference ? boundTo(ctx, REFERENCE, a, node) : rvalue(ctx, a, node);
    if (isReference || value.kind !== 'aggregate') return value;
    const name = `${parameter.name}#${i}`;
    bindParameter(ctx, scope, parameter, name, value.type, value, node);
    const bound = scope.own(name);
    return bound?.kind === 'value' ? bound.value : value;
  });
  if (parameter.name)
    scope.define(parameter.name, { kind: 'value', value: { kind: 'pack', type: types.void, elements } });
}

/**
 * Lowers a body in a frame of its own and gives what it returns.
 * @param locals objects that there were before its parameters
 */
export function inlineBody(
  ctx: Context,
  body: ast.CompoundStatement,
  scope: Scope,
  result: Type,
  declaration: ast.FunctionDeclaration | undefined,
  locals = ctx.locals.length,
): Value {
  const b = ctx.builder;
  const early = hasEarlyReturn(body);
  const exitBlock = early ? b.newBlock() : -1;
  const frame: Frame = {
    declaration,
    exitBlock,
    result,
    storage: undefined,
    address: undefined,
    undecided: [],
    value: undefined,
    returned: false,
    known: [],
    locals,
    jumps: [],
    labels: new Map(),
  };
  ctx.frame = frame;
  ctx.scope = scope;
  if (early) b.enterRegion();
  for (const s of body.body) statement(ctx, s);
  // a return has done so before it left
  if (body.body.at(-1)?.kind === 'return') ctx.locals.length = Math.min(ctx.locals.length, frame.locals);
  else leaveLocals(ctx, frame.locals);
  if (!early) return frame.value ? handedOn(frame.value) : { kind: 'void', type: types.void };
  if (b.reachable) frame.known.push(ctx.known);
  b.jump(exitBlock);
  b.leaveRegion();
  b.use(exitBlock);
  ctx.known = KnownValues.merged(frame.known);
  return returnedFrom(ctx, frame, body);
}

/** A vector that was read from memory and returned is copied once more. */
const handedOn = (value: Value): Value =>
  value.kind === 'aggregate' && value.vector === 'loaded' ? { ...value, vector: 'handed on' } : value;
