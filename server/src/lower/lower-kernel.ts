/** Entry of the lowering: one kernel, instantiated with template arguments, becomes a program. */
import type { DeviceProperties } from '../hardware/device-properties';
import { type ConstantUnit, prepareConstants } from '../launch/constant';
import type { FunctionDeclaration, Parameter, TranslationUnit } from '../parse/ast';
import type { TokenStream } from '../preprocess/token';
import type { Program } from '../program/program';
import { inlineBody } from './calls';
import { type Context, createContext, defaultBudget, type LoweringBudget, placeOf, type UnitContext } from './context';
import { libraryScope } from './library/library';
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
export function createHostContext(unit: TranslationUnit, tokens: TokenStream, device?: DeviceProperties): UnitContext {
  const scope = new Scope(libraryScope(tokens, true), '');
  declareAll(scope, unit.declarations);
  let constants: ConstantUnit | undefined;
  return {
    tokens,
    scope,
    isHost: true,
    device,
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
    const head = tokens.text.slice(at, at + DECLARATION_HEAD);
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

/** How often a kernel is lowered again because a local array turned out to need memory. */
const MAX_TRIES = 4;

/** Lowers a kernel. Never throws: what is not understood is in `skipped` and makes values unknown. */
export function lowerKernel(
  unit: UnitContext,
  kernel: KernelInstance,
  budget: LoweringBudget = defaultBudget,
): Program {
  const inMemory = new Set<string>();
  const first = tried(lowerOnce(unit, kernel, inMemory, budget));
  if (!first.isCut || first.isSpent) {
    const whole = lowerTries(unit, kernel, inMemory, budget, first);
    return { ...whole.program, effort: whole.effort };
  }
  // written out it is too large: with its loops it may fit
  const kept = { ...budget, keepsLoops: true };
  const inMemoryThen = new Set<string>();
  const looped = lowerTries(unit, kernel, inMemoryThen, kept, tried(lowerOnce(unit, kernel, inMemoryThen, kept)));
  if (!looped.isCut) return { ...looped.program, effort: first.effort + looped.effort };
  const whole = lowerTries(unit, kernel, inMemory, budget, first);
  return { ...whole.program, effort: whole.effort + looped.effort };
}

/** Passes look at blocks as well as at instructions: kernels with many short ones take longer. */
const PER_BLOCK = 4;

const effortOf = ({ blocks }: Program): number =>
  blocks.reduce((sum, block) => sum + block.instructions.length + PER_BLOCK, 0);

interface Lowered {
  readonly program: Program;
  /** A local array must live in memory: another try is due. */
  readonly demanded: boolean;
  /** The instructions of the budget did not suffice, or (isSpent) the steps did not, which has other causes than long loops. */
  readonly isCut: boolean;
  readonly isSpent: boolean;
}

interface Tried extends Lowered {
  /** Of this try and those before it. */
  readonly effort: number;
}

const tried = (lowered: Lowered, before = 0): Tried => ({ ...lowered, effort: before + effortOf(lowered.program) });

/** Further tries behind a first one, until no local array asks for memory. */
function lowerTries(
  unit: UnitContext,
  kernel: KernelInstance,
  inMemory: Set<string>,
  budget: LoweringBudget,
  first: Tried,
): Tried {
  let last = first;
  for (let i = 1; i < MAX_TRIES && last.demanded; i++)
    last = tried(lowerOnce(unit, kernel, inMemory, budget), last.effort);
  return last;
}

/** A pack takes the place of as many arguments of the launch as it has elements. */
function parameterValue(ctx: Context, parameter: Parameter, index: number, scope: Scope): Value {
  if (!parameter.pack) return parameterObject(ctx, parameter, index, resolveType(ctx, parameter.type, scope));
  const elements = (expandTypes(ctx, parameter.type, scope) ?? []).map((type, i) =>
    parameterObject(ctx, { ...parameter, name: `${parameter.name}#${i}` }, index + i, type),
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
  declaration.parameters.forEach((parameter, index) => {
    if (parameter.name)
      scope.define(parameter.name, { kind: 'value', value: parameterValue(ctx, parameter, index, scope) });
  });
  if (declaration.body) inlineBody(ctx, declaration.body, new Scope(scope, 'body'), { kind: 'void' }, declaration);
  ctx.builder.exit();
  if (ctx.builder.overBudget)
    ctx.builder.skipped.push({
      place: placeOf(ctx, declaration),
      reason: `the kernel is too large: only its first ${budget.instructions} instructions are simulated`,
    });
  return {
    program: { ...ctx.builder.finish(), sharedGranule: unit.sharedGranule },
    demanded: ctx.demanded,
    isCut: ctx.builder.overBudget,
    isSpent: ctx.steps > budget.steps,
  };
}
