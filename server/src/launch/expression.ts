/** Evaluation of host expressions. Whatever cannot be evaluated is an unknown value with a reason; nothing throws. */
import type {
  BlockExpression,
  CastExpression,
  ConditionalExpression,
  Expression,
  FoldExpression,
  LambdaExpression,
  NameExpression,
  NamePart,
  NewExpression,
  Node,
  QualifiedName,
  SizeofExpression,
  UnaryExpression,
} from '../parse/ast';
import { binaryArithmetic, commonType, unaryArithmetic } from './arithmetic';
import { assign, increment } from './assignment';
import { evaluateCall } from './call';
import { captureNumbers } from './captures';
import { areFulfilled, conceptHolds, standardConcept } from './constraints';
import { convert } from './conversion';
import { isBaseOf } from './conversion-functions';
import { spellings } from './host-tokens';
import { autoType, type HostType, isPointerLike, voidType } from './host-type';
import { construct, fromList, newObject } from './initialise';
import { evaluateLaunch } from './launch-expression';
import { alignOf, partAt, sizeOf } from './layout';
import { conceptNamed, lookup, lookupQualified } from './lookup';
import { makeBuffer, makeCell } from './memory';
import { binaryOperation } from './operator';
import { addressOf, locate, pointerTo, read } from './place';
import { bindArguments, resolveType } from './resolve-type';
import { childScope, lastName, localVariable, type Scope, spelledName } from './scope';
import { standardConstant } from './standard-types';
import { budgets, type HostState, sourceText, step } from './state';
import { runList } from './statement';
import { type Cell, merge, number, truth, typeOf, unknown, unknownFrom, type Value } from './value';

import { wellKnownConstants } from './well-known';

/** Value of an expression in a scope. */
export function evaluate(state: HostState, expression: Expression, scope: Scope): Value {
  if (!step(state)) return unknown('the host code is too long to follow');
  if (state.nesting >= budgets.nesting) return unknown('the expression is nested too deeply');
  state.nesting++;
  const value = evaluateKind(state, expression, scope);
  state.nesting--;
  return value;
}

function evaluateKind(state: HostState, expression: Expression, scope: Scope): Value {
  switch (expression.kind) {
    case 'integer':
      // a null pointer of any type, and no number
      if (expression.type === 'nullptr') return { ...number(0, 'long'), declared: { kind: 'pointer', to: voidType } };
      return literal(expression.value, expression.type);
    case 'float':
      return number(expression.type === 'float' ? Math.fround(expression.value) : expression.value, expression.type);
    case 'string':
      return { kind: 'string', value: expression.value };
    case 'name':
      return evaluateName(state, expression, scope);
    case 'this': {
      const found = thisCell(scope);
      return found ? pointerTo(found) : unknown('this is not known', { name: 'this' });
    }
    case 'unary':
      return evaluateUnary(state, expression, scope);
    case 'binary':
      return binaryOperation(state, expression, scope);
    case 'assign':
      return assign(state, expression, scope);
    case 'conditional': {
      const holds = truth(evaluate(state, expression.condition, scope));
      if (holds !== undefined) return chosenSide(state, expression, holds, scope);
      return merge(evaluate(state, expression.then, scope), evaluate(state, expression.else, scope));
    }
    case 'call':
      return evaluateCall(state, expression, scope);
    case 'launch':
      return evaluateLaunch(state, expression, scope);
    case 'index':
    case 'member':
      return read(locate(state, expression, scope));
    case 'cast':
      return evaluateCast(state, expression, scope);
    case 'sizeof':
      return evaluateSizeof(state, expression, scope);
    case 'initList':
      return fromList(state, expression, autoType, scope);
    case 'lambda':
      return evaluateLambda(state, expression, scope);
    case 'new':
      return evaluateNew(state, expression, scope);
    case 'fold':
      return evaluateFold(state, expression, scope);
    case 'packExpansion':
      return evaluate(state, expression.operand, scope);
    case 'block':
      return evaluateBlock(state, expression, scope);
    case 'throw':
      state.leaving = 'exit';
      state.thrown++;
      return unknown('an exception');
    case 'requires':
      return answerValue(areFulfilled(state, [expression], scope));
    default:
      return unknown(expression.reason);
  }
}

function literal(value: bigint, of: Parameters<typeof number>[1]): Value {
  const exact = Number(value);
  return Number.isSafeInteger(exact) ? number(exact, of) : unknown('a number beyond 2^53');
}

