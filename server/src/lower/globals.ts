/** Variables at namespace and class scope: constants, device and constant memory, dynamic shared memory. */
import type { Node, VariableDeclaration } from '../parse/ast';
import type { MemoryObject } from '../program/program';
import { completeArray, construct, initialiseFromList } from './construct';
import type { Context } from './context';
import { convertValue } from './conversions';
import { expression } from './expressions';
import { initialiseFirst } from './host/statics';
import { rvalue } from './places';
import { argumentKey } from './records';
import { inScope, resolveType } from './resolve-type';
import { type Entity, Scope } from './scope';
import { mostSpecialised, UNDECIDED } from './specialisations';
import { letters } from './strings';
import { declareSymbol } from './symbols';
import { bindTemplateParameters } from './templates';
import { scalarOf, sizeOf, type TemplateValue, type Type, withoutReference } from './types';
import { type MemoryPlace, unknownValue, type Value } from './values';
import { declareVariable, memoryObject } from './variables';

type Global = Entity & { kind: 'global' };

/** The value of a variable at namespace or class scope, each instance of a template having its own. */
export function globalValue(ctx: Context, entity: Global, node: Node): Value {
  const value = rememberedValue(ctx, entity, node);
  if (isOfInstance(ctx, entity)) initialiseFirst(ctx, entity, value);
  return value;
}

function rememberedValue(ctx: Context, entity: Global, node: Node): Value {
  const { declaration } = entity;
  const known = ctx.globals.get(entity);
  if (known) return known;
  // a constant that refers to itself must not be followed for ever
  ctx.globals.set(
    entity,
    unknownValue({ kind: 'unknown', reason: declaration.name ?? '' }, `${declaration.name} refers to itself`),
  );
  const value = inScope(ctx, entity.scope, () => makeGlobal(ctx, entity, node));
  // what has to be computed is there only where control comes by: another place computes it again
  if (isComputed(ctx, value)) ctx.globals.delete(entity);
  else ctx.globals.set(entity, value);
  return value;
}

/** Which instances of a class template the host's program uses is not known when it begins: their variables get their values at the first use. */
const isOfInstance = ({ unit }: Context, { scope, declaration }: Global): boolean =>
  unit.isHost === true &&
  declaration.initializer !== undefined &&
  scope.recordType?.kind === 'record' &&
  scope.recordType.record.templateArguments !== undefined;

/** Numbers that instructions make, be they of one or of a record's members. */
function isComputed(ctx: Context, value: Value): boolean {
  if (value.kind === 'aggregate') return value.elements.some((element) => isComputed(ctx, element));
  if (value.kind !== 'scalar') return false;
  const { role } = ctx.builder.registers[value.register];
  return role === 'temporary' || role === 'variable';
}

/** The variable that a variable template means with these arguments: the template itself or a specialisation. */
export function variableInstance(ctx: Context, template: Global, args: readonly TemplateValue[]): Global {
  const parameters = template.declaration.templateParameters ?? [];
  const key = args.map(argumentKey).join(', ');
  let instances = ctx.variables.get(template);
  if (!instances) ctx.variables.set(template, (instances = new Map()));
  let instance = instances.get(key);
  if (!instance) {
    const scope = new Scope(template.scope, template.declaration.name ?? '');
    const complete = bindTemplateParameters(ctx, scope, parameters, args);
    const special = mostSpecialised(
      ctx,
      template.specialisations ?? [],
      patternOf,
      parameters,
      complete,
      template.scope,
    );
    const isUndecided = special === UNDECIDED;
    const chosen = isUndecided ? undefined : special;
    for (const [name, value] of chosen?.bound ?? []) scope.define(name, { kind: 'template', value });
    const { initializer, ...open } = template.declaration;
    const declaration = isUndecided ? open : (chosen?.declaration ?? template.declaration);
    instance = { kind: 'global', declaration, scope };
    instances.set(key, instance);
  }
  return instance;
}

const patternOf = (declaration: VariableDeclaration) => declaration.templateArguments ?? [];

function makeGlobal(ctx: Context, entity: Entity & { kind: 'global' }, node: Node): Value {
  const { declaration } = entity;
  const name = declaration.name ?? '(unnamed)';
  const s = declaration.specifiers;
  if (s.isShared) {
    declareVariable(ctx, declaration);
    const local = ctx.scope.own(name);
    ctx.scope.define(name, entity);
    return local?.kind === 'value' ? local.value : unknownValue({ kind: 'unknown', reason: name }, name);
  }
  const type = completeArray(ctx, resolveType(ctx, declaration.type), declaration);
  if (ctx.unit.isHost) return hostVariable(ctx, entity, name, type, node);
  // a number that is constexpr is written into the instructions, a table is subscripted with what is known later
  const isMemory = s.isConstant || ((s.isDevice || s.isManaged) && (!s.isConstexpr || type.kind === 'array'));
  const constant = !isMemory || type.isConst ? initialValue(ctx, declaration, type, node) : undefined;
  if (!isMemory && constant && (type.isConst || s.isConstexpr || declaration.type.kind === 'auto')) return constant;
  if (!isMemory) return unknownValue(type, `${name} is a variable of the host`);
  return deviceObject(ctx, entity, name, type, s.isConstant ? 'constant' : 'global', node);
}

