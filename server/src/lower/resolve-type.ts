/** From syntactic types to semantic ones: lookup, template substitution, array sizes. */
import type {
  EnumDeclaration,
  Expression,
  FunctionDeclaration,
  NamePart,
  Parameter,
  QualifiedName,
  TemplateArgument,
  TemplateParameter,
  TypeNode,
} from '../parse/ast';
import { builtinTemplateType } from './builtin-types';
import { unevaluatedType } from './casts';
import { constantOf } from './constants';
import { type Context, LIBRARY_TOKENS, step } from './context';
import { numberOf } from './conversions';
import { expression } from './expressions';
import { typeOfMemberPointer } from './host/member-pointers';
import { lookupQualified, scopeNamed } from './lookup';
import { expandTypes, forEachElement } from './packs';
import { rvalue } from './places';
import { argumentKey, injectedName, instantiateRecord, recordOf } from './records';
import type { Entity, Scope } from './scope';
import { Scope as NewScope } from './scope';
import { bindTemplateParameters } from './templates';
import {
  type FunctionType,
  namedTypes,
  parameterType,
  qualified,
  type TemplateValue,
  type Type,
  types,
  unknownType,
  vectorTypes,
  withoutReference,
} from './types';
import { isValid, typeOfExpression } from './validity';
import type { Value } from './values';

/** Resolves a type as seen from a scope. Never throws; what is not known is an unknown type with a reason. */
export function resolveType(ctx: Context, node: TypeNode, scope: Scope = ctx.scope): Type {
  if (!step(ctx)) return unknownType('templates too large to follow');
  const known = builtinTypes.get(node);
  if (known) return known;
  const type = qualified(resolveUnqualified(ctx, node, scope), node.isConst, node.isVolatile);
  if (isBuiltin(node)) builtinTypes.set(node, type);
  return type;
}

/** Types that mean the same in every scope, by where they are written: bodies are lowered many times. */
const builtinTypes = new WeakMap<TypeNode, Type>();

/** `const float *`: there is no name in it that could be looked up. */
const isBuiltin = (node: TypeNode): boolean =>
  node.kind === 'builtin' || ((node.kind === 'pointer' || node.kind === 'reference') && isBuiltin(node.to));

function resolveUnqualified(ctx: Context, node: TypeNode, scope: Scope): Type {
  switch (node.kind) {
    case 'builtin':
      return namedTypes.get(node.name) ?? unknownType(`type ${node.name}`);
    case 'named':
      return resolveName(ctx, node.name, scope);
    case 'auto':
      return unknownType('auto');
    case 'decltype':
      return inScope(ctx, scope, () => typeOfDecltype(ctx, node));
    case 'pointer':
      return { kind: 'pointer', to: resolveType(ctx, node.to, scope), isRestrict: node.restrict };
    case 'reference': {
      const to = resolveType(ctx, node.to, scope);
      return to.kind === 'reference' ? to : { kind: 'reference', to, ...(node.rvalue && { isRvalue: true }) };
    }
    case 'array': {
      const count = node.size && inScope(ctx, scope, () => constantOf(ctx, node.size as Expression));
      return { kind: 'array', of: resolveType(ctx, node.of, scope), count };
    }
    case 'record':
      return instantiateRecord(ctx, node.record, scope, undefined);
    case 'enum':
      return enumType(ctx, node.enumeration, scope);
    case 'function':
      return ctx.unit.isHost ? signature(ctx, node, scope) : { kind: 'function' };
    case 'packExpansion':
      return resolveType(ctx, node.of, scope);
    case 'memberPointer':
      return typeOfMemberPointer(ctx, resolveType(ctx, node.to, scope));
    default:
      return unknownType(node.kind === 'unknown' ? node.reason : 'type not understood');
  }
}

function signature(
  ctx: Context,
  { result, parameters }: Pick<FunctionDeclaration, 'result' | 'parameters'>,
  scope: Scope,
): FunctionType {
  const typesOf = (p: Parameter): readonly Type[] =>
    (p.pack && expandTypes(ctx, p.type, scope)) || [parameterType(resolveType(ctx, p.type, scope))];
  return { kind: 'function', result: resolveType(ctx, result, scope), parameters: parameters.flatMap(typesOf) };
}

