/** Entry of the lowering: one kernel, instantiated with template arguments, becomes a program. */
import type { DeviceProperties } from '../hardware/device-properties';
import { type ConstantUnit, prepareConstants } from '../launch/constant';
import type { FunctionDeclaration, Parameter, Statement, TranslationUnit } from '../parse/ast';
import type { TokenStream } from '../preprocess/token';
import type { Program } from '../program/program';
import { inlineBody } from './calls';
import { type Context, createContext, defaultBudget, type LoweringBudget, placeOf, type UnitContext } from './context';
import { libraryScope } from './library/library';
import { FEW_OWN_CALLS } from './own-calls';
import { expandTypes } from './packs';
import { parameterObject } from './parameters';
import { resolveType } from './resolve-type';
import { declareAll, Scope } from './scope';
import { bindTemplateParameters } from './templates';
import type { TemplateValue } from './types';
import type { Value } from './values';

/** Names of a unit, shared by the lowering of all its kernels. */
export function createUnitContext(unit: TranslationUnit, tokens: TokenStream): UnitContext {
  const scope = new Scope(libraryScope(tokens), '');
  declareAll(scope, unit.declarations);
  let constants: ConstantUnit | undefined;
  return {
    tokens,
    scope,
    missingLibrary: missingLibrary(tokens, scope),
    sharedGranule: sharedGranule(tokens),
    constants: () => (constants ??= prepareConstants(unit)),
  };
}

/** The same for the program of the host. */
export function createHostContext(
  unit: TranslationUnit,
  tokens: TokenStream,
  device?: DeviceProperties,
  programArguments?: readonly string[],
): UnitContext {
  const scope = new Scope(libraryScope(tokens, true), '');
  declareAll(scope, unit.declarations);
  let constants: ConstantUnit | undefined;
  return {
    tokens,
    scope,
    isHost: true,
    device,
    programArguments,
    sharedGranule: 1,
    constants: () => (constants ??= prepareConstants(unit)),
  };
}

/** nvcc gives every `extern __shared__` array an alignment of 16 bytes or of what it declares. */
const DYNAMIC_ALIGNMENT = 16;
/** Tokens of `extern __shared__ __align__(32)` that are looked at. */
const DECLARATION_HEAD = 8;

/**
 * Dynamic shared memory begins behind the static, on its own alignment, and ptxas rounds the static memory of every kernel of
 * a module up to the largest alignment of the module's dynamic arrays, whether the kernel uses one or not (CUDA 13.0, sm_90:
 * 4 bytes become 16 beside `extern __shared__ float p[]`, 32 beside one with `__align__(32)`).
 */
function sharedGranule(tokens: TokenStream): number {
  let granule = 1;
  for (let at = tokens.text.indexOf('extern'); at >= 0; at = tokens.text.indexOf('extern', at + 1)) {
    // `__shared__ extern float p[]` is the same
    const before = tokens.text.slice(Math.max(0, at - DECLARATION_HEAD), at);
    const start = before.findLastIndex((word) => word === ';' || word === '{' || word === '}') + 1;
    const head = [...before.slice(start), ...tokens.text.slice(at, at + DECLARATION_HEAD)];
    if (!head.includes('__shared__')) continue;
    const aligned = head.findIndex((word) => word === '__align__' || word === 'alignas');
    const declared = aligned < 0 ? Number.NaN : Number(head[aligned + 2]);
    granule = Math.max(granule, DYNAMIC_ALIGNMENT, Number.isInteger(declared) ? declared : 1);
  }
  return granule;
}

/** CUTLASS is too large to know in our own words: that it is missing is said once, not for each of its functions. */
function missingLibrary(tokens: TokenStream, scope: Scope): string | undefined {
  const uses = ['cute', 'cutlass'].filter((name) => !scope.own(name) && tokens.text.includes(name));
  return uses.length > 0 ? 'CUTLASS' : undefined;
}

/** A scalar parameter (or leaf of one) of a kernel, as an input of the program wants it. */
export interface KernelInstance {
  readonly declaration: FunctionDeclaration;
  /** The scope the kernel is declared in. */
  readonly scope: Scope;
  readonly templateArguments: readonly TemplateValue[];
}

/** A kernel of which less than this part is written out by loops is as good as it was with its loops kept: neither fits. */
const LEAST_COPIED = 1 / 4;

/** How often a kernel is lowered because local arrays turned out to need memory. */
const MAX_TRIES = 5;
/** Those of them that end soon behind a demand: many that each go a little further would cost more than one that finds all others. */
const TRIALS = 2;

