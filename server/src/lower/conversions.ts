/** Implicit and explicit conversions of values. */
import type { FunctionDeclaration, Node } from '../parse/ast';
import type { Register, ScalarType } from '../program/program';
import { baseOf, betweenClasses } from './bases';
import { callFunction } from './calls';
import { convertByConstructor } from './construct';
import type { Context } from './context';
import { withClass } from './host/virtual-calls';
import { rvalue } from './places';
import { recordOf } from './records';
import { resolveType } from './resolve-type';
import { isFloat, type RecordInfo, scalarOf, type Type, typeKey, types, unqualified, withoutReference } from './types';
import { unknownValue, type Value } from './values';

export function convertRegister(ctx: Context, register: Register, from: ScalarType, to: ScalarType): Register {
  if (from === to) return register;
  if (to === 'pred') return ctx.builder.compare('ne', from, register, ctx.builder.constant(from, 0));
  return ctx.builder.convert(from, to, register);
}

/** A pointer to an object as one to its base, or the other way; null stays null. */
export function shiftedPointer(ctx: Context, pointer: Register, from: Type | undefined, to: Type): Register {
  const offset = from ? betweenClasses(recordOf(from), recordOf(to)) : 0;
  if (offset === 0) return pointer;
  const { builder } = ctx;
  const isNull = builder.compare('eq', 'i64', pointer, builder.constant('i64', 0));
  const shifted = builder.binary('add', 'i64', pointer, builder.constant('i64', offset));
  return builder.select('i64', isNull, pointer, shifted);
}

/** Converts an rvalue to a type, as an assignment or a cast would. */
export function convertValue(ctx: Context, value: Value, to: Type, node: Node): Value {
  const target = unqualified(withoutReference(to));
  if (target.kind === 'unknown') return value;
  const scalar = scalarOf(target);
  if (value.kind === 'scalar' && scalar) {
    const from = ctx.builder.typeOf(value.register);
    const register = convertRegister(ctx, value.register, from, scalar);
    const isPointer = target.kind === 'pointer' && value.type.kind === 'pointer';
    const shifted = isPointer ? shiftedPointer(ctx, register, value.type.to, target.to) : register;
    return { kind: 'scalar', type: target, register: shifted };
  }
  if (value.kind === 'placePointer' && target.kind === 'pointer') return retypePlacePointer(value, target);
  if (value.kind === 'aggregate' && scalar)
    return convertByOperator(ctx, value, target, node) ?? aggregateToScalar(ctx, value, target, scalar, node);
  if (value.kind === 'aggregate' && target.kind === 'record')
    return recordOf(value.type) === target.record ? value : recordToRecord(ctx, value, target, node);
  if (value.kind === 'scalar' && target.kind === 'record')
    return convertByConstructor(ctx, value, target, node) ?? scalarToRecord(ctx, value, target, node);
  if (value.kind === 'unknown') return unknownValue(target, value.reason);
  const isHeld = value.kind === 'placePointer' || value.kind === 'lambda' || value.kind === 'functions';
  if (isHeld && target.kind === 'record') return convertByConstructor(ctx, value, target, node) ?? value;
  return value;
}

/** `(float4*)&acc[0]`: the same elements seen in another grouping are followed only where the scalars agree. */
function retypePlacePointer(value: Value & { kind: 'placePointer' }, target: Type & { kind: 'pointer' }): Value {
  const same = typeKey(target.to) === typeKey(value.target.elementType);
  if (same || target.to.kind === 'void') return { ...value, type: target };
  return { ...value, type: target };
}

/** A base of the value, or what a constructor makes of it. */
function recordToRecord(
  ctx: Context,
  value: Value & { kind: 'aggregate' },
  target: Type & { kind: 'record' },
  node: Node,
): Value {
  const base = baseOf(value, target.record);
  return (base && withClass(ctx, base)) ?? convertByConstructor(ctx, value, target, node) ?? value;
}

/** What an object makes of itself where an object of another class is wanted: `operator std::string()`, before what that class's constructors make of it. */
export function convertToRecord(
  ctx: Context,
  value: Value,
  target: Type & { kind: 'record' },
  node: Node,
): Value | undefined {
  const record = recordOf(value.type);
  const declaration = record && conversionTo(ctx, record, target);
  if (!declaration || !record.scope) return undefined;
  const chosen = { declaration, scope: record.scope, templateArguments: [] };
  return rvalue(ctx, callFunction(ctx, chosen, [], value, node), node);
}