/** Of what is not valid there is no type. A name is what it was declared as, other places are references. */
function typeOfDecltype(ctx: Context, { expression, isTypeof }: TypeNode & { kind: 'decltype' }): Type {
  if (expression.kind !== 'name' && isValid(ctx, expression) === false)
    return { kind: 'unknown', reason: 'an expression that is not valid', isFailure: true };
  const signature = signatureNamed(ctx, expression);
  if (signature) return signature;
  if (isTypeof || expression.kind === 'name' || expression.kind === 'member')
    return withoutReference(unevaluatedType(ctx, expression));
  return typeOfExpression(ctx, expression);
}

/** `f`, `&f` of one function that is no template. */
function signatureNamed(ctx: Context, expression: Expression): Type | undefined {
  const isAddress = expression.kind === 'unary' && expression.operator === '&';
  const named = isAddress ? expression.operand : expression;
  if (named.kind !== 'name' || named.name.parts.at(-1)?.templateArguments) return undefined;
  const entity = lookupQualified(ctx, ctx.scope, named.name);
  if (entity?.kind !== 'functions' || entity.scope.recordType) return undefined;
  const [only, ...others] = entity.declarations.filter(({ body }) => body);
  if (!only || others.length > 0 || only.templateParameters) return undefined;
  const type = signature(ctx, only, entity.scope);
  return isAddress ? { kind: 'pointer', to: type } : type;
}

/** Runs something with another innermost scope. */
export function inScope<T>(ctx: Context, scope: Scope, run: () => T): T {
  const saved = ctx.scope;
  ctx.scope = scope;
  try {
    return run();
  } finally {
    ctx.scope = saved;
  }
}

function resolveName(ctx: Context, name: QualifiedName, scope: Scope): Type {
  const last = name.parts[name.parts.length - 1];
  const named = lookupQualified(ctx, scope, name);
  const entity = (named?.kind === 'functions' && named.hidden) || named;
  const found = entity && resolveNamedType(ctx, scope, entity, last);
  if (found) return found;
  if (!entity && name.parts.length > 1 && lacksMember(ctx, scope, name))
    return { kind: 'unknown', reason: `${writtenName(name)} does not exist`, isFailure: true };
  const known = namedTypes.get(last.name) ?? vectorTypes.get(last.name) ?? builtinTemplateType(ctx, name, scope);
  return known ?? unknownType(`type ${writtenName(name)} is not declared in the files that could be read`);
}

const writtenName = (name: QualifiedName): string => name.parts.map((p) => p.name).join('::');

/** Whether the record in which the name is looked for is known all through, so that there is no such member. */
export function lacksMember(ctx: Context, from: Scope, name: QualifiedName): boolean {
  const [first, ...others] = name.parts;
  const outer =
    others.length === 1 && !name.scopeOf ? lookupQualified(ctx, from, { ...name, parts: [first] }) : undefined;
  // a number or a pointer has no members
  if (outer?.kind === 'template' && outer.value.kind === 'type' && isPlain(outer.value.type)) return true;
  const type = scopeNamed(ctx, from, name)?.recordType;
  if (type?.kind !== 'record' || !type.record.declaration?.members) return false;
  const isKnown = (a: TemplateValue): boolean =>
    a.kind !== 'unknown' && !(a.kind === 'type' && a.type.kind === 'unknown');
  return (type.record.templateArguments ?? []).every(isKnown);
}

const isPlain = ({ kind }: Type): boolean => kind === 'scalar' || kind === 'pointer' || kind === 'array';

/** Whether a type names something that does not exist: no template can be meant with it. */
export function isFailure(type: Type): boolean {
  if (type.kind === 'pointer' || type.kind === 'reference') return isFailure(type.to);
  return type.kind === 'unknown' && type.isFailure === true;
}

