/** Static arrays of kernels and of the functions that they call. */
import type { VariableDeclaration } from '../parse/ast';
import type { Context } from './context';
import { instanceAround } from './records';
import type { Entity } from './scope';

/** `static const float weights[3][3] = { … }` in a kernel. */
export const isTableOfDevice = (ctx: Context, { specifiers, type, name }: VariableDeclaration): boolean =>
  !ctx.unit.isHost && specifiers.isStatic && name !== undefined && type.kind === 'array';

/** It lies in global memory, as at namespace scope: one for all calls (nvcc 13.0: LDG, and no access for a known element). */
export function declareTable(ctx: Context, declaration: VariableDeclaration): void {
  const tables = tablesOf.get(ctx) ?? new Map<string, Entity>();
  tablesOf.set(ctx, tables);
  const key = `${declaration.first}:${instanceAround(ctx)}`;
  let table = tables.get(key);
  if (!table) {
    const specifiers = { ...declaration.specifiers, isDevice: true };
    tables.set(
      key,
      (table = { kind: 'global', declaration: { ...declaration, specifiers }, scope: ctx.scope, isOfFunction: true }),
    );
  }
  if (declaration.name) ctx.scope.define(declaration.name, table);
}

const tablesOf = new WeakMap<Context, Map<string, Entity>>();
