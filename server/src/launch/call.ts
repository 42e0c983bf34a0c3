/** Calls in host code: who is called, with what. */
import { anywhere } from '../parse/anywhere';
import type { CallExpression, Expression, MemberExpression, NameExpression, QualifiedName } from '../parse/ast';
import { forgetChosen } from './assignment';
import { associatedFunctions } from './associated-functions';
import { builtinCall } from './builtins';
import { convert } from './conversion';
import { evaluate, expandPack } from './expression';
import { callFunctions, type HostArgument } from './function-call';
import { classSeen, isVirtual } from './hidden-members';
import type { RecordType } from './host-type';
import { construct } from './initialise';
import { loseReferred } from './kept-references';
import { callLambda } from './lambda-call';
import { type Found, lookup, lookupQualified, memberOf, undeclaredType } from './lookup';
import { changeAny, forget, makeCell, smudge, standFor, store } from './memory';
import { callContainerMethod, callUnknownMethod } from './methods';
import { overloadCost } from './overload-cost';
import { dereference, forgetBehindMemberPointer, locate, type Place, read } from './place';
import { bindArguments, resolveSymbolType } from './resolve-type';
import { lastName, type Scope, spelledName } from './scope';
import { standardType } from './standard-types';
import { type HostState, sourceText } from './state';
import { forgetAssigned, leaveEmpty, loseDeleter } from './unseen';
import { type Cell, type FunctionValue, number, type StructValue, unknown, unknownFrom, type Value } from './value';

/** Value of a call expression. */
export function evaluateCall(state: HostState, call: CallExpression, scope: Scope): Value {
  const moved = forwarded(call);
  if (moved) {
    if (isRef(call)) loseReferred(state, [moved], scope);
    const { value } = evaluateArgument(state, moved, scope);
    const copy = convert(state, value, undefined);
    emptyMoved(state, [call], scope);
    return copy;
  }
  const result = evaluateOther(state, call, scope);
  emptyMoved(state, call.arguments, scope);
  return result;
}

/** What was handed over by std::move holds something else behind the call. */
export function emptyMoved(state: HostState, list: readonly Expression[], scope: Scope): void {
  for (const each of list) {
    const operand = isMove(each) ? each.arguments[0] : undefined;
    if (!operand || !isPlainPlace(operand)) continue;
    const place = locate(state, operand, scope);
    if (place.kind === 'cell') leaveEmpty(state, place.cell);
  }
}

/** Looking at it once more does nothing. */
const isPlainPlace = (place: Expression): boolean =>
  place.kind === 'name' ||
  (place.kind === 'member' && isPlainPlace(place.object)) ||
  (place.kind === 'index' &&
    isPlainPlace(place.base) &&
    place.indices.every((i) => i.kind === 'integer' || i.kind === 'name'));

const isMove = (expression: Expression): expression is CallExpression =>
  expression.kind === 'call' &&
  expression.callee.kind === 'name' &&
  lastName(expression.callee.name) === 'move' &&
  forwarded(expression) !== undefined;

function evaluateOther(state: HostState, call: CallExpression, scope: Scope): Value {
  const callee = call.callee;
  if (callee.kind === 'name') return callNamed(state, call, callee, scope);
  if (callee.kind === 'member') return callMember(state, call, callee, scope);
  return callValue(state, evaluate(state, callee, scope), call, scope);
}

