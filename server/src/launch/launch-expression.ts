/** What a launch passes: `kernel<<<grid, block, shared>>>(…)`. Those of the runtime's functions are in launch-functions.ts. */
import type { Expression, FunctionDeclaration, LaunchExpression } from '../parse/ast';
import { syntaxKey } from '../parse/syntax-key';
import { evaluateArguments } from './call';
import { convert, decay } from './conversion';
import { createExporter, exportTriple, launchKey, withParameterName } from './export';
import { evaluate } from './expression';
import type { LaunchedKernel } from './found-launch';
import { dim3Type, type HostType, withoutReference } from './host-type';
import type { HostTemplateArgument } from './host-value';
import { fromList, initialised } from './initialise';
import { forgetWritten } from './kernel-effects';
import { lookupQualified } from './lookup';
import { overloadCost } from './overload-cost';
import { bindArguments, resolveType } from './resolve-type';
import { childScope, namespacePath, type Scope, spelledName } from './scope';
import { type HostState, sourceText } from './state';
import { bindParameters, deduceFromCall } from './template-binding';
import { type BoundArgument, type FunctionSymbol, type FunctionValue, number, unknown, type Value } from './value';

export interface Configuration {
  readonly grid: Value;
  readonly block: Value;
  readonly shared: Value;
}

/** Records `kernel<<<…>>>(…)`. */
export function evaluateLaunch(state: HostState, launch: LaunchExpression, scope: Scope): Value {
  const [grid, block, shared] = launch.configuration.map((expression) => dimension(state, expression, scope));
  const configuration: Configuration = {
    grid: grid ?? unknown('the launch gives no grid'),
    block: block ?? unknown('the launch gives no block'),
    shared: shared ?? number(0, 'unsigned long'),
  };
  const kernel = launchedKernel(state, launch.kernel, scope);
  const list = launch.arguments.flatMap((expression): Passed[] =>
    expression.kind === 'initList'
      ? [{ list: expression, value: unknown('a braced list') }]
      : evaluateArguments(state, [expression], scope).map(({ value }) => ({ value })),
  );
  record(state, launch, sourceText(state, launch.kernel), kernel, configuration, list, scope);
  return unknown('a launch gives no value');
}

/** The function a launch starts; one that the unit does not declare keeps its name and template arguments. */
function launchedKernel(state: HostState, expression: Expression, scope: Scope): Value {
  const value = evaluate(state, expression, scope);
  if (value.kind !== 'unknown' || expression.kind !== 'name' || value.uninitialised) return value;
  if (lookupQualified(state, expression.name, scope)) return value;
  const given = expression.name.parts.at(-1)?.templateArguments;
  const templateArguments = given && bindArguments(state, given, scope);
  return { kind: 'function', name: spelledName(expression.name), overloads: [], templateArguments };
}

/** What a launch passes for a parameter. */
export interface Passed {
  readonly value: Value;
  /** a braced list, to be read by the parameter's type */
  readonly list?: Expression & { kind: 'initList' };
}

function dimension(state: HostState, expression: Expression, scope: Scope): Value {
  if (expression.kind === 'initList') return fromList(state, expression, dim3Type, scope);
  return evaluate(state, expression, scope);
}

/** Records the launch once for each kernel that it may start. */
export function record(
  state: HostState,
  place: { readonly first: number; readonly last: number },
  text: string,
  kernel: Value,
  configuration: Configuration,
  list: readonly Passed[],
  scope: Scope,
): void {
  if (!state.recorder) return;
  const candidates = kernel.kind === 'function' ? [kernel, ...(kernel.others ?? [])] : [undefined];
  for (const candidate of candidates) recordOne(state, place, text, candidate, configuration, list, scope);
}

function recordOne(
  state: HostState,
  place: { readonly first: number; readonly last: number },
  text: string,
  kernel: FunctionValue | undefined,
  configuration: Configuration,
  list: readonly Passed[],
  scope: Scope,
): void {
  const exporter = createExporter(state);
  const symbol = kernel && pickKernel(state, kernel, list);
  const bound = symbol && bindKernel(state, symbol, kernel, list);
  const passed = symbol
    ? convertArguments(state, symbol.declaration, list, bound?.scope ?? symbol.scope, scope)
    : plainArguments(state, list, scope);
  const values = passed.map((value, index) =>
    withParameterName(exporter.value(value), symbol?.declaration.parameters[index]),
  );
  const launch = {
    kernel: describe(text, kernel, symbol),
    templateArguments: (bound?.list ?? kernel?.templateArguments ?? []).map((argument) =>
      exporter.templateArgument(argument, namespacePath(scope)),
    ),
    place: { first: place.first, last: place.last },
    inFunction: state.frame.name,
    grid: exportTriple(exporter, launchable(state, configuration.grid)),
    block: exportTriple(exporter, launchable(state, configuration.block)),
    dynamicSharedBytes: exporter.value(configuration.shared),
    arguments: values,
    symbols: new Map([...state.symbols].map(([name, cell]) => [name, exporter.value(cell.value)])),
  };
  const key = launchKey([
    ...launch.grid,
    ...launch.block,
    launch.dynamicSharedBytes,
    ...values,
    ...launch.symbols.values(),
  ]);
  state.recorder?.record(
    {
      ...launch,
      origin: 'launch-site',
      reached: !state.pastExit,
      isFirstOfMany: state.blind > 0,
      asked: new Map(state.asked),
    },
    `${launch.kernel.parts.join('::')}<${templateKey(launch.templateArguments)}>`,
    key,
  );
  forgetWritten(state, symbol?.declaration, passed);
}