function thisCell(scope: Scope): Cell | undefined {
  for (let at: Scope | undefined = scope; at; at = at.parent) if (at.self) return at.self;
  return undefined;
}

function evaluateName(state: HostState, expression: NameExpression, scope: Scope): Value {
  const name = expression.name;
  const local = name.parts.length === 1 && !name.global ? localVariable(scope, name.parts[0].name) : undefined;
  if (local) return local.value;
  const found = lookupQualified(state, name, scope);
  const last = name.parts.at(-1);
  if (found?.kind === 'cell' && last?.templateArguments) {
    const concept = conceptNamed(state, name, scope);
    const given = concept && bindArguments(state, last.templateArguments, scope);
    if (concept && given) return answerValue(conceptHolds(state, concept, given));
  }
  if (found?.kind === 'cell') return found.cell.value;
  if (found?.kind === 'functions') {
    const templateArguments = last?.templateArguments && bindArguments(state, last.templateArguments, scope);
    return {
      kind: 'function',
      name: spelledName(name),
      overloads: found.overloads,
      templateArguments,
      self: found.self,
    };
  }
  if (found?.kind === 'type') {
    return found.type.kind === 'constant'
      ? found.type.value
      : unknown(`${spelledName(name)} is a type`, { type: found.type });
  }
  const given = found ? undefined : last?.templateArguments;
  const answer = given && standardConcept(lastName(name), bindArguments(state, given, scope));
  if (answer !== undefined) return answerValue(answer);
  return libraryConstant(state, name, scope) ?? undeclared(state, lastName(name), spelledName(name));
}

const answerValue = (answer: boolean | undefined): Value =>
  answer === undefined ? unknown('a constraint that cannot be decided') : number(answer ? 1 : 0, 'bool');

function libraryConstant(state: HostState, name: QualifiedName, scope: Scope): Value | undefined {
  const [part, outer] = [name.parts.at(-1), name.parts.at(-2)];
  const given = (of: NamePart | undefined) => bindArguments(state, of?.templateArguments ?? [], scope);
  if (!part || !(part.templateArguments || outer?.templateArguments)) return undefined;
  return standardConstant(part.name, given(part), outer && { name: outer.name, given: given(outer) });
}

function undeclared(state: HostState, last: string, spelled: string): Value {
  const assumed = state.assume.get(spelled);
  if (assumed !== undefined) return number(assumed);
  const constant = wellKnownConstants.get(last);
  if (constant) return constant;
  return unknown(`${spelled} is not declared in this file`, { name: spelled, roots: [spelled] });
}

function evaluateUnary(state: HostState, expression: UnaryExpression, scope: Scope): Value {
  switch (expression.operator) {
    case '&':
      return addressOf(state, expression.operand, scope);
    case '*':
      return read(locate(state, expression, scope));
    case '++':
    case '--':
    case 'post++':
    case 'post--':
      return increment(state, expression, scope);
    case 'noexcept':
      return number(1, 'bool');
    case 'delete':
      evaluate(state, expression.operand, scope);
      return unknown('delete gives no value');
    default: {
      const operand = evaluate(state, expression.operand, scope);
      return applyUnary(expression.operator, operand);
    }
  }
}

function applyUnary(operator: string, operand: Value): Value {
  if (operator === '!') {
    const holds = truth(operand);
    return holds === undefined
      ? unknownFrom([operand], 'not known', { kind: 'arithmetic', name: 'bool' })
      : number(holds ? 0 : 1, 'bool');
  }
  if (operator === '+' && operand.kind === 'lambda') return operand;
  if (operand.kind !== 'number') return unknownFrom([operand], 'not a number', typeOf(operand));
  const result = unaryArithmetic(operator, operand);
  return result ? number(result.value, result.of) : unknown('a number beyond 2^53', { type: typeOf(operand) });
}

function evaluateCast(state: HostState, expression: CastExpression, scope: Scope): Value {
  const type = resolveType(state, expression.type, scope);
  if (expression.form === 'braced' || expression.form === 'functional') {
    return construct(state, type, expression.arguments, scope, expression.form === 'braced' ? 'braces' : 'call');
  }
  const operand = expression.arguments[0];
  if (!operand) return unknown('a cast of nothing');
  const value = operand.kind === 'initList' ? fromList(state, operand, type, scope) : evaluate(state, operand, scope);
  if (type.kind === 'opaque' || type.kind === 'auto') return value;
  if (expression.form === 'dynamic') return dynamicCast(state, value, type);
  if (isPointerLike(type) && value.kind === 'struct') return unknownFrom([value], 'a struct taken as a pointer', type);
  return convert(state, value, type);
}

