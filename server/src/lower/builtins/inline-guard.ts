/**
 * Accesses of inline assembly under a guard: `setp.ne.b32 p, %0, 0; @p cp.async.cg.shared.global [%1], [%2], 16;`. Lanes where it does not hold take
 * no part, as behind a branch; what a load would have written keeps what was moved there before.
 */
import type { AsmStatement, Node } from '../../parse/ast';
import type { Register, ScalarType } from '../../program/program';
import { opposite, ptxComparisons } from '../../ptx/comparisons';
import { type Context, placeOf } from '../context';
import type { Value } from '../values';

/** Emits what it is given: as it is, or behind a branch. */
export type Guarded = (emit: () => void) => void;

/** A guard: the condition under which the access is made; undefined where there is none. */
export type Guard = Register | undefined;

const guarded = /@(!?)%?(\w+)\s+(?:cp\.async\.c[ag]|ld|st|atom|red)\./;

const bitTypes: Readonly<Record<string, ScalarType>> = {
  b32: 'u32',
  u32: 'u32',
  s32: 'i32',
  b64: 'u64',
  u64: 'u64',
  s64: 'i64',
};

/** @param given the values of the statement's operands by number; undefined for outputs that are not read */
export function guardOf(ctx: Context, text: string, given: readonly (Value | undefined)[]): Guard {
  const b = ctx.builder;
  const found = guarded.exec(text);
  if (!found) return undefined;
  const [, not, name] = found;
  const set = new RegExp(
    `\\bsetp\\.(\\w+)\\.(\\w+)\\s+%?${name}\\s*,\\s*(%\\d+|-?\\d+)\\s*,\\s*(%\\d+|-?\\d+)\\s*;`,
  ).exec(text);
  const fn = set && ptxComparisons[set[1]];
  const type = set && bitTypes[set[2]];
  if (!fn || !type) return b.unknown('pred', 'guard of inline assembly');
  const [left, right] = [set[3], set[4]].map((operand) => operandOf(ctx, type, operand, given));
  return b.compare(not === '' ? fn : opposite[fn], type, left, right);
}

/** `%2` or a number */
function operandOf(ctx: Context, type: ScalarType, written: string, given: readonly (Value | undefined)[]): Register {
  const b = ctx.builder;
  if (!written.startsWith('%')) return b.constant(type, Number(written));
  const value = given[Number(written.slice(1))];
  if (value?.kind !== 'scalar') return b.unknown(type, 'operand of inline assembly');
  return b.convert(b.typeOf(value.register), type, value.register);
}

/** Makes what is emitted as behind a predicate of the instruction. */
export function behindGuard(ctx: Context, node: Node, guard: Guard): Guarded {
  const b = ctx.builder;
  const constant = guard === undefined ? 1 : b.constantValue(guard);
  if (guard === undefined || constant !== undefined) return (emit) => constant !== 0 && emit();
  return (emit) => {
    const [on, join] = [b.newBlock(), b.newBlock()];
    b.branch(guard, on, join, { place: placeOf(ctx, node), kind: 'conditional', isGuard: true });
    b.use(on);
    b.enterRegion();
    emit();
    b.jump(join);
    b.leaveRegion();
    b.use(join);
  };
}

/** A statement with its operands' values by number; of outputs only those that are read. */
export interface Written {
  readonly node: AsmStatement;
  readonly text: string;
  readonly given: readonly (Value | undefined)[];
}

/**
 * What is read into outputs under a guard. @param outputs their numbers
 * @param emit reads into registers
 */
export function readBehind(
  ctx: Context,
  { node, text, given }: Written,
  type: ScalarType,
  outputs: readonly number[],
  emit: (dst: Register[]) => void,
): readonly Register[] {
  const b = ctx.builder;
  const guard = guardOf(ctx, text, given);
  const dst = outputs.map(() => b.register(type, 'temporary'));
  if (guard === undefined || b.constantValue(guard) === 1) {
    emit(dst);
    return dst;
  }
  const held = outputs.map((output) => {
    const variable = b.variable(type);
    b.move(variable, keptValue(ctx, text, type, output, given));
    return variable;
  });
  behindGuard(
    ctx,
    node,
    guard,
  )(() => {
    emit(dst);
    held.forEach((variable, k) => {
      b.move(variable, dst[k]);
    });
  });
  return held.map((variable) => {
    const copy = b.register(type, 'temporary');
    b.emit({ op: 'unary', fn: 'mov', type, dst: copy, a: variable });
    return copy;
  });
}

/** What an output holds where the guard keeps a lane from reading: `mov.b32 %0, %5;` before the load. */
function keptValue(
  ctx: Context,
  text: string,
  type: ScalarType,
  output: number,
  given: readonly (Value | undefined)[],
): Register {
  const moved = new RegExp(`\\bmov\\.\\w+\\s+%${output}\\s*,\\s*(%\\d+|-?\\d+)\\s*;`).exec(text);
  return operandOf(ctx, type, moved?.[1] ?? `%${output}`, given);
}