/** The type an entity stands for, with the template arguments written behind its name; undefined when it is no type. */
export function resolveNamedType(ctx: Context, from: Scope, entity: Entity, part: NamePart): Type | undefined {
  switch (entity.kind) {
    case 'type':
      return entity.type;
    case 'template':
      if (entity.value.kind === 'name' && entity.value.entity && part.templateArguments)
        return resolveNamedType(ctx, from, entity.value.entity as Entity, part);
      return entity.value.kind === 'type' ? entity.value.type : undefined;
    case 'record': {
      const primary = entity.declarations.find((d) => d.members && !isSpecialisation(d)) ?? entity.declarations[0];
      const { templateParameters } = primary;
      let args = part.templateArguments ? evaluateArguments(ctx, part.templateArguments, from) : undefined;
      if (templateParameters && !args) {
        const own = injectedName(from, primary);
        if (own) return own;
        if (!templateParameters.every((p) => p.default))
          return { kind: 'unknown', reason: `template arguments of ${part.name} are not written`, template: entity };
        args = [];
      }
      if (args && primary.first >= LIBRARY_TOKENS) args = withoutUnknown(args, templateParameters ?? []);
      return instantiateRecord(ctx, primary, entity.scope, args, entity.declarations);
    }
    case 'alias':
      return resolveAlias(ctx, entity, part, from);
    case 'enum':
      return enumType(ctx, entity.declaration, entity.scope);
    default:
      return undefined;
  }
}

/** What the library's templates have a default for and nobody knows, an allocator of another library say, is the default. */
function withoutUnknown(args: TemplateValue[], parameters: readonly TemplateParameter[]): TemplateValue[] {
  const isOpen = (a: TemplateValue | undefined) =>
    a?.kind === 'unknown' || a?.kind === 'name' || (a?.kind === 'type' && a.type.kind === 'unknown');
  let { length } = args;
  while (length > 0 && parameters[length - 1]?.default && isOpen(args[length - 1])) length--;
  return length === args.length ? args : args.slice(0, length);
}

function enumType(ctx: Context, declaration: EnumDeclaration, scope: Scope): Type {
  const under = declaration.underlying && resolveType(ctx, declaration.underlying, scope);
  return { kind: 'enum', scalar: under?.kind === 'scalar' ? under.scalar : 'i32', name: enumName(declaration) };
}

export const enumName = ({ name, typedefName }: EnumDeclaration): string =>
  name?.parts.at(-1)?.name ?? typedefName ?? 'enum';

export const isSpecialisation = (d: { name?: QualifiedName }): boolean =>
  d.name?.parts[d.name.parts.length - 1].templateArguments !== undefined;

function resolveAlias(ctx: Context, entity: Entity & { kind: 'alias' }, part: NamePart, from: Scope): Type {
  if (ctx.templateDepth > ctx.budget.templateDepth) return unknownType('templates nested too deeply');
  ctx.templateDepth++;
  try {
    const parameters = entity.declaration.templateParameters;
    if (!parameters) return plainAlias(ctx, entity);
    const scope = new NewScope(entity.scope, entity.declaration.name);
    const args = evaluateArguments(ctx, part.templateArguments ?? [], from);
    // what is made of a type that does not exist does not exist, `void_t` of it
    const failed = args.find((a) => a.kind === 'type' && isFailure(a.type));
    if (failed?.kind === 'type') return failed.type;
    bindTemplateParameters(ctx, scope, parameters, args);
    return resolveType(ctx, entity.declaration.type, scope);
  } finally {
    ctx.templateDepth--;
  }
}

function plainAlias(ctx: Context, { declaration, scope }: Entity & { kind: 'alias' }): Type {
  let known = ctx.aliases.get(scope);
  if (!known) ctx.aliases.set(scope, (known = new Map()));
  const key = `${declaration.first}:${declaration.name}`;
  let type = known.get(key);
  if (!type) {
    const times = ctx.openAliases.get(declaration) ?? 0;
    ctx.openAliases.set(declaration, times + 1);
    type = resolveType(ctx, declaration.type, scope);
    ctx.openAliases.set(declaration, times);
    if (times === 0) known.set(key, type);
  }
  return type;
}