/** Whether an object is of the class is asked of what the pointer leads to. */
function dynamicCast(state: HostState, value: Value, type: HostType): Value {
  const to = type.kind === 'pointer' ? type.to : undefined;
  const object = value.kind === 'pointer' ? value.to.cells.get(value.offset)?.value : undefined;
  if (to?.kind !== 'record' || object?.kind !== 'struct' || object.type.kind !== 'record')
    return unknown('which class an object is of', { type });
  const isOne = object.type.declaration === to.declaration || isBaseOf(state, to, object.type);
  return isOne ? convert(state, value, type) : convert(state, number(0, 'long'), type);
}

/** The side that is taken, in the type that both numbers have together: `small ? 1 : 2.0` is a double. */
function chosenSide(state: HostState, node: ConditionalExpression, isFirst: boolean, scope: Scope): Value {
  const [chosen, other] = isFirst ? [node.then, node.else] : [node.else, node.then];
  const value = evaluate(state, chosen, scope);
  // literals alone: the other side is not evaluated
  const literal = other.kind === 'unary' ? other.operand : other;
  if (value.kind !== 'number' || value.declared || (literal.kind !== 'integer' && literal.kind !== 'float'))
    return value;
  const others = evaluate(state, other, scope);
  if (others.kind !== 'number' || others.of === value.of) return value;
  return convert(state, value, { kind: 'arithmetic', name: commonType(value.of, others.of) });
}

function evaluateSizeof(state: HostState, expression: SizeofExpression, scope: Scope): Value {
  if (expression.operator === 'typeid') return unknown('typeid');
  if (expression.operator === 'sizeof...') return packSize(state, expression, scope);
  if (expression.operator === 'offsetof') return evaluateOffset(state, expression, scope);
  const type = sizedType(state, expression, scope);
  const size = type && (expression.operator === 'alignof' ? alignOf(state, type) : sizeOf(state, type));
  if (size !== undefined) return number(size, 'unsigned long');
  const text = sourceText(state, expression);
  return unknown(`${text || 'sizeof'} is not known`, { type: { kind: 'arithmetic', name: 'unsigned long' } });
}

function evaluateOffset(state: HostState, { type, expression }: SizeofExpression, scope: Scope): Value {
  const part = type && expression && partAt(state, resolveType(state, type, scope), expression, scope);
  const name = 'unsigned long';
  return part ? number(part.offset, name) : unknown('offsetof is not known', { type: { kind: 'arithmetic', name } });
}

/** `sizeof(x)` may have been read as a type where x is a variable. */
function sizedType(state: HostState, expression: SizeofExpression, scope: Scope): HostType | undefined {
  const node = expression.type;
  if (node) {
    const found = node.kind === 'named' ? lookupQualified(state, node.name, scope) : undefined;
    if (found?.kind !== 'cell') return resolveType(state, node, scope);
    return found.cell.type ?? typeOf(found.cell.value);
  }
  if (!expression.expression) return undefined;
  if (expression.expression.kind === 'conditional') return typeOf(evaluate(state, expression.expression, scope));
  const place = locate(state, expression.expression, scope);
  const declared = place.kind === 'cell' ? place.cell.type : undefined;
  if (declared && declared.kind !== 'auto' && (declared.kind !== 'array' || declared.length !== undefined))
    return declared;
  const value = read(place);
  return value.kind === 'string'
    ? { kind: 'array', of: { kind: 'arithmetic', name: 'char' }, length: value.value.length + 1 }
    : typeOf(value);
}

function packSize(state: HostState, expression: SizeofExpression, scope: Scope): Value {
  const node = expression.type ?? expression.expression;
  const name = node && 'name' in node && typeof node.name === 'object' ? lastName(node.name) : '';
  const found = lookup(state, name, scope);
  if (found?.kind === 'type' && found.type.kind === 'pack') return number(found.type.elements.length, 'unsigned long');
  if (found?.kind === 'cell' && found.cell.value.kind === 'pack') {
    return number(found.cell.value.elements.length, 'unsigned long');
  }
  return unknown(`the size of the pack ${name}`);
}