/** In the program of the host every variable has memory, but for numbers that never change. */
function hostVariable(ctx: Context, entity: Global, name: string, type: Type, node: Node): Value {
  const { declaration } = entity;
  const s = declaration.specifiers;
  const isFixed = (type.isConst || s.isConstexpr) && !s.isConstant && !s.isDevice;
  const isValue = type.kind === 'unknown' || (isFixed && type.kind !== 'array');
  const value = isValue ? initialValue(ctx, declaration, type, node) : undefined;
  if (value && (type.kind === 'unknown' || value.kind === 'scalar')) return value;
  if (type.kind === 'unknown') return unknownValue(type, type.reason);
  const place = deviceObject(ctx, entity, name, type, 'global', node);
  const object = place.kind === 'place' && place.place.kind === 'memory' ? place.place.object : undefined;
  const lifetime = s.isConstant ? 'constant' : s.isDevice || s.isManaged ? 'device' : 'program';
  if (object !== undefined) ctx.builder.objects[object] = { ...ctx.builder.objects[object], lifetime };
  if (declaration.initializer) return place;
  return s.isExtern && !s.isConstant && !s.isDevice ? unknownValue(type, `${name} is defined elsewhere`) : place;
}

export function initialValue(
  ctx: Context,
  declaration: VariableDeclaration,
  type: Type,
  node: Node,
): Value | undefined {
  const init = declaration.initializer;
  if (!init) return undefined;
  if (init.form === 'braces') return initialiseFromList(ctx, type, init.list);
  if (init.form === 'call')
    return construct(
      ctx,
      type,
      init.arguments.map((a) => expression(ctx, a)),
      node,
      false,
    );
  if (init.value.kind === 'initList') return initialiseFromList(ctx, type, init.value);
  if (init.value.kind === 'string' && type.kind === 'array') return letters(ctx, type, init.value.value);
  const value = rvalue(ctx, expression(ctx, init.value), init.value);
  return type.kind === 'unknown' ? value : convertValue(ctx, value, type, node);
}

function deviceObject(
  ctx: Context,
  { declaration, isOfFunction }: Global,
  name: string,
  type: Type,
  space: 'global' | 'constant',
  node: Node,
): Value {
  // a counter of the device starts at what it is initialised with, and some kernel changes it; a table stays what it is
  const isCounter = space === 'global' && type.kind !== 'array' && !type.isConst;
  const element = elementOf(type);
  const isConst = type.isConst || element.isConst || declaration.specifiers.isConstexpr;
  const isFixed = isConst && !type.isVolatile && !element.isVolatile;
  // what the host may change it stores itself before main begins; what is static in a function only its kernels change
  const isUnknown = isCounter || ((ctx.unit.isHost || isOfFunction) && !isFixed);
  const contents = isUnknown ? undefined : contentsOf(ctx, declaration, type, node);
  const object = memoryObject(ctx, declaration, name, type, space);
  if (contents) ctx.builder.objects[object] = { ...ctx.builder.objects[object], contents, isFixed };
  if (isOfFunction) ctx.builder.objects[object] = { ...ctx.builder.objects[object], isOfFunction };
  const address = ctx.builder.objects[object].register;
  if (space === 'constant' && type.kind !== 'array' && !contents) declareSymbol(ctx, address, name, type, declaration);
  const place: MemoryPlace = {
    kind: 'memory',
    address,
    offset: 0,
    node,
    object,
    isVolatile: type.isVolatile,
  };
  return { kind: 'place', type: withoutReference(type), place };
}

/** What an array, or a record that holds nothing but an array (std::array), consists of. */
function elementOf(type: Type): Type {
  if (type.kind === 'array') return elementOf(type.of);
  const only = type.kind === 'record' && type.record.fields.length === 1 ? type.record.fields[0].type : undefined;
  return only?.kind === 'array' ? elementOf(only) : type;
}

/** Tables with constant numbers. */
function contentsOf(ctx: Context, declaration: VariableDeclaration, type: Type, node: Node): MemoryObject['contents'] {
  const scalar = scalarOf(elementOf(type));
  if (!scalar || !declaration.initializer || (sizeOf(type) ?? Number.POSITIVE_INFINITY) > 65536) return undefined;
  const value = initialValue(ctx, declaration, type, node);
  const values: number[] = [];
  const collect = (v: Value | undefined): boolean => {
    if (v?.kind === 'aggregate') return v.elements.every(collect);
    const number = v?.kind === 'scalar' ? ctx.builder.constantValue(v.register) : undefined;
    if (number === undefined) return false;
    values.push(number);
    return true;
  };
  return value && collect(value) ? { type: scalar, values } : undefined;
}
