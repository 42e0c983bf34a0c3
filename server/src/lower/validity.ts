/** Whether an expression is valid for the types in it: what requires-expressions and `decltype` in templates ask. */
import { type Answer, every } from '../parse/answer';
import type * as ast from '../parse/ast';
import { associatedFunctions } from './associated-functions';
import { listElements } from './calls';
import { unevaluated } from './casts';
import { type Context, LIBRARY_TOKENS } from './context';
import { expression } from './expressions';
import { lookupIn, lookupName, lookupQualified } from './lookup';
import { bestOverload, conversionCost } from './overloads';
import { findField, findMethods, recordOf } from './records';
import { evaluateArguments, isFailure, lacksMember, resolveNamedType, resolveType } from './resolve-type';
import { Scope } from './scope';
import { bindTemplateParameters } from './templates';
import { isFloat, type RecordInfo, scalarOf, type Type, unqualified, withoutReference } from './types';
import { operatorFunctions } from './user-operators';
import type { Value } from './values';

/** What is emitted for the question lands where nothing reaches it. */
export const isValid = (ctx: Context, node: ast.Expression): Answer => unevaluated(ctx, () => valid(ctx, node));

/** Like `decltype((node))`: of what has a place it is a reference. */
export function typeOfExpression(ctx: Context, node: ast.Expression): Type {
  return unevaluated(ctx, () => {
    const { type } = expression(ctx, node);
    return hasPlace(ctx, node) && type.kind !== 'reference' ? { kind: 'reference', to: type } : unqualified(type);
  });
}

function hasPlace(ctx: Context, node: ast.Expression): boolean {
  switch (node.kind) {
    case 'name':
      return lookupQualified(ctx, ctx.scope, node.name)?.kind === 'value';
    case 'index':
    case 'call':
      return returnsReference(ctx, node) ?? node.kind === 'index';
    case 'unary':
      if (recordOf(expression(ctx, node.operand).type)) return returnsReference(ctx, node) ?? false;
      return ['*', '++', '--'].includes(node.operator);
    case 'assign':
      return returnsReference(ctx, node) ?? true;
    case 'binary':
      return returnsReference(ctx, node) ?? false;
    case 'member':
      return node.arrow || hasPlace(ctx, node.object);
    default:
      return false;
  }
}

/** As the function that is called is declared; undefined where none is. */
function returnsReference(ctx: Context, node: ast.Expression): boolean | undefined {
  const called = functionsOf(ctx, node);
  const best = called && bestOverload(ctx, called.declarations, called.scope, called.args, called.explicit);
  if (!best) return undefined;
  const { declaration, scope, templateArguments } = best.chosen;
  const inner = new Scope(scope, 'result');
  bindTemplateParameters(ctx, inner, declaration.templateParameters ?? [], templateArguments);
  return resolveType(ctx, declaration.result, inner).kind === 'reference';
}

const all = (parts: readonly (() => Answer)[]): Answer => every(parts, (part) => part());

function valid(ctx: Context, node: ast.Expression): Answer {
  const inside = (...nodes: readonly ast.Expression[]) => nodes.map((each) => () => valid(ctx, each));
  switch (node.kind) {
    case 'integer':
    case 'float':
    case 'string':
    case 'this':
    case 'lambda':
      return true;
    case 'name':
      return validName(ctx, node);
    case 'unary':
      return all([...inside(node.operand), () => validUnary(ctx, node)]);
    case 'binary':
      return all([...inside(node.left, node.right), () => validBinary(ctx, node)]);
    case 'assign':
      return all([...inside(node.left, node.right), () => validAssignment(ctx, node)]);
    case 'conditional':
      return all(inside(node.condition, node.then, node.else));
    case 'index':
      return all([...inside(node.base, ...node.indices), () => validIndex(ctx, node)]);
    case 'member':
      return all([...inside(node.object), () => hasMember(ctx, objectType(ctx, node), nameOf(node))]);
    case 'call':
      return all([...inside(...node.arguments), () => validCall(ctx, node)]);
    case 'cast':
      return all([...inside(...node.arguments), () => validCast(ctx, node)]);
    case 'sizeof':
      return node.type ? doesExist(resolveType(ctx, node.type)) : undefined;
    case 'packExpansion':
      return true;
    default:
      return undefined;
  }
}