function evaluateLambda(state: HostState, expression: LambdaExpression, scope: Scope): Value {
  const captures = new Map<string, Cell>();
  for (const capture of expression.captures) {
    if (capture.initializer) {
      captures.set(capture.name, makeCell(evaluate(state, capture.initializer, scope), { name: capture.name }));
      continue;
    }
    const found = lookup(state, capture.name, scope);
    if (found?.kind !== 'cell') continue;
    const cell = found.cell;
    captures.set(
      capture.name,
      capture.byReference ? cell : { ...cell, value: convert(state, cell.value, undefined), buffer: undefined },
    );
  }
  if (expression.defaultCapture === '=') captureNumbers(expression, scope, captures);
  const lambda: Value = { kind: 'lambda', expression, scope, captures };
  const refers = expression.defaultCapture === '&' || expression.captures.some(({ byReference }) => byReference);
  if (refers) state.lambdas.set(expression, lambda);
  return lambda;
}

function evaluateNew(state: HostState, expression: NewExpression, scope: Scope): Value {
  const type = resolveType(state, expression.type, scope);
  if (type.kind === 'array') {
    const size = sizeOf(state, type);
    const to = makeBuffer(`new ${sourceText(state, expression.type)}`, { bytes: size });
    return { kind: 'pointer', to, offset: 0, element: type.of };
  }
  return newObject(state, type, expression.arguments, scope, sourceText(state, expression.type));
}

/** `({ …; e; })` */
function evaluateBlock(state: HostState, { body }: BlockExpression, scope: Scope): Value {
  const inner = childScope(scope);
  const last = body.body.at(-1);
  const value = last?.kind === 'expression' ? last.expression : undefined;
  const completion = runList(state, value ? body.body.slice(0, -1) : body.body, inner, body.last);
  if (completion !== 'next') {
    if (completion !== 'stop') state.leaving = completion;
    return unknown('a block that is left before its end');
  }
  return value ? convert(state, evaluate(state, value, inner), undefined) : unknown('a block without a value');
}

/** `(args + ...)` */
function evaluateFold(state: HostState, expression: FoldExpression, scope: Scope): Value {
  const values = expandPack(state, expression.pack, scope).map((inner) => evaluate(state, expression.pack, inner));
  const initial = expression.initial && evaluate(state, expression.initial, scope);
  const operands = expression.left
    ? [...(initial ? [initial] : []), ...values]
    : [...values, ...(initial ? [initial] : [])];
  if (expression.operator === ',' || operands.length === 0) return operands.at(-1) ?? unknown('an empty pack');
  const isLogical = expression.operator === '&&' || expression.operator === '||';
  return operands.reduce((a, b) => {
    if (isLogical) return foldLogical(expression.operator, a, b);
    if (a.kind !== 'number' || b.kind !== 'number') return unknownFrom([a, b], 'a fold');
    const result = binaryArithmetic(expression.operator, a, b);
    return result ? number(result.value, result.of) : unknown('a fold');
  });
}

function foldLogical(operator: string, a: Value, b: Value): Value {
  const x = truth(a);
  const y = truth(b);
  if (x === undefined || y === undefined) return unknownFrom([a, b], 'a fold');
  return number((operator === '&&' ? x && y : x || y) ? 1 : 0, 'bool');
}

/** Scopes in which the packs that an expression mentions stand for their elements, one after another. */
export function expandPack(state: HostState, expression: Node, scope: Scope): Scope[] {
  return expandKnownPack(state, expression, scope) ?? [];
}

/** The same; undefined where the expression mentions no pack that is known, which an empty one is. */
export function expandKnownPack(state: HostState, expression: Node, scope: Scope): Scope[] | undefined {
  const values = new Map<string, readonly Cell[]>();
  const types = new Map<string, readonly HostType[]>();
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    for (const [name, cell] of at.values)
      if (cell.value.kind === 'pack' && !values.has(name)) values.set(name, cell.value.elements);
    for (const [name, type] of at.types) if (type.kind === 'pack' && !types.has(name)) types.set(name, type.elements);
  }
  const mentioned = mentionedNames(state, expression);
  let count: number | undefined;
  for (const [name, list] of [...values, ...types]) {
    if (mentioned === undefined || mentioned.has(name)) count = Math.max(count ?? 0, list.length);
    else values.delete(name);
  }
  if (count === undefined) return undefined;
  return Array.from({ length: count }, (_, index) => {
    const inner = childScope(scope);
    for (const [name, cells] of values) if (cells[index]) inner.values.set(name, cells[index]);
    for (const [name, list] of types) if (list[index]) inner.types.set(name, list[index]);
    return inner;
  });
}

function mentionedNames(state: HostState, expression: Node): ReadonlySet<string> | undefined {
  const tokens = state.tokens;
  if (!tokens) return undefined;
  return new Set(spellings(tokens, expression.first, expression.last));
}
