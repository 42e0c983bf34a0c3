/** Structured bindings: `auto& [a, b] = pair;`. */
import type { Expression, Node, VariableDeclaration } from '../parse/ast';
import { subobject } from './bases';
import { objectOf } from './bound-values';
import { callValue } from './calls';
import { type Context, LIBRARY_TOKENS } from './context';
import { expression } from './expressions';
import { arrayElements, rvalue } from './places';
import { recordOf } from './records';
import { type RecordInfo, types } from './types';
import { unknownValue, type Value } from './values';

/** Defines the names of a structured binding. */
export function declareBindings(ctx: Context, declaration: VariableDeclaration, names: readonly string[]): void {
  const init = declaration.initializer;
  const node = init?.form === 'assign' ? init.value : init?.form === 'call' ? init.arguments[0] : undefined;
  const value = node && expression(ctx, node);
  const object = value && (declaration.type.kind === 'reference' ? value : copyOf(ctx, value, node));
  const parts = object && partsOf(ctx, object, names.length, declaration);
  const reason = 'structured binding of a value that could not be followed';
  names.forEach((name, i) => {
    ctx.scope.define(name, { kind: 'value', value: parts?.[i] ?? unknownValue({ kind: 'unknown', reason }, reason) });
  });
}

/** A variable of its own with the value. */
function copyOf(ctx: Context, value: Value, node: Expression): Value {
  const array = value.type.kind === 'array' ? value.type : undefined;
  const whole: Value = array
    ? { kind: 'aggregate', type: array, elements: (arrayElements(value) ?? []).map((e) => rvalue(ctx, e, node)) }
    : rvalue(ctx, value, node);
  if (whole.kind !== 'aggregate') return whole;
  return objectOf(ctx, whole, node, 'binding');
}

function partsOf(ctx: Context, object: Value, count: number, node: Node): readonly Value[] | undefined {
  const record = recordOf(object.type);
  if (!record) return arrayElements(object);
  const fields = record.fields.filter((f) => !f.isBase);
  const [only] = fields;
  if (isOfLibrary(record) && fields.length === 1 && only.type.kind === 'array')
    return arrayElements(subobject(object, only) ?? object);
  if (fields.length === record.fields.length && fields.length === count)
    return fields.map(
      (f) => referred(subobject(object, f)) ?? unknownValue(f.type, `member ${f.name} could not be followed`),
    );
  return Array.from({ length: count }, (_, i) => element(ctx, record, object, i, node));
}

const isOfLibrary = (record: RecordInfo): boolean => (record.declaration?.first ?? 0) >= LIBRARY_TOKENS;

/** What a member that is a reference was bound to. */
const referred = (part: Value | undefined): Value | undefined =>
  part?.kind === 'place' &&
  part.type.kind === 'reference' &&
  part.place.kind === 'storage' &&
  part.place.storage.kind === 'fixed'
    ? part.place.storage.cell.value
    : part;

/** `get<i>(object)`, found in the namespace of its type. */
function element(ctx: Context, record: RecordInfo, object: Value, i: number, node: Node): Value {
  for (let scope = record.scope?.parent; scope; scope = scope.parent) {
    const found = scope.own('get');
    if (found?.kind !== 'functions') continue;
    const templateArguments = [{ kind: 'number' as const, value: i, type: types.ulong }];
    const callee: Value = {
      kind: 'functions',
      type: { kind: 'function' },
      declarations: found.declarations,
      scope: found.scope,
      templateArguments,
    };
    const call = {
      kind: 'call' as const,
      callee: { kind: 'this' as const, first: node.first, last: node.last },
      arguments: [],
      first: node.first,
      last: node.last,
    };
    return callValue(ctx, callee, [object], call);
  }
  const reason = `${record.name} cannot be taken apart`;
  return unknownValue({ kind: 'unknown', reason }, reason);
}
