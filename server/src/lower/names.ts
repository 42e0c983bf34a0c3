/** Names in expressions: variables, functions, enumerators, template arguments, members of this. */
import type * as ast from '../parse/ast';
import { builtinVariable } from './builtins/variables';
import { constantOf } from './constants';
import { conceptHolds } from './constraints';
import { type Context, LIBRARY_TOKENS } from './context';
import { answerValue, number } from './expressions';
import { globalValue, variableInstance } from './globals';
import { enumScope, lookupQualified } from './lookup';
import { memberOf } from './members';
import { addressOf } from './places';
import { enumName, evaluateArguments, inScope, resolveNamedType } from './resolve-type';
import type { Entity, Scope } from './scope';
import { type Type, types } from './types';
import { unknownValue, type Value } from './values';

const functionNames: ReadonlySet<string> = new Set(['__func__', '__FUNCTION__', '__PRETTY_FUNCTION__']);
/** Enumerators of headers that are not read. */
const hostConstants: Readonly<Record<string, number | undefined>> = {
  cudaSuccess: 0,
  CUDA_SUCCESS: 0,
  CUBLAS_STATUS_SUCCESS: 0,
  CUFFT_SUCCESS: 0,
  CURAND_STATUS_SUCCESS: 0,
  CUSPARSE_STATUS_SUCCESS: 0,
  EXIT_SUCCESS: 0,
  EXIT_FAILURE: 1,
  cudaMemcpyHostToHost: 0,
  cudaMemcpyHostToDevice: 1,
  cudaMemcpyDeviceToHost: 2,
  cudaMemcpyDeviceToDevice: 3,
  cudaMemcpyDefault: 4,
};

const stringType: Type = { kind: 'pointer', to: { ...types.char, isConst: true } };

export function nameExpression(ctx: Context, node: ast.NameExpression): Value {
  const entity = lookupQualified(ctx, ctx.scope, node.name);
  const part = node.name.parts[node.name.parts.length - 1];
  if (entity) return entityValue(ctx, entity, part, node);
  const builtin = builtinVariable(ctx, part.name);
  if (builtin) return builtin;
  const constant = ctx.unit.isHost ? hostConstants[part.name] : undefined;
  if (constant !== undefined) return number(ctx, types.int, constant);
  if (functionNames.has(part.name)) return unknownValue(stringType, 'a string');
  const templateArguments = part.templateArguments
    ? evaluateArguments(ctx, part.templateArguments, ctx.scope)
    : undefined;
  return { kind: 'builtin', type: { kind: 'function' }, name: part.name, templateArguments };
}

function entityValue(ctx: Context, entity: Entity, part: ast.NamePart, node: ast.Expression): Value {
  switch (entity.kind) {
    case 'value':
      return at(entity.value, node);
    case 'template':
      return templateEntity(ctx, entity.value, node);
    case 'functions': {
      const templateArguments = part.templateArguments
        ? evaluateArguments(ctx, part.templateArguments, ctx.scope)
        : undefined;
      return {
        kind: 'functions',
        type: { kind: 'function' },
        declarations: entity.declarations,
        scope: entity.scope,
        templateArguments,
        self: implicitThis(ctx, entity.scope),
      };
    }
    case 'global':
      return at(memberOrGlobal(ctx, entity, part, node), node);
    case 'enumerator':
      return enumeratorValue(ctx, entity);
    default: {
      const type = resolveNamedType(ctx, ctx.scope, entity, part);
      return unknownValue(type ?? { kind: 'unknown', reason: part.name }, `${part.name} is a type`);
    }
  }
}

/** The expression a user points at becomes the node of a memory place; the library's text is none. */
function at(value: Value, node: ast.Node): Value {
  return value.kind === 'place' && value.place.kind === 'memory' && node.first < LIBRARY_TOKENS
    ? { ...value, place: { ...value.place, node } }
    : value;
}

