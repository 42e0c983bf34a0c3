/**
 * Whether a loop hands an integer on from pass to pass that begins as a constant: `int count = 0;` with `if (…) count++`. LLVM then writes the passes that are
 * left over behind the others, since the number stays a constant for these; else before (`isEpilogProfitable`; PTX of twelve loops, nvcc 13.0: sums of
 * integers, counts, flags and places of a maximum begin so, not sums of floats, what is loaded first, nor what each pass assigns anew).
 */
import type * as ast from '../parse/ast';
import type { Context } from './context';
import { lookupName } from './lookup';
import { readRegister } from './places';
import { assignedNames, nameOf } from './trip-count';

export function carriesConstant(ctx: Context, { body }: ast.ForStatement): boolean {
  for (const name of assignedNames(body)) if (isConstant(ctx, name) && !isMadeAnew(body, name)) return true;
  return false;
}

function isConstant(ctx: Context, name: string): boolean {
  const entity = lookupName(ctx, ctx.scope, name);
  const value = entity?.kind === 'value' ? entity.value : undefined;
  const storage = value?.kind === 'place' && value.place.kind === 'storage' ? value.place.storage : undefined;
  if (storage?.kind !== 'scalar' || storage.type.kind === 'pointer') return false;
  const register = readRegister(ctx, storage.register);
  return /^([iu]\d+|pred)$/.test(ctx.builder.typeOf(register)) && ctx.builder.constantValue(register) !== undefined;
}

/** Whether every pass assigns a variable before it reads it, or declares one of that name. */
function isMadeAnew(body: ast.Statement, name: string): boolean {
  const statements = body.kind === 'compound' ? body.body : [body];
  for (const statement of statements) {
    if (!names(statement, name, 0)) continue;
    if (statement.kind === 'declaration')
      return statement.declarations.some((each) => each.kind === 'variable' && each.name === name);
    const made = statement.kind === 'expression' ? statement.expression : undefined;
    return (
      made?.kind === 'assign' && made.operator === '=' && nameOf(made.left) === name && !names(made.right, name, 0)
    );
  }
  return true;
}

function names(value: unknown, name: string, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > 200 || value instanceof Set) return false;
  if (Array.isArray(value)) return value.some((v) => names(v, name, depth + 1));
  const node = value as ast.Expression | ast.Declaration;
  if (nameOf(node as ast.Expression) === name || (node.kind === 'variable' && node.name === name)) return true;
  return Object.values(node).some((v) => names(v, name, depth + 1));
}