function callNamed(state: HostState, call: CallExpression, callee: NameExpression, scope: Scope): Value {
  const name = callee.name;
  const last = name.parts.at(-1);
  const found = lookupQualified(state, name, scope);
  const templateArguments = last?.templateArguments;
  if (mayBeAssociated(state, name, found)) return callAssociated(state, call, callee, found, scope);
  if (found?.kind === 'functions') {
    // `Config::read`, which another file defines, is not C's
    const isOwn = found.overloads.some(({ declaration, scope: around }) => declaration.body || around.record);
    const builtin = isOwn ? undefined : builtinCall(state, lastName(name), call, scope);
    if (builtin) return builtin;
    const given = templateArguments && bindArguments(state, templateArguments, scope);
    const list = evaluateArguments(state, call.arguments, scope);
    const overloads = name.parts.length === 1 ? dispatched(state, found, lastName(name)) : found.overloads;
    return callFunctions(state, overloads, list, call, { templateArguments: given, self: found.self });
  }
  if (found?.kind === 'cell') return callValue(state, found.cell.value, call, scope, found.cell);
  if (found?.kind === 'type') return construct(state, found.type, call.arguments, scope, 'call');
  if (found?.kind === 'symbols' && templateArguments) {
    const type = resolveSymbolType(state, found.symbols, bindArguments(state, templateArguments, scope));
    if (type) return construct(state, type, call.arguments, scope, 'call');
  }
  const builtin = builtinCall(state, lastName(name), call, scope);
  if (builtin) return builtin;
  const type =
    undeclaredType(name) ??
    (templateArguments && standardType(lastName(name), bindArguments(state, templateArguments, scope)));
  if (type) return construct(state, type, call.arguments, scope, 'call');
  return callUnknown(state, evaluateArguments(state, call.arguments, scope), call, spelledName(name));
}

/** In a method of a base a virtual method is the object's own. */
function dispatched(state: HostState, { overloads, self }: Found & { kind: 'functions' }, name: string) {
  const type = self?.value.kind === 'struct' ? self.value.type : undefined;
  if (type?.kind !== 'record' || overloads[0].scope.record === type || !isVirtual(state, type, name)) return overloads;
  const own = memberOf(state, type, name, self);
  return own?.kind === 'functions' ? own.overloads : overloads;
}

/** Is there a function of this name that only the classes of the arguments may bring? */
function mayBeAssociated(
  state: HostState,
  name: QualifiedName,
  found: Found | undefined,
): found is (Found & { kind: 'functions' }) | undefined {
  if (name.parts.length > 1 || name.global || !state.index.associated.has(lastName(name))) return false;
  return !found || (found.kind === 'functions' && !found.self && !found.overloads[0].scope.record);
}

/** The call, with what the classes of its arguments bring beside what the name itself finds. */
function callAssociated(
  state: HostState,
  call: CallExpression,
  callee: NameExpression,
  found: (Found & { kind: 'functions' }) | undefined,
  scope: Scope,
): Value {
  const name = lastName(callee.name);
  const given = callee.name.parts[0].templateArguments;
  const list = evaluateArguments(state, call.arguments, scope);
  const values = list.map(({ value }) => value);
  const own = found?.overloads ?? [];
  const known = [...own, ...associatedFunctions(name, values, own)];
  const overloads = known.filter((symbol) => Number.isFinite(overloadCost(state, symbol, values)));
  if (overloads.some(({ declaration }) => declaration.body)) {
    return callFunctions(state, overloads, list, call, {
      templateArguments: given && bindArguments(state, given, scope),
    });
  }
  return builtinCall(state, name, call, scope, list) ?? callUnknown(state, list, call, name);
}