function templateEntity(ctx: Context, value: import('./types').TemplateValue, node: ast.Expression): Value {
  if (value.kind === 'number') return number(ctx, value.type, value.value);
  if (value.kind === 'name') {
    const entity = value.entity as Entity | undefined;
    if (entity?.kind === 'value') return entity.value;
    if (entity) return entityValue(ctx, entity, { name: value.name }, node);
    return { kind: 'builtin', type: { kind: 'function' }, name: value.name };
  }
  if (value.kind === 'pack')
    return { kind: 'pack', type: types.void, elements: value.elements.map((e) => templateEntity(ctx, e, node)) };
  if (value.kind === 'type') return unknownValue(value.type, 'a type');
  return unknownValue({ kind: 'unknown', reason: value.reason }, value.reason);
}

function memberOrGlobal(
  ctx: Context,
  entity: Entity & { kind: 'global' },
  part: ast.NamePart,
  node: ast.Expression,
): Value {
  const record = entity.scope.recordType;
  const s = entity.declaration.specifiers;
  if (entity.declaration.isConcept) {
    const args = evaluateArguments(ctx, part.templateArguments ?? [], ctx.scope);
    return answerValue(ctx, conceptHolds(ctx, entity, args));
  }
  if (entity.specialisations)
    return globalValue(
      ctx,
      variableInstance(ctx, entity, evaluateArguments(ctx, part.templateArguments ?? [], ctx.scope)),
      node,
    );
  if (record && !s.isStatic && !s.isConstexpr && !entity.declaration.scope) {
    const self = implicitThis(ctx, entity.scope);
    if (self)
      return (
        memberOf(ctx, self, part.name, node) ??
        unknownValue({ kind: 'unknown', reason: part.name }, `member ${part.name}`)
      );
  }
  return globalValue(ctx, entity, node);
}

/** The object of the method being lowered. */
function implicitThis(ctx: Context, owner: Scope): Value | undefined {
  if (!owner.recordType) return undefined;
  for (let s: Scope | undefined = ctx.scope; s; s = s.parent) if (s.thisValue) return s.thisValue;
  return undefined;
}

function enumeratorValue(ctx: Context, entity: Entity & { kind: 'enumerator' }): Value {
  const type: Type = { kind: 'enum', scalar: 'i32', name: enumName(entity.declaration) };
  let ofScope = ctx.enumerators.get(entity.scope);
  if (!ofScope) ctx.enumerators.set(entity.scope, (ofScope = new Map()));
  const enumerator = entity.declaration.enumerators?.[entity.index];
  const known = ofScope.get(enumerator);
  const value = known ?? enumeratorNumber(ctx, entity);
  if (value === undefined) return unknownValue(type, 'enumerator is not constant');
  if (known === undefined) ofScope.set(enumerator, value);
  return number(ctx, type, value);
}

/** What it is given, or one more for each that stands behind the last that is given something. */
function enumeratorNumber(
  ctx: Context,
  { declaration, index, scope }: Entity & { kind: 'enumerator' },
): number | undefined {
  const list = declaration.enumerators ?? [];
  let given = index;
  while (given >= 0 && !list[given].value) given--;
  const node = given < 0 ? undefined : list[given].value;
  if (!node) return index;
  const around = declaration.isScoped ? enumScope({ declaration, scope }) : scope;
  const value = inScope(ctx, around, () => constantOf(ctx, node));
  return value === undefined ? undefined : value + index - given;
}

export function thisExpression(ctx: Context): Value {
  for (let s: Scope | undefined = ctx.scope; s; s = s.parent) {
    const self = s.thisValue;
    if (!self) continue;
    const pointer: Type = { kind: 'pointer', to: self.type };
    if (self.kind === 'place' && self.place.kind === 'memory')
      return { kind: 'scalar', type: pointer, register: addressOf(ctx, self.place) };
    if (self.kind === 'place' && self.place.kind === 'storage') {
      const { storage } = self.place;
      // one that is kept is an address
      const owner = ctx.unit.isHost && 'owner' in storage ? storage.owner : undefined;
      return {
        kind: 'placePointer',
        type: pointer,
        target: { elements: [storage], index: 0, elementType: self.type, owner },
      };
    }
    return unknownValue(pointer, 'this of a temporary');
  }
  return unknownValue({ kind: 'pointer', to: types.void }, 'this outside a method');
}
