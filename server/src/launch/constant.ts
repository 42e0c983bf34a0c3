/** Constant expressions outside of a run: for `__launch_bounds__`, and for the lowering's constexpr functions and tables. */
import type { Expression, FunctionDeclaration, TranslationUnit, TypeNode } from '../parse/ast';
import { arithmeticTypes } from './arithmetic';
import { convert } from './conversion';
import { createExporter } from './export';
import { evaluate } from './expression';
import { runBody } from './function-call';
import type { HostValue } from './host-value';
import { makeCell } from './memory';
import { resolveType } from './resolve-type';
import { childScope, type HostIndex, indexUnit, type Scope } from './scope';
import { createState, type HostState } from './state';
import { number, unknown, type Value } from './value';

/** What names mean in a constant expression. */
export interface ConstantScope {
  /** Declarations of the unit: constants, enumerators, constexpr functions. */
  readonly unit: ConstantUnit;
  /** Values by plain name, tried before the unit: template arguments, locals. */
  readonly values?: ReadonlyMap<string, HostValue>;
  /** Types by plain name: template type arguments. */
  readonly types?: ReadonlyMap<string, TypeNode>;
  /** Namespaces around the expression, outermost first. */
  readonly namespaces?: readonly string[];
}

/** A unit prepared for constant expressions. */
export interface ConstantUnit {
  readonly index: HostIndex;
}

/** Steps one constant expression may take. */
const constantSteps = 20_000;

/** Prepares a unit once; the expressions follow. */
export function prepareConstants(unit: TranslationUnit): ConstantUnit {
  return { index: indexUnit(unit.declarations) };
}

/** Evaluates an expression; unknown with a reason where a value is not constant. Never throws. */
export function evaluateConstant(expression: Expression, scope: ConstantScope): HostValue {
  const state = createState(scope.unit.index, { steps: constantSteps });
  return createExporter(state).value(evaluate(state, expression, localScope(state, scope)));
}

/** A constexpr function of numbers, run: loops and recursion fold only here. Undefined where that is not to be had. */
export function evaluateConstexpr(
  { index }: ConstantUnit,
  declaration: FunctionDeclaration,
  passed: readonly HostValue[],
  values: ReadonlyMap<string, HostValue>,
): number | undefined {
  const entry = index.functions.find((each) => each.declaration === declaration);
  if (!entry) return undefined;
  const state = createState(index, { steps: constantSteps });
  const scope = childScope(entry.scope);
  for (const [name, value] of values) scope.values.set(name, makeCell(imported(value), { name }));
  for (const [i, { name, type }] of declaration.parameters.entries()) {
    if (!name || !passed[i]) return undefined;
    const declared = resolveType(state, type, scope);
    scope.values.set(name, makeCell(convert(state, imported(passed[i]), declared), { type: declared, name }));
  }
  const result = runBody(state, declaration, scope, false);
  return result.kind === 'number' && state.steps > 0 ? result.value : undefined;
}

function localScope(state: HostState, scope: ConstantScope): Scope {
  let parent = state.index.root;
  for (const name of scope.namespaces ?? []) {
    const symbol = parent.symbols?.get(name)?.find((candidate) => candidate.kind === 'namespace');
    if (symbol?.kind === 'namespace') parent = symbol.scope;
  }
  const local = childScope(parent);
  for (const [name, value] of scope.values ?? []) local.values.set(name, makeCell(imported(value), { name }));
  for (const [name, type] of scope.types ?? []) local.types.set(name, resolveType(state, type, parent));
  return local;
}

function imported(value: HostValue): Value {
  if (value.kind === 'number') return number(value.value, builtinName(value.type));
  if (value.kind === 'string') return value;
  return unknown(value.kind === 'unknown' ? value.reason : `a ${value.kind}`, {
    name: value.kind === 'unknown' ? value.name : undefined,
  });
}

function builtinName(type: string | undefined): Parameters<typeof number>[1] {
  return type && type in arithmeticTypes ? (type as Parameters<typeof number>[1]) : 'int';
}

export interface LaunchBounds {
  /** Threads a block has at most. */
  readonly maxThreads?: number;
  /** Blocks a multiprocessor should hold at least. */
  readonly minBlocks?: number;
  readonly maxBlocksPerCluster?: number;
}

/** `__launch_bounds__` of a kernel; undefined when it has none. A bound that is not constant is left out. */
export function launchBounds(kernel: FunctionDeclaration, scope?: ConstantScope): LaunchBounds | undefined {
  const bounds = kernel.specifiers.launchBounds;
  if (!bounds) return undefined;
  const used: ConstantScope = scope ?? { unit: { index: indexUnit([]) } };
  const [maxThreads, minBlocks, maxBlocksPerCluster] = bounds.map((bound) => {
    const value = evaluateConstant(bound, used);
    return value.kind === 'number' && value.value > 0 ? value.value : undefined;
  });
  return { maxThreads, minBlocks, maxBlocksPerCluster };
}
