/**
 * How large a body is whose inner loops are all written out: the tile of a product held in registers. What it indexes with is no instruction then, so that tokens
 * tell little. Evidence: PTX and machine code of `acc[m][n] += a[m] * b[n]` for tiles of 2 × 2 to 8 × 8 in loops of 32 and 64 passes (nvcc 13.0, sm_90):
 * written out four times by NVVM up to 4 × 2, two times up to 6 × 4, and not at all from 8 × 4 on; by ptxas four times more up to 8 × 5, once, and two times, 4 × 4, but
 * not 8 × 6, nor two times 6 × 4, nor four times 4 × 2.
 */
import { anywhere } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import type { Context } from './context';
import { innerLoopsOf, isWrittenOutWithin, plainTrips } from './loop-size';
import { isInMemory } from './plain-cost';

export interface NestCost {
  /** To NVVM, which counts before arrays are registers. */
  readonly front: number;
  /** Instructions that ptxas is given: a product that is added is one. */
  readonly assembled: number;
}

/** Of NVVM: the product, the sum, and what they are kept in. */
const MULTIPLY_ADD = 3;
/** Of NVVM: a load and what it is kept in. */
const ACCESS = 2;
/** Of NVVM: the loop's own counter, and the addresses that move with it. */
const BESIDES = 7;

/** Undefined where the body is of another kind: without an inner loop, or with calls, conditions or loops that stay. */
export function nestCost(ctx: Context, body: ast.Statement): NestCost | undefined {
  const inner = innerLoopsOf(body);
  if (inner.length === 0 || !inner.every((each) => isWrittenOutWithin(ctx, each)) || anywhere(body, isOther))
    return undefined;
  const { front, assembled } = costOf(ctx, body);
  return { front: front + BESIDES, assembled };
}

const isOther = ({ kind }: ast.Expression | ast.Statement): boolean =>
  /^(?:call|conditional|if|while|do|rangeFor|switch|asm|lambda|return|break|continue|goto)$/.test(kind);

function costOf(ctx: Context, body: ast.Statement): NestCost {
  let [front, assembled] = [0, 0];
  const add = (cost: NestCost, times: number) => {
    front += cost.front * times;
    assembled += cost.assembled * times;
  };
  anywhere(body, (n) => {
    if (n.kind === 'for') add(costOf(ctx, n.body), plainTrips(ctx, n) ?? 1);
    else if (n.kind === 'index') add(accessCost(ctx, n), 1);
    else if (n.kind === 'assign' && isMultiplyAdd(n)) add({ front: MULTIPLY_ADD - 1, assembled: 0 }, 1);
    else if (n.kind === 'binary' || (n.kind === 'assign' && n.operator !== '=')) add({ front: 1, assembled: 1 }, 1);
    return n.kind === 'for' || n.kind === 'index' ? 'closed' : false;
  });
  return { front, assembled };
}

/** `sum += a * b`, whose product is counted for itself. */
const isMultiplyAdd = ({ operator, right }: ast.AssignExpression): boolean =>
  /^[+-]=$/.test(operator) && right.kind === 'binary' && right.operator === '*';

/** Arrays of the kernel's own are registers. */
function accessCost(ctx: Context, node: ast.Expression): NestCost {
  let base = node;
  while (base.kind === 'index') base = base.base;
  return base.kind === 'name' && !isInMemory(ctx, base) ? { front: 0, assembled: 0 } : { front: ACCESS, assembled: 1 };
}
