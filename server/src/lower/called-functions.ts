/** What a loop calls, found by its syntax before anything of it is lowered: functions of the user's that have one definition, methods of objects whose class is known. */
import type * as ast from '../parse/ast';
import { type Context, LIBRARY_TOKENS } from './context';
import { lookupName, lookupQualified } from './lookup';
import { findMethods, recordOf } from './records';
import { nameOf } from './trip-count';
import { type RecordInfo, type Type, withoutReference } from './types';

export interface CalledFunction {
  readonly body: ast.Statement;
  /** Of a method: the class that has it. */
  readonly owner?: RecordInfo;
  /** A method that leaves its object as it is. */
  readonly isConst: boolean;
}

/** @param owner the class whose method calls */
export function calledFunction(ctx: Context, call: ast.CallExpression, owner?: RecordInfo): CalledFunction | undefined {
  const { callee } = call;
  if (callee.kind === 'name') return functionNamed(ctx, callee.name, owner);
  if (callee.kind !== 'member') return undefined;
  const type = typeOfObject(ctx, callee.object, owner);
  const pointee = callee.arrow && type?.kind === 'pointer' ? type.to : type;
  return pointee && methodOf(recordOf(pointee), callee.name.parts.at(-1)?.name ?? '');
}

/** The body of a lambda that is called by the name of the variable that holds it. */
export function calledLambda(ctx: Context, { callee }: ast.CallExpression): ast.Statement | undefined {
  const type = callee.kind === 'name' ? typeOfVariable(ctx, nameOf(callee), undefined) : undefined;
  return type?.kind === 'lambda' ? type.lambda.body : undefined;
}

function functionNamed(
  ctx: Context,
  name: ast.QualifiedName,
  owner: RecordInfo | undefined,
): CalledFunction | undefined {
  const from = owner?.scope ?? ctx.scope;
  const last = name.parts.at(-1)?.name ?? '';
  const isPlain = name.parts.length === 1;
  const method = isPlain ? methodOf(owner, last) : undefined;
  if (method) return method;
  const entity = isPlain ? lookupName(ctx, from, last) : lookupQualified(ctx, from, name);
  if (entity?.kind !== 'functions') return undefined;
  return only(entity.declarations);
}

/** Those of the library are in our own words, and tell nothing of how large theirs are. */
function methodOf(record: RecordInfo | undefined, name: string): CalledFunction | undefined {
  const found = record && findMethods(record, name);
  const method = found && only(found.declarations);
  return method && method.body.first < LIBRARY_TOKENS ? { ...method, owner: found.owner } : undefined;
}

function only(declarations: readonly ast.FunctionDeclaration[]): CalledFunction | undefined {
  const defined = declarations.flatMap(({ body, isConst }) => (body ? [{ body, isConst }] : []));
  return defined.length === 1 ? defined[0] : undefined;
}

/** The type of a variable, of an element or of a member. */
function typeOfObject(ctx: Context, node: ast.Expression, owner: RecordInfo | undefined): Type | undefined {
  switch (node.kind) {
    case 'name':
      return typeOfVariable(ctx, nameOf(node), owner);
    case 'index': {
      const base = typeOfObject(ctx, node.base, owner);
      return base?.kind === 'pointer' ? base.to : base?.kind === 'array' ? withoutReference(base.of) : undefined;
    }
    case 'member': {
      const object = typeOfObject(ctx, node.object, owner);
      const holder = node.arrow && object?.kind === 'pointer' ? object.to : object;
      return holder && fieldOf(recordOf(holder), node.name.parts.at(-1)?.name);
    }
    default:
      return undefined;
  }
}

function typeOfVariable(ctx: Context, name: string | undefined, owner: RecordInfo | undefined): Type | undefined {
  if (name === undefined) return undefined;
  if (owner) return fieldOf(owner, name);
  const entity = lookupName(ctx, ctx.scope, name);
  return entity?.kind === 'value' ? withoutReference(entity.value.type) : undefined;
}

const fieldOf = (record: RecordInfo | undefined, name: string | undefined): Type | undefined => {
  const field = record?.fields.find((each) => each.name === name);
  return field && withoutReference(field.type);
};