/** A dimension may be given by something that converts: a number, a dim3, a struct with x, y, z. */
function launchable(state: HostState, value: Value): Value {
  return value.kind === 'number' ? convert(state, value, { kind: 'arithmetic', name: 'unsigned int' }) : value;
}

function templateKey(list: readonly HostTemplateArgument[]): string {
  return list
    .map((argument) => (argument.kind === 'value' ? launchKey([argument.value]) : syntaxKey(argument.type)))
    .join(',');
}

/** Among overloads the one whose parameters fit; of a template and its specialisations the template, as overloads are chosen first. */
function pickKernel(state: HostState, kernel: FunctionValue, list: readonly Passed[]): FunctionSymbol | undefined {
  const fitting = kernel.overloads.filter(({ declaration }) => {
    const required = declaration.parameters.filter((parameter) => !parameter.default && !parameter.pack).length;
    return (
      list.length >= required &&
      (list.length <= declaration.parameters.length || declaration.parameters.some((parameter) => parameter.pack))
    );
  });
  const pool = fitting.length > 0 ? fitting : kernel.overloads;
  const withBody = pool.filter(({ declaration }) => declaration.body);
  const defined = withBody.length > 0 ? withBody : pool;
  const general = defined.filter(({ declaration }) => declaration.templateParameters?.length !== 0);
  const candidates = general.length > 0 ? general : defined;
  if (candidates.length <= 1) return candidates[0];
  const values = list.map(({ value }) => value);
  const cost = (symbol: FunctionSymbol) => overloadCost(state, symbol, values);
  return candidates.reduce((best, next) => (cost(next) < cost(best) ? next : best));
}

/** Binds the template parameters of a kernel: given, deduced from the arguments, defaulted. */
function bindKernel(
  state: HostState,
  symbol: FunctionSymbol,
  kernel: FunctionValue,
  list: readonly Passed[],
): { readonly scope: Scope; readonly list: readonly BoundArgument[] } | undefined {
  const { declaration } = symbol;
  const parameters = declaration.templateParameters;
  if (!parameters) return undefined;
  const scope = childScope(symbol.scope);
  if (parameters.length === 0) return { scope, list: kernel.templateArguments ?? [] };
  const deduced = deduceFromCall(
    state,
    declaration,
    list.map(({ value }) => decay(value)),
  );
  return { scope, list: bindParameters(state, parameters, kernel.templateArguments ?? [], scope, deduced) };
}

/** Arguments as the kernel's parameters take them, its default arguments included; what braces hold is the caller's. */
function convertArguments(
  state: HostState,
  declaration: FunctionDeclaration,
  list: readonly Passed[],
  scope: Scope,
  caller: Scope,
): Value[] {
  const result: Value[] = [];
  for (const [index, parameter] of declaration.parameters.entries()) {
    if (parameter.pack) return [...result, ...list.slice(index).map(({ value }) => convert(state, value, undefined))];
    const type = withoutReference(resolveType(state, parameter.type, scope));
    const given = list[index];
    if (given?.list) result.push(fromList(state, given.list, type, caller));
    else if (given) result.push(toParameter(state, given.value, type));
    else if (parameter.default) result.push(convert(state, evaluate(state, parameter.default, scope), type));
    else result.push(unknown('the launch does not pass it'));
  }
  const extra = list.slice(declaration.parameters.length);
  return [...result, ...extra.map(({ value }) => convert(state, value, undefined))];
}

function toParameter(state: HostState, value: Value, type: HostType): Value {
  if (type.kind === 'opaque' || type.kind === 'auto') return convert(state, value, undefined);
  return type.kind === 'record' && value.kind === 'unknown'
    ? convert(state, value, undefined)
    : initialised(state, value, type);
}

function plainArguments(state: HostState, list: readonly Passed[], scope: Scope): Value[] {
  return list.map(({ value, list: braced }) =>
    braced ? fromList(state, braced, { kind: 'auto' }, scope) : decay(value),
  );
}

function describe(text: string, kernel: FunctionValue | undefined, symbol: FunctionSymbol | undefined): LaunchedKernel {
  const name = kernel?.name ?? text.replace(/<.*$/s, '').replace(/^[(&*]+|\)+$/g, '');
  const parts = name.split('::');
  return { name: parts.at(-1) ?? name, parts, declaration: symbol?.declaration };
}