/** Lowers a kernel. Never throws: what is not understood is in `skipped` and makes values unknown. */
export function lowerKernel(
  unit: UnitContext,
  kernel: KernelInstance,
  budget: LoweringBudget = defaultBudget,
): Program {
  const first = lowerTries(unit, kernel, { ...budget, foresees: true });
  if (first.isCut && first.callsItself && budget.ownCalls === undefined) {
    const shallow = lowerKernel(unit, kernel, { ...budget, ownCalls: FEW_OWN_CALLS });
    return { ...shallow, effort: first.effort + (shallow.effort ?? 0) };
  }
  if (!first.isCut || first.isSpent) return { ...first.program, effort: first.effort };
  // what fills the budget without copies will not fit with its loops either; charged as the try that is left out, or the kernels behind it in the
  // file would have so much more, and as little would come of it
  if (!first.isForeseen && !first.isDemanding && first.copied < budget.instructions * LEAST_COPIED)
    return { ...first.program, effort: 2 * first.effort };
  // written out it is too large: with its loops it may fit
  const looped = lowerTries(unit, kernel, { ...budget, foresees: true, keepsLoops: true });
  if (!looped.isCut) return { ...looped.program, effort: first.effort + looped.effort };
  const isWhole = !first.isForeseen && !first.isDemanding;
  const whole = isWhole ? first : lowerTries(unit, kernel, budget, first.inMemory);
  return { ...whole.program, effort: first.effort + looped.effort + (isWhole ? 0 : whole.effort) };
}

/** Passes look at blocks as well as at instructions: kernels with many short ones take longer. */
const PER_BLOCK = 4;

const effortOf = ({ blocks }: Program): number =>
  blocks.reduce((sum, block) => sum + block.instructions.length + PER_BLOCK, 0);

interface Lowered {
  readonly program: Program;
  /** A local array must live in memory: another try is due. */
  readonly isDemanding: boolean;
  /** The instructions of the budget did not suffice, or (isSpent) the steps did not, which has other causes than long loops. */
  readonly isCut: boolean;
  readonly isSpent: boolean;
  /** That they would not was clear before, and the program ends there. */
  readonly isForeseen: boolean;
  /** A function calls itself, which may be what it has no room for. */
  readonly callsItself: boolean;
  /** Instructions that loops have because they are written out. */
  readonly copied: number;
  /** Its only loop is two: it is lowered anew. */
  readonly isSplit: boolean;
}

interface Tried extends Lowered {
  /** Of this try and those before it. */
  readonly effort: number;
  /** Local arrays in memory, by key. */
  readonly inMemory: Set<string>;
}

/**
 * Tries until no local array asks for memory; one that is to foresee it also ends where the budget does not suffice.
 * @param inMemory arrays that are known to need memory
 */
function lowerTries(
  unit: UnitContext,
  kernel: KernelInstance,
  budget: LoweringBudget,
  inMemory = new Set<string>(),
): Tried {
  let effort = 0;
  for (let count = 1; ; count++) {
    const isTrial = count <= TRIALS;
    let lowered = lowerOnce(unit, kernel, inMemory, { ...budget, isTrial });
    effort += effortOf(lowered.program);
    if (lowered.isSplit && !lowered.isDemanding) {
      lowered = lowerOnce(unit, kernel, inMemory, { ...budget, isTrial, splitsLoop: true });
      effort += effortOf(lowered.program);
    }
    const isCut = lowered.isCut && !lowered.isSpent && budget.foresees === true;
    if (count === MAX_TRIES || isCut || !lowered.isDemanding) return { ...lowered, effort, inMemory };
  }
}

/** A pack takes the place of as many arguments of the launch as it has elements. */
function parameterValue(
  ctx: Context,
  parameter: Parameter,
  index: number,
  scope: Scope,
  body: Statement | undefined,
): Value {
  if (!parameter.pack) return parameterObject(ctx, parameter, index, resolveType(ctx, parameter.type, scope), body);
  const elements = (expandTypes(ctx, parameter.type, scope) ?? []).map((type, i) =>
    parameterObject(ctx, { ...parameter, name: `${parameter.name}#${i}` }, index + i, type, undefined),
  );
  return { kind: 'pack', type: { kind: 'void' }, elements };
}

function lowerOnce(unit: UnitContext, kernel: KernelInstance, inMemory: Set<string>, budget: LoweringBudget): Lowered {
  const { declaration } = kernel;
  const name = declaration.name.parts.at(-1)?.name ?? 'kernel';
  const ctx = createContext(unit, name, inMemory, budget);
  const scope = new Scope(kernel.scope, name);
  ctx.scope = scope;
  if (declaration.templateParameters)
    bindTemplateParameters(ctx, scope, declaration.templateParameters, kernel.templateArguments);
  let index = 0;
  for (const parameter of declaration.parameters) {
    const value = parameterValue(ctx, parameter, index, scope, declaration.body);
    index += value.kind === 'pack' ? value.elements.length : 1;
    if (parameter.name) scope.define(parameter.name, { kind: 'value', value });
  }
  if (declaration.body) inlineBody(ctx, declaration.body, new Scope(scope, 'body'), { kind: 'void' }, declaration);
  ctx.builder.exit();
  const isSpent = ctx.steps > budget.steps;
  // a trial that ends behind a demand has not used up what it may have
  const isCut = ctx.isForeseen || isSpent || ctx.builder.instructionCount >= budget.instructions;
  if (isCut)
    ctx.builder.skipped.push({
      place: placeOf(ctx, declaration),
      reason: `the kernel is too large: only its first ${budget.instructions} instructions are simulated`,
    });
  return {
    program: { ...ctx.builder.finish(), sharedGranule: unit.sharedGranule },
    isDemanding: ctx.demanded,
    isCut,
    isSpent,
    isForeseen: ctx.isForeseen,
    callsItself: ctx.callsItself,
    copied: ctx.copied,
    isSplit: ctx.loops.hasSplit && ctx.loops.atRunTime === 1,
  };
}
