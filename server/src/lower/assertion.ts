/**
 * `assert(c)`: a branch to a call that comes back as far as NVVM knows, so that behind it memory may be another. Evidence: PTX of 6 small kernels, nvcc 13.0
 * (`assert(p[i] > 0); q[i] = p[i]` loads twice, of `assert(p[i] < n && q[i] > 3)` the second load is made where the first part holds).
 */
import type * as ast from '../parse/ast';
import { type Context, placeOf } from './context';
import { toPredicate } from './conversions';
import { expression } from './expressions';
import { emitFence } from './fences';
import { rvalue } from './places';
import { types } from './types';
import type { Value } from './values';

export function assertion(ctx: Context, node: ast.CallExpression): Value {
  const nothing: Value = { kind: 'void', type: types.void };
  const [asked] = node.arguments;
  if (asked === undefined) return nothing;
  const b = ctx.builder;
  const condition = toPredicate(ctx, rvalue(ctx, expression(ctx, asked), asked), asked);
  if (b.constantValue(condition) === 1) return nothing;
  const [failed, join] = [b.newBlock(), b.newBlock()];
  b.branch(condition, join, failed, { place: placeOf(ctx, node), kind: 'conditional' });
  b.use(failed);
  b.enterRegion();
  emitFence(ctx, 'call');
  b.jump(join);
  b.leaveRegion();
  b.use(join);
  return nothing;
}