function callMember(
  state: HostState,
  call: CallExpression,
  callee: Expression & { kind: 'member' },
  scope: Scope,
): Value {
  const name = lastName(callee.name);
  const object = locate(state, callee.object, scope);
  const value = read(object);
  if (!readers.has(name) && (object.kind !== 'value' || !forgetChosen(state, callee.object, scope)))
    changeSomewhere(state, object);
  const star = callee.arrow && value.kind === 'pointer' ? starOf(callee.object) : undefined;
  const holder = star ? dereference(state, value, star) : object;
  const target = read(holder);
  if (target.kind === 'container') return callContainerMethod(state, target, name, call, scope);
  if (target.kind === 'pointer' && /^(get|data|release)$/.test(name)) return target;
  const owner = object.kind === 'cell' && !callee.arrow ? object.cell : undefined;
  if (name === 'reset' && owner?.type?.kind === 'pointer') return resetPointer(state, owner, call, scope);
  if (target.kind === 'unknown' && target.type?.kind === 'constant') return target.type.value;
  if (target.kind === 'unknown' && target.type?.kind !== 'record') {
    return callUnknownMethod(state, target, name, call, scope);
  }
  if (target.kind === 'struct' && target.type.kind === 'opaque') {
    const holder = object.kind === 'cell' ? object.cell.name : undefined;
    return callUnknownMethod(
      state,
      unknown(`${holder} is not known in this file`, { name: holder }),
      name,
      call,
      scope,
    );
  }
  const given = callee.name.parts.at(-1)?.templateArguments;
  if (target.kind === 'lambda' && name === 'operator()') {
    const list = evaluateArguments(state, call.arguments, scope);
    return callLambda(state, target, list, given && bindArguments(state, given, scope));
  }
  const seen =
    target.kind === 'struct' ? classSeen(state, callee, target, value, call.arguments.length, scope) : undefined;
  if (seen && target.kind === 'struct') return callAs(state, seen, target, holder, call, callee, scope);
  // the object is not evaluated once more: `line.add(a).add(b)`
  const isCalled = target.kind === 'struct' && anywhere(callee.object, ({ kind }) => kind === 'call');
  const once = isCalled ? methodOf(state, target, name, holder) : undefined;
  const method = once ?? read(locate(state, callee, scope));
  if (method.kind === 'function') {
    const bound = given ? { ...method, templateArguments: bindArguments(state, given, scope) } : method;
    return callValue(state, bound, call, scope);
  }
  return callValue(state, method, call, scope);
}

/** A method of an object that is seen as one of its bases; where nobody knows as which, it may have changed in any way. */
function callAs(
  state: HostState,
  seen: RecordType | 'open',
  object: StructValue,
  holder: Place,
  call: CallExpression,
  callee: MemberExpression,
  scope: Scope,
): Value {
  const name = lastName(callee.name);
  const self = holder.kind === 'cell' ? holder.cell : makeCell(object, { type: object.type });
  const found = seen === 'open' ? undefined : memberOf(state, seen, name, self);
  if (found?.kind === 'functions')
    return callValue(state, { kind: 'function', name, overloads: found.overloads, self }, call, scope);
  const reason = `which ${name} is meant is not known`;
  const list = evaluateArguments(state, call.arguments, scope);
  forget(state, self, reason);
  callUnknown(state, list, call, name);
  return unknown(reason);
}

/** A method or a member that is called, of an object that was evaluated. */
function methodOf(state: HostState, object: StructValue, name: string, holder: Place): Value | undefined {
  const field = object.fields.get(name);
  if (field || object.type.kind !== 'record') return field?.value;
  const self = holder.kind === 'cell' ? holder.cell : makeCell(object, { type: object.type });
  const found = memberOf(state, object.type, name, self);
  return found?.kind === 'functions'
    ? { kind: 'function', name, overloads: found.overloads, self: found.self }
    : undefined;
}

/** Methods that leave a container or a text as it is. */
const readers: ReadonlySet<string> = new Set(
  'size length empty capacity begin end cbegin cend rbegin rend data c_str at front back get find count contains substr str has_value value'.split(
    ' ',
  ),
);

/** A method may change the object: of an element whose index is not known, any of them. */
function changeSomewhere(state: HostState, object: Place): void {
  const isLibrary = (value: Value) =>
    value.kind === 'container' || (value.kind === 'unknown' && value.type?.kind === 'container');
  if (object.kind === 'somewhere' && isLibrary(object.value)) smudge(state, object.buffer);
  else if (object.kind === 'cell' && object.cell.stands && isLibrary(object.cell.value)) changeAny(state, object.cell);
}

