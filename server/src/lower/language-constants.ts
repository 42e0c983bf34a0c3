/**
 * Numbers that are written in a kernel or given to its template: what they rule out (`if constexpr`, `if (MODE == 2)`) is gone before the compiler
 * looks at a loop.
 */
import type * as ast from '../parse/ast';
import type { Context } from './context';
import { lookupName } from './lookup';

/** Where an expression stands, and the names that mean something else there than around. */
export interface Names {
  readonly ctx: Context;
  readonly changing: ReadonlySet<string>;
  readonly counters: ReadonlyMap<string, number>;
}

/** A number that stands there, by constants of the language alone; nothing is lowered for it. */
export function constantIn(names: Names, node: ast.Expression): number | undefined {
  switch (node.kind) {
    case 'integer':
      return Number(node.value);
    case 'name':
      return constantNamed(names, node);
    case 'unary': {
      const a = constantIn(names, node.operand);
      if (a === undefined) return undefined;
      return node.operator === '!' ? Number(a === 0) : node.operator === '-' ? -a : undefined;
    }
    case 'binary': {
      const a = constantIn(names, node.left);
      const b = constantIn(names, node.right);
      if (node.operator === '&&' && (a === 0 || b === 0)) return 0;
      if (node.operator === '||' && (a || b)) return 1;
      return a === undefined || b === undefined ? undefined : constantOperators[node.operator]?.(a, b);
    }
    default:
      return undefined;
  }
}

function constantNamed({ ctx, changing, counters }: Names, { name }: ast.NameExpression): number | undefined {
  const own = name.parts.at(-1)?.name ?? '';
  if (name.parts.length > 1 || changing.has(own) || counters.has(own)) return undefined;
  const entity = lookupName(ctx, ctx.scope, own);
  if (entity?.kind === 'template') return entity.value.kind === 'number' ? entity.value.value : undefined;
  if (entity?.kind !== 'value' || entity.value.kind !== 'scalar') return undefined;
  return ctx.builder.constantValue(entity.value.register);
}

const constantOperators: Readonly<Record<string, ((a: number, b: number) => number) | undefined>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '==': (a, b) => Number(a === b),
  '!=': (a, b) => Number(a !== b),
  '<': (a, b) => Number(a < b),
  '<=': (a, b) => Number(a <= b),
  '>': (a, b) => Number(a > b),
  '>=': (a, b) => Number(a >= b),
  '&&': (a, b) => Number(a !== 0 && b !== 0),
  '||': (a, b) => Number(a !== 0 || b !== 0),
};
