/** Which loops the compiler writes out. */
import type * as ast from '../parse/ast';
import { launchVariables } from './builtins/variables';
import { constantOf } from './constants';
import type { Context } from './context';
import { lookupName } from './lookup';
import { INSTRUCTION_TOKENS, innerLoopsOf, plainTokens, type Size, sizeOf } from './loop-size';
import { type NestCost, nestCost } from './nest-cost';
import { firstPassCost } from './pass-cost';
import { isTooCostly } from './plain-cost';
import { isWrittenInFours, namesIn } from './runtime-unroll';

export type UnrollDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'full'; readonly trips: number }
  /** `byFrontEnd` of the copies are in the PTX already. */
  | { readonly kind: 'partial'; readonly factor: number; readonly byFrontEnd: number };

/**
 * Source tokens of the unrolled body up to which nvcc 13 writes a loop out without being asked: its limit is 400 instructions, but more for what becomes
 * simpler in the copies, as indices do. An instruction of the mathematical library does not.
 */
const FULL_UNROLL_TOKENS = 4000;
const LIBRARY_TOKENS = FULL_UNROLL_TOKENS / 400;
/** The same in kernels that are too large when written out. */
const KEPT_LOOP_TOKENS = 200;
/**
 * What is too large for that is written out in part, eight, four or two times, as far as its passes can be divided and it stays below 200 instructions
 * (PTX of 1,700 loops, nvcc 13.0; a sincospif in eight passes: two times, H200: fft_fourstep.cu:61).
 */
const MOST_IN_PART = 200;
const PARTIAL_UNROLL_TOKENS = MOST_IN_PART * INSTRUCTION_TOKENS;
const PARTIAL_FACTORS = [8, 4, 2];
/**
 * ptxas goes on to four where the body is one block (H200: attention.cu:83, sgemm_ladder.cu:58); functions of the library have branches. It does up to some
 * 70 instructions of its own, two of ours where it multiplies and adds, and up to 95 where four passes are all (machine code of 50 loops, nvcc 13.0, sm_90).
 */
const ASSEMBLER_FACTOR = 4;
const MOST_FOR_ASSEMBLER = 140 * INSTRUCTION_TOKENS;
/** The same where inner loops are written out, in instructions: 53 are, 56 are not. */
const MOST_OF_NEST_FOR_ASSEMBLER = 54;
const MOST_FOR_ALL = 190 * INSTRUCTION_TOKENS;
/**
 * Tokens of the unrolled body where a loop in it stays a loop: NVVM's limit is 400 instructions, of which one is some four tokens. Evidence (nvcc 13.0, PTX of
 * 1,070 small kernels): `for (c = t; c < n; c += blockDim.x) { x += s[c]; }`, 12 instructions with the loop around it, is written out up to 32 times and not
 * 40 times; each `b = b * v + 2` in it or behind it takes two instructions more, up to 20 and not 24 times with three of them, 14 and not 16 with seven.
 * An inner loop that is itself written out in fours has seven copies (four, and a rest of three) and what counts them: `for (c = 0; c < t; c++)` stays in the loop
 * around it from eight passes on; so does `for (c = 0; c < j; c++)`, whose length would be known in every copy (from six on).
 */
const AROUND_LOOP_TOKENS = 1600;
const IN_FOURS = { copies: 7.5, besides: 60 };

/** Instructions of all passes at the first look. */
const MOST_AT_FIRST = 402;
/** The same of what is looked at again after it was written out in fours. */
const MOST_FOR_SECOND_LOOK = 510;
const MOST_IN_FOURS = 36;
/** Fewer passes were not looked at. */
const FEWEST_LARGE = 9;

export function unrollDecision(ctx: Context, node: ast.ForStatement, trips: number | undefined): UnrollDecision {
  if (ctx.unit.isHost) return { kind: 'none' };
  const pragma = node.unroll;
  const factor = pragma === undefined || pragma === 'full' ? undefined : constantOf(ctx, pragma);
  if (factor === 1 || factor === 0) return { kind: 'none' };
  if (trips === undefined) return { kind: 'none' };
  if (trips === 0) return { kind: 'full', trips };
  const size = sizeOf(ctx, node.body);
  const tokens = (size.tokens + size.library * LIBRARY_TOKENS) * trips;
  if (ctx.budget.keepsLoops) return tokens <= KEPT_LOOP_TOKENS ? { kind: 'full', trips } : { kind: 'none' };
  const forced = pragma === 'full' || (factor !== undefined && factor >= trips);
  if (trips <= ctx.budget.unrolledIterations && (forced || (factor === undefined && fitsOut(ctx, node, trips, size))))
    return { kind: 'full', trips };
  if (factor === undefined && stayingLoopsOf(ctx, node).length > 0) return { kind: 'none' };
  const nest = factor === undefined ? nestCost(ctx, node.body) : undefined;
  if (nest) return nestDecision(trips, nest);
  const byFrontEnd = factor ?? partialFactor(trips, size);
  const most = trips / byFrontEnd === ASSEMBLER_FACTOR ? MOST_FOR_ALL : MOST_FOR_ASSEMBLER;
  const goesOn = size.library === 0 && plainTokens(size) * byFrontEnd <= most;
  const copies = factor ?? (goesOn ? Math.max(byFrontEnd, ASSEMBLER_FACTOR) : byFrontEnd);
  return copies > 1 && copies <= 64 && trips % copies === 0
    ? { kind: 'partial', factor: copies, byFrontEnd }
    : { kind: 'none' };
}