const doesExist = (type: Type): Answer => (isFailure(type) ? false : type.kind === 'unknown' ? undefined : true);

const typeOf = (ctx: Context, node: ast.Expression): Type => withoutReference(expression(ctx, node).type);

const nameOf = ({ name }: { readonly name: ast.QualifiedName }): string => name.parts.at(-1)?.name ?? '';

function validName(ctx: Context, { name }: ast.NameExpression): Answer {
  const entity = lookupQualified(ctx, ctx.scope, name);
  if (!entity) return name.parts.length > 1 && lacksMember(ctx, ctx.scope, name) ? false : undefined;
  const given = name.parts.at(-1)?.templateArguments;
  const fails = given && evaluateArguments(ctx, given, ctx.scope).some((a) => a.kind === 'type' && isFailure(a.type));
  return !fails;
}

// ---- operators ----

function validUnary(ctx: Context, { operator, operand }: ast.UnaryExpression): Answer {
  const type = typeOf(ctx, operand);
  if (recordOf(type)) return hasOperator(ctx, operator.replace('post', ''), [operand]);
  if (type.kind === 'unknown') return undefined;
  if (operator === '*') return type.kind === 'pointer' || type.kind === 'array' || type.kind === 'function';
  if (operator === '~') return type.kind === 'scalar' ? !isFloat(type.scalar) : undefined;
  if (operator === '&') return true;
  return type.kind === 'scalar' || (type.kind === 'pointer' && operator !== '-') ? true : undefined;
}

const comparisons = /^(?:[<>]=?|[=!]=|<=>)$/;
const integral = /^(?:%|&|\||\^|<<|>>)$/;

function validBinary(ctx: Context, node: ast.BinaryExpression): Answer {
  const { operator } = node;
  if (operator === ',' || operator === '.*' || operator === '->*') return operator === ',' ? true : undefined;
  const [a, b] = [typeOf(ctx, node.left), typeOf(ctx, node.right)];
  if (a.kind === 'unknown' || b.kind === 'unknown') return undefined;
  if (recordOf(a) || recordOf(b)) return hasOperator(ctx, operator, [node.left, node.right]);
  return ofNumbers(operator, a, b);
}

/** Operators of the language, on what is no object. */
function ofNumbers(operator: string, a: Type, b: Type): Answer {
  if (operator === '&&' || operator === '||') return true;
  if (a.kind === 'scalar' && b.kind === 'scalar')
    return !integral.test(operator) || !(isFloat(a.scalar) || isFloat(b.scalar));
  const pointers = [a, b].filter((t) => t.kind === 'pointer' || t.kind === 'array').length;
  if (pointers === 0) return a.kind === 'void' || b.kind === 'void' ? false : undefined;
  if (comparisons.test(operator)) return pointers === 2 ? true : undefined;
  if (operator === '-') return pointers === 2 || b.kind === 'scalar';
  return operator === '+' ? pointers === 1 : operator.length > 2 ? undefined : false;
}

function validAssignment(ctx: Context, node: ast.AssignExpression): Answer {
  const [a, b] = [typeOf(ctx, node.left), typeOf(ctx, node.right)];
  if (a.kind === 'unknown' || b.kind === 'unknown') return undefined;
  if (a.isConst) return false;
  const operator = node.operator.slice(0, -1);
  if (!recordOf(a) && !recordOf(b)) {
    if (operator !== '') return ofNumbers(operator, a, b);
    return conversionCost(b, a) !== undefined;
  }
  const isOwn = node.operator === '=' && recordOf(a) !== undefined && recordOf(a) === recordOf(b);
  return isOwn ? undefined : hasOperator(ctx, node.operator, [node.left, node.right]);
}

/** What may stand for an operator that is not written: `a != b` follows from `==`, `a < b` from `<=>`. */
const origins: Readonly<Record<string, string | undefined>> = {
  '!=': '==',
  '<': '<=>',
  '>': '<=>',
  '<=': '<=>',
  '>=': '<=>',
};

function hasOperator(ctx: Context, operator: string, nodes: readonly ast.Expression[]): Answer {
  const operands = nodes.map((node) => expression(ctx, node));
  const own = takesOperands(ctx, `operator${operator}`, operands);
  if (own) return own;
  const origin = origins[operator];
  const derived = origin && takesOperands(ctx, `operator${origin}`, operands);
  if (derived) return derived;
  return own === undefined || operands.some(({ type }) => mayBecomeOther(type)) || operator === '&' ? undefined : false;
}

