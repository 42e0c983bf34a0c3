/**
 * How many numbers an expression of a built-in vector type is (`float4`: 4): an operator that the user gives such types is inlined, and an operation on
 * each of them. Evidence: loops over vectors are written out as often as those over scalars with so many times the operations (32 loops).
 */
import type * as ast from '../parse/ast';
import type { Context } from './context';
import { lookupName } from './lookup';
import { type Type, vectorTypes } from './types';

/** Pairs of halves are computed at once. */
const isOfHalves = (name: string): boolean => /half|bfloat/.test(name);

const widthOfName = (name: string): number => {
  const type = isOfHalves(name) ? undefined : vectorTypes.get(name);
  return type?.kind === 'record' ? type.record.fields.length : 1;
};

/** The width of what a declaration in the text names. */
export const declaredWidth = (type: ast.TypeNode): number =>
  type.kind === 'named' ? widthOfName(type.name.parts.at(-1)?.name ?? '') : 1;

/** @param declared widths of what the body of the loop declares, by name */
export function vectorWidth(ctx: Context, declared: ReadonlyMap<string, number>, node: ast.Expression): number {
  const widthOf = (e: ast.Expression): number => vectorWidth(ctx, declared, e);
  switch (node.kind) {
    case 'name': {
      const name = node.name.parts.at(-1)?.name ?? '';
      return declared.get(name) ?? widthOfType(outerType(ctx, name));
    }
    case 'binary':
      return Math.max(widthOf(node.left), widthOf(node.right));
    case 'unary':
      return node.operator === '*' ? 1 : widthOf(node.operand);
    case 'conditional':
      return Math.max(widthOf(node.then), widthOf(node.else));
    case 'call':
      return Math.max(1, ...node.arguments.map(widthOf));
    case 'index':
      return node.base.kind === 'name' ? widthOfElement(ctx, node.base) : 1;
    default:
      return 1;
  }
}

function outerType(ctx: Context, name: string): Type | undefined {
  const entity = lookupName(ctx, ctx.scope, name);
  return entity?.kind === 'value' ? entity.value.type : undefined;
}

const widthOfType = (type: Type | undefined): number => (type?.kind === 'record' ? widthOfName(type.record.name) : 1);

function widthOfElement(ctx: Context, { name }: ast.NameExpression): number {
  const type = outerType(ctx, name.parts.at(-1)?.name ?? '');
  return widthOfType(type?.kind === 'pointer' ? type.to : type?.kind === 'array' ? type.of : undefined);
}
