/**
 * Pointers to members, in programs of the host. One to data is a number: 1 behind where the member lies in its class, 0 for none. One to a function is kept
 * as functions are (closures.ts), without an object; called as a function (`std::invoke`, a projection) either takes the object before its arguments.
 */
import type * as ast from '../../parse/ast';
import { callValue } from '../calls';
import { type Context, demandMemory } from '../context';
import { convertValue } from '../conversions';
import { expression } from '../expressions';
import { scopeNamed } from '../lookup';
import { memberOf } from '../members';
import { addressOf, reasonOf, rvalue } from '../places';
import { dereference } from '../pointers';
import { findField, findMethods, recordOf } from '../records';
import { resolveType } from '../resolve-type';
import {
  type FunctionType,
  memberType,
  parameterType,
  type RecordInfo,
  type Type,
  typeKey,
  unknownType,
  withoutReference,
} from '../types';
import { userOperator } from '../user-operators';
import { unknownValue, type Value } from '../values';
import { forEachKept, signatureOf } from './closures';

/** `float T::*`, `int (T::*)(int)` */
export function typeOfMemberPointer(ctx: Context, to: Type): Type {
  if (!ctx.unit.isHost) return unknownType('pointer to member');
  return to.kind === 'function' ? { kind: 'pointer', to: { ...to, isMember: true } } : memberType(to);
}

/** `&T::member` of one that belongs to objects; undefined for anything else. */
export function memberPointer(ctx: Context, { operand }: ast.UnaryExpression): Value | undefined {
  if (!ctx.unit.isHost || operand.kind !== 'name' || operand.name.parts.length < 2) return undefined;
  const type = scopeNamed(ctx, ctx.scope, operand.name)?.recordType;
  const record = type?.kind === 'record' ? type.record : undefined;
  const name = operand.name.parts.at(-1)?.name ?? '';
  return record && (pointerToData(ctx, record, name) ?? pointerToFunction(ctx, record, name));
}

function pointerToData(ctx: Context, record: RecordInfo, name: string): Value | undefined {
  const path = findField(record, name)?.path;
  const field = path?.at(-1);
  if (!path || !field) return undefined;
  const type = memberType(field.type);
  if (field.bits || field.type.kind === 'reference') return unknownValue(type, `pointer to ${name}`);
  const offset = path.reduce((sum, each) => sum + each.offset, 0);
  return { kind: 'scalar', type, register: ctx.builder.constant('i64', offset + 1) };
}

function pointerToFunction(ctx: Context, record: RecordInfo, name: string): Value | undefined {
  const methods = findMethods(record, name);
  const scope = methods?.owner.scope;
  if (!methods || !scope || methods.declarations.some((d) => d.specifiers.isStatic)) return undefined;
  const [only, ...others] = methods.declarations;
  const isKnown = others.length === 0 && !only.templateParameters;
  const type: FunctionType = {
    kind: 'function',
    isMember: true,
    result: isKnown ? resolveType(ctx, only.result, scope) : undefined,
    parameters: isKnown ? only.parameters.map((p) => parameterType(resolveType(ctx, p.type, scope))) : undefined,
  };
  return { kind: 'functions', type, declarations: methods.declarations, scope };
}

/** `object.*pointer`, `object->*pointer`: the member, or the function with its object where it is known which. */
export function behindMemberPointer(ctx: Context, node: ast.BinaryExpression): Value {
  const [object, pointer] = operandsOf(ctx, node);
  return memberAt(ctx, object, pointer, node);
}

function operandsOf(ctx: Context, node: ast.BinaryExpression): readonly [object: Value, pointer: Value] {
  const left = expression(ctx, node.left);
  const object = node.operator === '->*' ? behind(ctx, left, node.left) : left;
  return [object, rvalue(ctx, expression(ctx, node.right), node.right)];
}

/** What a pointer, or an object that stands for one, leads to. */
function behind(ctx: Context, pointer: Value, node: ast.Node): Value {
  const own = recordOf(pointer.type) && userOperator(ctx, 'operator*', [pointer], node);
  return own || dereference(ctx, rvalue(ctx, pointer, node), node);
}