/** Of a tile in registers (nest-cost.ts). */
function nestDecision(trips: number, { front, assembled }: NestCost): UnrollDecision {
  const fits = (each: number) => trips % each === 0 && front * each <= MOST_IN_PART;
  const byFrontEnd = PARTIAL_FACTORS.find(fits) ?? 1;
  const goesOn = assembled * byFrontEnd <= MOST_OF_NEST_FOR_ASSEMBLER;
  const further = goesOn && trips % (byFrontEnd * ASSEMBLER_FACTOR) === 0 ? ASSEMBLER_FACTOR : 1;
  const factor = byFrontEnd * further;
  return factor > 1 ? { kind: 'partial', factor, byFrontEnd } : { kind: 'none' };
}

const partialFactor = (trips: number, size: Size): number =>
  PARTIAL_FACTORS.find((each) => trips % each === 0 && plainTokens(size) * each <= PARTIAL_UNROLL_TOKENS) ?? 1;

/** Whether so many copies are made of the body without being asked for. */
function fitsOut(ctx: Context, node: ast.ForStatement, trips: number, size: Size): boolean {
  if ((size.tokens + size.library * LIBRARY_TOKENS) * trips > FULL_UNROLL_TOKENS) return false;
  const counter = counterOf(node.initializer);
  if (counter !== undefined && isTooCostly(ctx, node, counter, trips)) return false;
  if (counter !== undefined && isTooLargeAtFirst(ctx, node, counter, trips)) return false;
  const staying = trips > 1 ? stayingLoopsOf(ctx, node) : [];
  if (staying.length === 0) return true;
  const inFours = staying.filter((inner) => isWrittenInFours(ctx, inner));
  const more = inFours.reduce(
    (sum, { body }) => sum + plainTokens(sizeOf(ctx, body)) * (IN_FOURS.copies - 1) + IN_FOURS.besides,
    0,
  );
  return (plainTokens(size) + more) * trips <= AROUND_LOOP_TOKENS;
}

/**
 * NVVM looks at loops of known length twice: as they are, and what does not fit then once it has written them out in eights and simplified the copies.
 * Where the passes cannot be divided by eight there are fours and twos, with a rest, and no second look but for few passes
 * (PTX of 47 kinds of bodies with 9 to 133 passes each, nvcc 13.0).
 */
function isTooLargeAtFirst(ctx: Context, node: ast.ForStatement, counter: string, trips: number): boolean {
  if (trips % 8 === 0 || trips < FEWEST_LARGE) return false;
  const cost = firstPassCost(ctx, node, counter);
  const isFew = trips % 4 === 0 && trips <= MOST_IN_FOURS;
  return cost !== undefined && cost * trips > (isFew ? MOST_FOR_SECOND_LOOK : MOST_AT_FIRST);
}

/** Loops right in the body whose length is known neither now nor from what the body declares. */
function stayingLoopsOf(ctx: Context, node: ast.ForStatement): readonly ast.ForStatement[] {
  const name = counterOf(node.initializer);
  return innerLoopsOf(node.body).filter(({ initializer, condition, increment }) => {
    if (condition?.kind !== 'binary' || !/^[<>]=?$/.test(condition.operator)) return false;
    const step = increment?.kind === 'assign' ? increment.right : undefined;
    return [startOf(initializer), condition.right, step].some((each) => each !== undefined && isOpen(ctx, each, name));
  });
}

/** The variable that the head of a loop declares, or sets: `int i = 0` or `i = 0`. */
function counterOf(initializer: ast.Statement | undefined): string | undefined {
  if (initializer?.kind === 'expression') {
    const set = initializer.expression?.kind === 'assign' ? initializer.expression.left : undefined;
    return set === undefined ? undefined : namesIn(set).at(0);
  }
  const own = initializer?.kind === 'declaration' ? initializer.declarations[0] : undefined;
  return own?.kind === 'variable' ? own.name : undefined;
}

/** What `int i = 0` or `i = 0` in the head of a loop begins with. */
function startOf(initializer: ast.Statement | undefined): ast.Expression | undefined {
  if (initializer?.kind === 'expression')
    return initializer.expression?.kind === 'assign' ? initializer.expression.right : undefined;
  const first = initializer?.kind === 'declaration' ? initializer.declarations[0] : undefined;
  return first?.kind === 'variable' && first.initializer?.form === 'assign' ? first.initializer.value : undefined;
}

/** Not constant, though all names in it stand for something here; `loopVariable` is that of the loop around. */
function isOpen(ctx: Context, node: ast.Expression, loopVariable: string | undefined): boolean {
  const names = namesIn(node);
  if (loopVariable !== undefined && names.includes(loopVariable)) return true;
  return (
    names.length > 0 &&
    names.every((each) => launchVariables.has(each) || lookupName(ctx, ctx.scope, each)) &&
    constantOf(ctx, node) === undefined
  );
}

/**
 * A loop with a second condition, which may end it earlier: written out where a pragma asks for it, and where it has one iteration
 * (PTX of twelve small kernels, nvcc 13.0: `i < n && k < 4` stays a loop without).
 */
export function guardedDecision(ctx: Context, node: ast.ForStatement, most: number): UnrollDecision {
  const factor = node.unroll === undefined || node.unroll === 'full' ? undefined : constantOf(ctx, node.unroll);
  const isAsked = node.unroll === 'full' || (factor !== undefined && factor >= most);
  const fits = most <= ctx.budget.unrolledIterations && !ctx.budget.keepsLoops;
  return most <= 1 || (isAsked && fits) ? { kind: 'full', trips: most } : { kind: 'none' };
}