/** `p.reset(new T)`, `p.reset()` of a smart pointer */
function resetPointer(state: HostState, cell: Cell, call: CallExpression, scope: Scope): Value {
  const [given, deleter] = evaluateArguments(state, call.arguments, scope);
  if (deleter) loseDeleter(state, deleter.value);
  store(state, cell, given ? convert(state, given.value, cell.type) : number(0, 'long'));
  return unknown('reset gives no value');
}

function starOf(operand: Expression): Expression {
  return { kind: 'unary', operator: '*', operand, first: operand.first, last: operand.last };
}

/** Calls a function, lambda or functor held in a variable. */
function callValue(state: HostState, value: Value, call: CallExpression, scope: Scope, cell?: Cell): Value {
  const list = evaluateArguments(state, call.arguments, scope);
  const { callee } = call;
  if (callee.kind === 'binary' && /^(?:\.|->)\*$/.test(callee.operator))
    forgetBehindMemberPointer(state, callee, scope);
  return callWith(state, value, list, call, sourceText(state, callee), cell);
}

/**
 * Calls what is no function of a name: a pointer, a lambda, an object with an `operator()`.
 * @param text how what is called is written
 * @param cell the object that it is
 */
export function callWith(
  state: HostState,
  value: Value,
  list: readonly HostArgument[],
  call: CallExpression,
  text: string,
  cell?: Cell,
): Value {
  if (value.kind === 'function') return callFunctionValue(state, value, list, call);
  if (value.kind === 'lambda') return callLambda(state, value, list);
  if (value.kind === 'struct') {
    const result = callMethod(state, cell ?? makeCell(value, { type: value.type }), 'operator()', list, call);
    if (result) return result;
  }
  if (value.kind === 'unknown' && value.type?.kind === 'constant') return value.type.value;
  // it may be any of those that are kept somewhere
  if (value.kind === 'unknown') for (const lambda of state.lambdas.values()) forgetAssigned(state, lambda);
  return callUnknown(state, list, call, text);
}

export function callFunctionValue(
  state: HostState,
  value: FunctionValue,
  list: readonly HostArgument[],
  call: Expression,
): Value {
  return callFunctions(state, value.overloads, list, call, {
    templateArguments: value.templateArguments,
    self: value.self,
  });
}

/** A function nobody knows: what it was given to write is unknown behind it. */
export function callUnknown(state: HostState, list: readonly HostArgument[], call: Expression, name: string): Value {
  for (const { value } of list) {
    forgetBehind(state, value);
    if (value.kind === 'lambda') forgetAssigned(state, value);
  }
  for (const { cell, isHandedOut } of list)
    if (cell && (isHandedOut || writers.has(name) || /^(?:std::)?ranges::/.test(name)))
      forget(state, cell, `${cell.name ?? 'it'} is set by ${name}`);
  const text = sourceText(state, call) || name;
  const values = list.map((argument) => argument.value);
  const result = unknownFrom(values, `${name || 'a function'} is not known in this file`);
  return result.roots.length > 0 ? result : unknown(result.reason, { name: text, roots: [text] });
}

/** The called function may have written through this pointer. */
export function forgetBehind(state: HostState, value: Value): void {
  if (value.kind === 'array') smudge(state, value.buffer);
  if (value.kind !== 'pointer' || value.to.isDevice) return;
  const variable = value.to.cells.size === 1 ? value.to.cells.get(0) : undefined;
  if (variable) forget(state, variable, `${variable.name ?? 'it'} is set at run time`);
  else smudge(state, value.to);
}

/** Evaluates arguments; packs are expanded, lvalues keep their cell for reference parameters. */
export function evaluateArguments(state: HostState, list: readonly Expression[], scope: Scope): HostArgument[] {
  const result: HostArgument[] = [];
  for (const expression of list) {
    if (expression.kind !== 'packExpansion') result.push(evaluateArgument(state, expression, scope));
    else {
      for (const inner of expandPack(state, expression.operand, scope)) {
        result.push(evaluateArgument(state, expression.operand, inner));
      }
    }
  }
  return result;
}