function takesOperands(ctx: Context, name: string, operands: readonly Value[]): Answer {
  let answer: Answer = false;
  for (const { declarations, scope, isMethod } of operatorFunctions(ctx, name, operands)) {
    const args = isMethod ? operands.slice(1) : operands;
    // a comparison that is left to the compiler has no body
    if (isMethod && declarations.some((d) => !d.body && d.parameters.length === args.length)) return true;
    if (bestOverload(ctx, declarations, scope, args, undefined)) return true;
    if (declarations.some((d) => !d.body)) answer = undefined;
  }
  return answer;
}

/** An object that converts to something may be taken as that. */
function mayBecomeOther(type: Type): boolean {
  const record = recordOf(withoutReference(type));
  if (!record) return false;
  const converts = [...record.methods.keys()].some((name) => /^operator [\w(:]/.test(name));
  return converts || record.fields.some((field) => field.isBase && mayBecomeOther(field.type));
}

function validIndex(ctx: Context, node: ast.IndexExpression): Answer {
  const base = typeOf(ctx, node.base);
  if (base.kind === 'unknown') return undefined;
  if (recordOf(base)) return hasOperator(ctx, '[]', [node.base, ...node.indices]);
  return base.kind === 'pointer' || base.kind === 'array';
}

// ---- members and calls ----

function objectType(ctx: Context, node: ast.MemberExpression): Type {
  const type = typeOf(ctx, node.object);
  if (!node.arrow) return type;
  if (type.kind === 'pointer') return type.to;
  return recordOf(type) ? { kind: 'unknown', reason: 'an operator ->' } : type;
}

function hasMember(ctx: Context, type: Type, name: string): Answer {
  const record = recordOf(type);
  if (!record) return type.kind === 'unknown' || type.kind === 'callable' || type.kind === 'lambda' ? undefined : false;
  if (findField(record, name) || findMethods(record, name)) return true;
  if (record.scope && lookupIn(ctx, record.scope, name, new Set())) return true;
  return isWhole(record) ? false : undefined;
}

/** Whether all bases are known. */
const isWhole = (record: RecordInfo): boolean =>
  record.fields.every((field) => !field.isBase || (field.type.kind === 'record' && isWhole(field.type.record)));

interface Called {
  readonly declarations: readonly ast.FunctionDeclaration[];
  readonly scope: Scope;
  readonly args: readonly Value[];
  readonly explicit?: ReturnType<typeof evaluateArguments>;
}

/** The functions that an expression may call. */
function functionsOf(ctx: Context, node: ast.Expression): Called | undefined {
  if (node.kind === 'call') return calledBy(ctx, node);
  const nodes =
    node.kind === 'unary'
      ? [node.operand]
      : node.kind === 'index'
        ? [node.base, ...node.indices]
        : node.kind === 'binary' || node.kind === 'assign'
          ? [node.left, node.right]
          : [];
  if (nodes.length === 0) return undefined;
  const operands = nodes.map((each) => expression(ctx, each));
  const operator = 'operator' in node ? node.operator : '[]';
  const [first] = operatorFunctions(ctx, `operator${operator}`, operands);
  return first && { ...first, args: first.isMethod ? operands.slice(1) : operands };
}

function calledBy(ctx: Context, node: ast.CallExpression): Called | undefined {
  const { callee } = node;
  const args = listElements(ctx, node.arguments);
  const written = 'name' in callee ? callee.name.parts.at(-1)?.templateArguments : undefined;
  const explicit = written && evaluateArguments(ctx, written, ctx.scope);
  if (callee.kind === 'member') {
    const type = objectType(ctx, callee);
    const record = recordOf(type);
    const methods = record && findMethods(record, nameOf(callee));
    if (!methods?.owner.scope) return undefined;
    // a constant object has its constant methods only
    const declarations = methods.declarations.filter((d) => !type.isConst || d.isConst || d.specifiers.isStatic);
    return { declarations, scope: methods.owner.scope, args, explicit };
  }
  const entity = callee.kind === 'name' ? lookupQualified(ctx, ctx.scope, callee.name) : undefined;
  if (entity?.kind === 'functions') return { declarations: entity.declarations, scope: entity.scope, args, explicit };
  if (callee.kind === 'name' && entity) return undefined;
  return undefined;
}

function validCall(ctx: Context, node: ast.CallExpression): Answer {
  const { callee } = node;
  if (callee.kind === 'member') {
    const isThere = valid(ctx, callee.object);
    const type = objectType(ctx, callee);
    const has = isThere === false ? false : hasMember(ctx, type, nameOf(callee));
    if (!has) return has;
  }
  const called = calledBy(ctx, node);
  if (called) return isTaken(ctx, called, callee);
  if (callee.kind === 'name') {
    const part = callee.name.parts[callee.name.parts.length - 1];
    const entity = lookupName(ctx, ctx.scope, part.name);
    if (callee.name.parts.length === 1 && entity && entity.kind !== 'value' && entity.kind !== 'global') {
      const type = resolveNamedType(ctx, ctx.scope, entity, part);
      return type ? mayMake(ctx, type, node.arguments) : undefined;
    }
    if (!entity) return validName(ctx, callee) === false ? false : undefined;
  }
  return canBeCalled(ctx, typeOf(ctx, callee), node.arguments);
}

function isTaken(ctx: Context, { declarations, scope, args, explicit }: Called, callee: ast.Expression): Answer {
  if (args.some((a) => withoutReference(a.type).kind === 'unknown')) return undefined;
  const best = bestOverload(ctx, declarations, scope, args, explicit);
  if (best?.isDoubtful) return undefined;
  if (best) return best.chosen.declaration.first < LIBRARY_TOKENS || callee.kind === 'member' ? true : undefined;
  // others of the name may stand further out, beside the arguments or in headers that are not read
  const isOpen = callee.kind !== 'member' && (isOfLibrary(declarations) || declaredElsewhere(ctx, callee, args));
  return isOpen || declarations.some((d) => !d.body) ? undefined : false;
}

const isOfLibrary = (declarations: readonly ast.FunctionDeclaration[]): boolean =>
  declarations.some((d) => d.first >= LIBRARY_TOKENS);

function declaredElsewhere(ctx: Context, callee: ast.Expression, args: readonly Value[]): boolean {
  if (callee.kind !== 'name') return true;
  const name = nameOf(callee);
  for (let scope = ctx.scope.parent, times = 0; scope; scope = scope.parent) {
    if (scope.own(name)?.kind === 'functions' && ++times > 1) return true;
  }
  return associatedFunctions(name, args) !== undefined;
}

function canBeCalled(ctx: Context, type: Type, nodes: readonly ast.Expression[]): Answer {
  const args = listElements(ctx, nodes);
  const record = recordOf(type);
  if (record) {
    const methods = findMethods(record, 'operator()');
    if (!methods?.owner.scope) return isWhole(record) && !mayBecomeOther(type) ? false : undefined;
    if (args.some((a) => withoutReference(a.type).kind === 'unknown')) return undefined;
    return bestOverload(ctx, methods.declarations, methods.owner.scope, args, undefined) !== undefined;
  }
  if (type.kind === 'lambda') {
    const { parameters } = type.lambda;
    const isOpen = parameters.some((p) => p.pack || p.default);
    if (isOpen) return undefined;
    if (parameters.length !== args.length) return false;
    return type.lambda.templateParameters || parameters.some((p) => p.type.kind === 'named') ? undefined : true;
  }
  return type.kind === 'scalar' || type.kind === 'void' ? false : undefined;
}

function validCast(ctx: Context, node: ast.CastExpression): Answer {
  const type = resolveType(ctx, node.type);
  if (type.kind === 'unknown') return doesExist(type);
  if (node.form === 'functional' || node.form === 'braced') return mayMake(ctx, type, node.arguments);
  if (node.form !== 'static' || type.kind === 'void') return type.kind === 'void' ? true : undefined;
  return mayMake(ctx, type, node.arguments) ?? undefined;
}

/** Whether a type can be made of arguments, where it is a number: of classes nothing is said. */
function mayMake(ctx: Context, type: Type, nodes: readonly ast.Expression[]): Answer {
  if (isFailure(type)) return false;
  if (!scalarOf(unqualified(withoutReference(type)))) return undefined;
  if (nodes.length !== 1) return nodes.length === 0 ? true : undefined;
  const given = typeOf(ctx, nodes[0]);
  return scalarOf(given) ? true : undefined;
}