function memberAt(ctx: Context, object: Value, pointer: Value, node: ast.Node): Value {
  if (pointer.kind === 'functions') return { ...pointer, type: { kind: 'function' }, self: object };
  const member = memberIn(pointer.type);
  if (pointer.kind !== 'scalar' || !member)
    return unknownValue(member ?? unknownType('pointer to member'), reasonOf(pointer));
  const { isConst } = withoutReference(object.type);
  const type = isConst && !member.isConst ? { ...member, isConst } : member;
  if (object.kind === 'place' && object.place.kind === 'memory') {
    const address = ctx.builder.binary('add', 'i64', addressOf(ctx, object.place), pointer.register);
    return { kind: 'place', type, place: { kind: 'memory', address, offset: -1, node, isOfMember: true } };
  }
  const told = ctx.builder.constantValue(pointer.register);
  const record = recordOf(object.type);
  const name = told === undefined || !record ? undefined : nameAt(record, told - 1, typeKey(member));
  const found = name && memberOf(ctx, object, name, node);
  if (found) return found;
  if (object.kind === 'place' && object.place.kind === 'storage') {
    const { storage } = object.place;
    if (storage.kind === 'aggregate' && storage.owner) demandMemory(ctx, storage.owner);
  }
  return unknownValue(type, 'which member it is is not known');
}

/** The member of a type that lies at an offset. */
function nameAt(record: RecordInfo, offset: number, key: string): string | undefined {
  const own = record.fields.find((field) => !field.isBase && field.offset === offset && typeKey(field.type) === key);
  if (own) return own.name;
  for (const { isBase, isAnonymous, type, offset: from } of record.fields) {
    const inner = (isBase || isAnonymous) && type.kind === 'record' && nameAt(type.record, offset - from, key);
    if (inner) return inner;
  }
  return undefined;
}

const memberIn = (type: Type): Type | undefined => {
  const plain = withoutReference(type);
  return plain.kind === 'scalar' ? plain.member : undefined;
};

/** `(object.*pointer)(arguments)` where only memory tells which function it is; undefined for other calls. */
export function callBehindMemberPointer(
  ctx: Context,
  node: ast.CallExpression,
  argumentsOf: () => readonly Value[],
): Value | undefined {
  const { callee } = node;
  if (callee.kind !== 'binary' || (callee.operator !== '.*' && callee.operator !== '->*')) return undefined;
  const [object, pointer] = operandsOf(ctx, callee);
  const args = argumentsOf();
  const signature = pointer.kind === 'scalar' ? signatureOf(ctx, pointer.type) : undefined;
  if (pointer.kind !== 'scalar' || !signature) return callValue(ctx, memberAt(ctx, object, pointer, node), args, node);
  return forEachKept(ctx, pointer.register, signature, node, ({ value }) => {
    const callee = value.kind === 'functions' ? memberAt(ctx, object, value, node) : value;
    const given = rvalue(ctx, callValue(ctx, callee, args, node), node);
    const { result } = signature;
    if (!result || result.kind === 'unknown' || result.kind === 'reference') return given;
    return result.kind === 'void' ? { kind: 'void', type: result } : convertValue(ctx, given, result, node);
  });
}

/** A pointer to a member that is called as a function is: of its first argument, or of what that leads to. */
export function callMemberPointer(
  ctx: Context,
  callee: Value,
  [first, ...args]: readonly Value[],
  node: ast.CallExpression,
): Value | undefined {
  const isFunction = callee.kind === 'functions' && !callee.self && isMemberFunction(callee.type);
  const isData = (callee.kind === 'scalar' || callee.kind === 'place') && memberIn(callee.type);
  if (!first || !(isFunction || isData)) return undefined;
  const isPointer = withoutReference(first.type).kind === 'pointer' || first.kind === 'placePointer';
  const object = isPointer ? behind(ctx, first, node) : first;
  const pointer = rvalue(ctx, callee, node);
  const member = memberAt(ctx, object, pointer, node);
  return isFunction ? callValue(ctx, member, args, node) : member;
}

const isMemberFunction = (type: Type): boolean => type.kind === 'function' && type.isMember === true;