function evaluateArgument(state: HostState, expression: Expression, scope: Scope): HostArgument {
  const source = forwarded(expression) ?? expression;
  if (source.kind === 'initList') {
    const value = evaluate(state, source, scope);
    return mayBeRepeated(state, source, scope) ? { value, braces: { list: source, scope } } : { value };
  }
  if (!places.has(source.kind)) return { value: evaluate(state, source, scope) };
  if (source.kind === 'unary' && source.operator !== '*') return { value: evaluate(state, source, scope) };
  const place = locate(state, source, scope);
  const isHandedOut = source !== expression && isRef(expression) ? true : undefined;
  if (place.kind === 'cell') return { value: place.cell.value, cell: place.cell, isHandedOut };
  const value = read(place);
  return place.kind === 'somewhere' ? { value, cell: standFor(makeCell(value), place.buffer) } : { value };
}

/** Braces are evaluated once more as an object of the parameter's type: only where nothing happens twice then. */
const mayBeRepeated = (state: HostState, list: Expression, scope: Scope): boolean =>
  !anywhere(list, (node) => {
    if (node.kind === 'unary') return /\+\+|--|delete/.test(node.operator);
    if (node.kind !== 'call') return node.kind === 'assign' || node.kind === 'new' || node.kind === 'lambda';
    const name = node.callee.kind === 'name' ? node.callee.name : undefined;
    const makesObject = name && (lookupQualified(state, name, scope)?.kind === 'type' || undeclaredType(name));
    return !makesObject;
  });

/** What may name an object. */
const places: ReadonlySet<Expression['kind']> = new Set(['name', 'index', 'member', 'unary', 'conditional']);

const forwarders: ReadonlySet<string> = new Set(['forward', 'move', 'ref', 'cref', 'as_const']);

/** Of the standard library, beside algorithms over ranges: what they are given by reference is what they are called for. */
const writers: ReadonlySet<string> = new Set([
  'std::visit',
  'std::from_chars',
  'from_chars',
  'std::getline',
  'getline',
]);

const isRef = (expression: Expression): boolean =>
  expression.kind === 'call' && expression.callee.kind === 'name' && lastName(expression.callee.name) === 'ref';

/** The operand of std::forward, std::move and std::ref. */
function forwarded(expression: Expression): Expression | undefined {
  if (expression.kind !== 'call' || expression.callee.kind !== 'name' || expression.arguments.length !== 1)
    return undefined;
  const name = expression.callee.name;
  return name.parts[0].name === 'std' && forwarders.has(lastName(name)) ? expression.arguments[0] : undefined;
}

/** Calls a method of a struct by name; undefined when it has none with a body. */
export function callMethod(
  state: HostState,
  object: Cell,
  name: string,
  list: readonly HostArgument[],
  at: Expression,
): Value | undefined {
  const value = object.value;
  if (value.kind !== 'struct' || value.type.kind !== 'record') return undefined;
  const found = memberOf(state, value.type, name, object);
  if (found?.kind !== 'functions') return undefined;
  const methods = found.overloads.filter(({ declaration }) => !declaration.isFriend);
  if (!methods.some(({ declaration }) => declaration.body)) return undefined;
  return callFunctions(state, methods, list, at, { self: object });
}

/** Calls a free operator function; undefined when there is none. */
export function callOperator(
  state: HostState,
  name: string,
  list: readonly HostArgument[],
  at: Expression,
): Value | undefined {
  const found = lookup(state, name, state.index.root);
  const global = found?.kind === 'functions' ? found.overloads : [];
  const values = list.map(({ value }) => value);
  const overloads = [...global, ...associatedFunctions(name, values, global)];
  return overloads.length > 0 ? callFunctions(state, overloads, list, at, {}) : undefined;
}