/** Its function that gives an object of exactly this class. */
export function conversionTo(
  ctx: Context,
  { methods, scope, name }: RecordInfo,
  target: Type & { kind: 'record' },
): FunctionDeclaration | undefined {
  if (!scope || name === target.record.name || takesObject(ctx, target.record, name)) return undefined;
  const wanted = typeKey(unqualified(target));
  for (const [method, declarations] of methods) {
    if (!/^operator [\w(:]/.test(method)) continue;
    const found = declarations.find(
      ({ body, parameters, result }) =>
        body &&
        parameters.length === 0 &&
        typeKey(unqualified(withoutReference(resolveType(ctx, result, scope)))) === wanted,
    );
    if (found) return found;
  }
  return undefined;
}

/** Whether a class has a constructor or an assignment for objects of another class, by its name. */
function takesObject(ctx: Context, { declaration, methods, scope }: RecordInfo, other: string): boolean {
  const makers = methods.get(declaration?.name?.parts.at(-1)?.name ?? '') ?? [];
  return [...makers, ...(methods.get('operator=') ?? [])].some(({ parameters: [first], templateParameters }) => {
    if (!first || !scope || templateParameters) return false;
    return recordOf(resolveType(ctx, first.type, scope))?.name === other;
  });
}

/** `operator T*()` and the like of a user's record. */
function convertByOperator(
  ctx: Context,
  value: Value & { kind: 'aggregate' },
  target: Type,
  node: Node,
): Value | undefined {
  const record = recordOf(value.type);
  if (!record?.scope) return undefined;
  const { scope } = record;
  let best: { declaration: FunctionDeclaration; isSame: boolean } | undefined;
  for (const [name, declarations] of record.methods) {
    if (!/^operator [\w(:]/.test(name)) continue;
    for (const declaration of declarations) {
      if (!declaration.body || declaration.parameters.length > 0) continue;
      const result = withoutReference(resolveType(ctx, declaration.result, scope));
      const isSame = typeKey(result) === typeKey(target);
      const fits =
        isSame ||
        (result.kind === 'pointer' || target.kind === 'pointer'
          ? isAsPointer(result, target)
          : scalarOf(result) !== undefined);
      if (fits && (!best || (isSame && !best.isSame))) best = { declaration, isSame };
    }
  }
  if (!best) {
    const bases = value.elements.filter((_, i) => record.fields[i]?.isBase);
    for (const base of bases) {
      const converted = base.kind === 'aggregate' ? convertByOperator(ctx, base, target, node) : undefined;
      if (converted) return converted;
    }
    return undefined;
  }
  const result = callFunction(ctx, { declaration: best.declaration, scope, templateArguments: [] }, [], value, node);
  return best.isSame ? rvalue(ctx, result, node) : convertValue(ctx, rvalue(ctx, result, node), target, node);
}

/** What an object converts to where a reference is bound to it: `operator T&()`. */
export function convertToReference(ctx: Context, value: Value, to: Type, node: Node): Value | undefined {
  const record = ctx.unit.isHost ? recordOf(value.type) : undefined;
  if (!record?.scope || recordOf(to) === record) return undefined;
  const { scope } = record;
  for (const [name, declarations] of record.methods) {
    if (!/^operator [\w(:]/.test(name)) continue;
    for (const declaration of declarations) {
      const result = declaration.body ? resolveType(ctx, declaration.result, scope) : undefined;
      if (result?.kind === 'reference' && typeKey(unqualified(result.to)) === typeKey(unqualified(to)))
        return callFunction(ctx, { declaration, scope, templateArguments: [] }, [], value, node);
    }
  }
  return undefined;
}

/** `int*` as `const int*` or `void*`. */
function isAsPointer(from: Type, to: Type): boolean {
  if (from.kind !== 'pointer' || to.kind !== 'pointer' || (from.to.isConst && !to.to.isConst)) return false;
  return to.to.kind === 'void' || typeKey(unqualified(from.to)) === typeKey(unqualified(to.to));
}

/** The number that a record converts to where a number is wanted (std::integral_constant as an index); other values as they are. */
export function numberOf(ctx: Context, value: Value, node: Node): Value {
  const record = value.kind === 'aggregate' ? recordOf(value.type) : undefined;
  if (!record?.scope) return value;
  const { scope } = record;
  for (const [name, declarations] of record.methods) {
    const declaration = /^operator [\w(:]/.test(name)
      ? declarations.find((d) => d.body && d.parameters.length === 0)
      : undefined;
    if (!declaration || scalarOf(withoutReference(resolveType(ctx, declaration.result, scope))) === undefined) continue;
    return rvalue(ctx, callFunction(ctx, { declaration, scope, templateArguments: [] }, [], value, node), node);
  }
  const elements = value.kind === 'aggregate' ? value.elements : [];
  for (const [i, base] of elements.entries()) {
    const converted = record.fields[i]?.isBase ? numberOf(ctx, base, node) : base;
    if (converted !== base) return converted;
  }
  return value;
}

/** dim3 or a one-element wrapper used as a number. */
function aggregateToScalar(
  ctx: Context,
  value: Value & { kind: 'aggregate' },
  target: Type,
  scalar: ScalarType,
  node: Node,
): Value {
  const only = value.elements.length === 1 ? value.elements[0] : undefined;
  if (only?.kind === 'scalar') return convertValue(ctx, only, target, node);
  void scalar;
  return unknownValue(target, 'conversion of a record to a number');
}

/** `float4 v = 0` does not exist, but half2 from half, and dim3 from a number do. */
function scalarToRecord(
  ctx: Context,
  value: Value & { kind: 'scalar' },
  target: Type & { kind: 'record' },
  node: Node,
): Value {
  const { record } = target;
  if (!record.isVector && record.name !== 'dim3')
    return unknownValue(target, `conversion of a number to ${record.name}`);
  const elements = record.fields.map((f, i): Value => {
    if (record.name === 'dim3' && i > 0)
      return { kind: 'scalar', type: f.type, register: ctx.builder.constant('u32', 1) };
    return convertValue(ctx, value, f.type, node);
  });
  return { kind: 'aggregate', type: target, elements };
}

/** Truth value of a scalar, or of what a record converts to. */
export function toPredicate(ctx: Context, value: Value, node: Node): Register {
  if (value.kind === 'scalar') return convertRegister(ctx, value.register, ctx.builder.typeOf(value.register), 'pred');
  if (value.kind === 'aggregate') {
    const converted = convertByOperator(ctx, value, types.bool, node);
    if (converted && converted.kind !== 'aggregate') return toPredicate(ctx, converted, node);
  }
  if (value.kind === 'placePointer' || value.kind === 'functions' || value.kind === 'lambda')
    return ctx.builder.constant('pred', 1);
  return ctx.builder.unknown('pred', value.kind === 'unknown' ? value.reason : 'condition could not be followed');
}

export const isFloating = (type: Type): boolean => {
  const scalar = scalarOf(type);
  return scalar !== undefined && isFloat(scalar);
};
