/** `object.member` and `pointer->member`. */
import type * as ast from '../parse/ast';
import { asDeclared, baseOf } from './bases';
import { chosenObject } from './conditional';
import type { Context } from './context';
import { globalValue } from './globals';
import { lookupIn, scopeNamed } from './lookup';
import { memberAlignment, reasonOf, referredIn, rvalue } from './places';
import { dereference } from './pointers';
import { findField, findMethods, recordOf } from './records';
import { evaluateArguments } from './resolve-type';
import type { Scope } from './scope';
import { type Field, type Type, withoutReference } from './types';
import { userOperator } from './user-operators';
import { unknownValue, type Value } from './values';

export function memberExpression(ctx: Context, node: ast.MemberExpression): Value {
  let object = chosenObject(ctx, node.object);
  if (node.arrow) object = dereference(ctx, rvalue(ctx, behindArrow(ctx, object, node), node.object), node);
  object = asNamed(ctx, object, node);
  const part = node.name.parts[node.name.parts.length - 1];
  const member = memberOf(ctx, object, part.name, node);
  if (member) return member;
  const record = recordOf(object.type);
  const methods = record && findMethods(record, part.name);
  const templateArguments = part.templateArguments
    ? evaluateArguments(ctx, part.templateArguments, ctx.scope)
    : undefined;
  if (methods && record?.scope) {
    return {
      kind: 'functions',
      type: { kind: 'function' },
      declarations: methods.declarations,
      scope: methods.owner.scope ?? record.scope,
      templateArguments,
      self: object,
    };
  }
  const self = object.type.kind === 'lambda' ? rvalue(ctx, object, node.object) : object;
  if (self.kind === 'lambda' && part.name === 'operator()') return { ...self, templateArguments };
  return { kind: 'builtin', type: { kind: 'function' }, name: part.name, templateArguments, self: object };
}

/** `object.Base::member`, and in a method of a base `this->member`: the object is looked at as that class. */
function asNamed(ctx: Context, object: Value, node: ast.MemberExpression): Value {
  const type = node.name.parts.length > 1 ? scopeNamed(ctx, ctx.scope, node.name)?.recordType : methodClass(ctx, node);
  const record = type && recordOf(type);
  return (record && baseOf(object, record)) || object;
}

/** The class whose method says `this`. */
function methodClass(ctx: Context, { object }: ast.MemberExpression): Type | undefined {
  if (object.kind !== 'this') return undefined;
  let scope: Scope | undefined = ctx.scope;
  while (scope && !scope.recordType) scope = scope.parent;
  return scope?.recordType;
}

const MOST_ARROWS = 8;

/** What `->` goes to where the object is of a class with an operator of that name, which may give another such object. */
function behindArrow(ctx: Context, object: Value, node: ast.MemberExpression): Value {
  let behind = object;
  for (let depth = 0; depth < MOST_ARROWS && recordOf(behind.type); depth++) {
    const next = userOperator(ctx, 'operator->', [behind], node);
    if (!next) break;
    behind = next;
  }
  return behind;
}

/** A data member (through bases and anonymous members), undefined when there is none of that name. */
export function memberOf(ctx: Context, object: Value, name: string, node: ast.Node): Value | undefined {
  const record = recordOf(object.type);
  const found = record && findField(record, name);
  if (!found) {
    if (record?.scope) {
      const entity = lookupIn(ctx, record.scope, name, new Set());
      if (
        entity?.kind === 'global' &&
        (entity.declaration.specifiers.isStatic || entity.declaration.specifiers.isConstexpr)
      )
        return globalValue(ctx, entity, node);
    }
    return undefined;
  }
  let value: Value = object.kind === 'builtin' ? rvalue(ctx, object, node) : object;
  for (const field of found.path) value = step(ctx, value, field, node);
  return value;
}

/** A member of what is constant is constant; a reference is what it refers to. */
function typeOfMember({ type }: Field, isConst: boolean | undefined): Type {
  if (type.kind === 'reference') return type.to;
  if (!isConst || type.isConst) return type;
  // elements of a constant array are constant
  return type.kind === 'array' ? { ...type, isConst, of: { ...type.of, isConst } } : { ...type, isConst };
}

function step(ctx: Context, value: Value, field: Field, node: ast.Node): Value {
  const inherited = withoutReference(value.type);
  const type = typeOfMember(field, inherited.isConst);
  const index = inherited.kind === 'record' ? inherited.record.fields.indexOf(field) : -1;
  if (value.kind === 'place') {
    const place = value.place;
    const handed = value.handed === 'expiring' ? value.handed : undefined;
    if (place.kind === 'memory') {
      if (field.type.kind === 'reference')
        return referredIn(ctx, { ...place, offset: place.offset + field.offset, node }, field.type);
      const aligned = inherited.kind === 'record' ? memberAlignment(place, inherited.record, field) : undefined;
      return {
        kind: 'place',
        type,
        handed,
        place: { ...place, offset: place.offset + field.offset, bits: field.bits, node, aligned, isOfMember: true },
      };
    }
    if (place.storage.kind === 'aggregate' && place.storage.elements[index]) {
      const element = place.storage.elements[index];
      // a member that is a reference stands for what it was bound to
      if (field.type.kind === 'reference' && element.kind === 'fixed')
        return asDeclared(field.type.to, element.cell.value);
      return { kind: 'place', type, place: { kind: 'storage', storage: place.storage.elements[index] }, handed };
    }
    return unknownValue(type, `member ${field.name} of a value that could not be followed`);
  }
  if (value.kind === 'aggregate' && value.elements[index]) return value.elements[index];
  return unknownValue(type, reasonOf(value));
}