/** Evaluates written template arguments. Packs are expanded. */
export function evaluateArguments(ctx: Context, args: readonly TemplateArgument[], scope: Scope): TemplateValue[] {
  const out: TemplateValue[] = [];
  for (const argument of args) {
    const expanded = argument.pack
      ? forEachElement(ctx, argument, scope, (s) => evaluateArgument(ctx, argument, s))
      : undefined;
    const values = expanded ?? [evaluateArgument(ctx, argument, scope)];
    for (const value of values) {
      if (argument.pack && value.kind === 'pack') out.push(...value.elements);
      else out.push(value);
    }
  }
  return out;
}

function evaluateArgument(ctx: Context, argument: TemplateArgument, scope: Scope): TemplateValue {
  if (argument.type) {
    const named = argument.type.kind === 'named' && argument.type.name;
    const entity = named ? lookupQualified(ctx, scope, named) : undefined;
    if (entity?.kind === 'template' && entity.value.kind !== 'type') return entity.value;
    if (entity?.kind === 'functions' && named)
      return functionArgument(ctx, entity, named.parts[named.parts.length - 1], scope);
    const type = resolveType(ctx, argument.type, scope);
    if (type.kind !== 'unknown' || type.isFailure || !argument.expression) {
      if (type.kind === 'unknown' && !type.isFailure && named)
        return { kind: 'name', name: named.parts[named.parts.length - 1].name, entity };
      return { kind: 'type', type };
    }
  }
  if (argument.expression) {
    const node = argument.expression;
    return inScope(ctx, scope, () => {
      const value = expression(ctx, node);
      return templateValueOf(ctx, recordOf(value.type) ? numberOf(ctx, rvalue(ctx, value, node), node) : value);
    });
  }
  return { kind: 'unknown', reason: 'template argument not understood' };
}

/** A function as template argument; of a function template the instance that its own arguments name. */
function functionArgument(
  ctx: Context,
  entity: Entity & { kind: 'functions' },
  { name, templateArguments }: NamePart,
  scope: Scope,
): TemplateValue {
  return templateArguments
    ? functionInstance(entity, name, evaluateArguments(ctx, templateArguments, scope))
    : { kind: 'name', name, entity };
}

/** `name<args>` of a function template. */
export function functionInstance(
  entity: Entity & { kind: 'functions' },
  name: string,
  templateArguments: readonly TemplateValue[],
): TemplateValue {
  const { declarations, scope } = entity;
  const value: Value = { kind: 'functions', type: { kind: 'function' }, declarations, scope, templateArguments };
  return {
    kind: 'name',
    name: `${name}<${templateArguments.map(argumentKey).join(', ')}>`,
    entity: { kind: 'value', value },
  };
}

export function templateValueOf(ctx: Context, value: Value): TemplateValue {
  if (value.kind === 'scalar' || value.kind === 'place') {
    const number = constantValueOf(ctx, value);
    if (number !== undefined) return { kind: 'number', value: number, type: withoutReference(value.type) };
  }
  if (value.kind === 'pack') return { kind: 'pack', elements: value.elements.map((e) => templateValueOf(ctx, e)) };
  if (value.kind === 'functions') {
    const name = value.declarations[0]?.name.parts.at(-1)?.name ?? 'function';
    const args = value.templateArguments?.map(argumentKey).join(', ');
    return { kind: 'name', name: args === undefined ? name : `${name}<${args}>`, entity: { kind: 'value', value } };
  }
  return { kind: 'unknown', reason: 'template argument is not constant' };
}

function constantValueOf(ctx: Context, value: Value): number | undefined {
  if (value.kind === 'scalar') return ctx.builder.constantValue(value.register);
  if (value.kind === 'place' && value.place.kind === 'storage' && value.place.storage.kind === 'scalar') {
    const register = ctx.known.get(value.place.storage.register) ?? value.place.storage.register;
    return ctx.builder.constantValue(register);
  }
  return undefined;
}

export const voidType = types.void;
