/** Binding of template parameters to arguments: given, deduced from a call, or defaulted. */
import type { FunctionDeclaration, TemplateParameter } from '../parse/ast';
import { convert } from './conversion';
import { deduceType } from './deduction';
import type { HostType } from './host-type';
import { makeCell } from './memory';
import { bindArguments, resolveType } from './resolve-type';
import type { Scope } from './scope';
import type { HostState } from './state';
import { type BoundArgument, type Cell, typeOf, unknown, type Value } from './value';

/** Puts template parameters into a scope; a missing argument takes its default, else stays unknown under its name. */
export function bindParameters(
  state: HostState,
  parameters: readonly TemplateParameter[],
  given: readonly BoundArgument[],
  scope: Scope,
  deduced: ReadonlyMap<string, BoundArgument> = new Map(),
): BoundArgument[] {
  const result: BoundArgument[] = [];
  for (const [index, parameter] of parameters.entries()) {
    if (parameter.pack) {
      const elements = index < given.length ? given.slice(index) : packOf(deduced.get(parameter.name ?? ''));
      bindPack(parameter.name ?? '', elements, scope, parameter.kind);
      result.push(...elements);
      break;
    }
    const argument = given[index] ?? deduced.get(parameter.name ?? '') ?? defaultOf(state, parameter, scope);
    result.push(bindParameter(state, parameter, argument, scope));
  }
  return result;
}

function packOf(argument: BoundArgument | undefined): readonly BoundArgument[] {
  if (!argument) return [];
  return argument.kind === 'pack' ? argument.elements : [argument];
}

function defaultOf(state: HostState, parameter: TemplateParameter, scope: Scope): BoundArgument | undefined {
  return parameter.default && bindArguments(state, [parameter.default], scope)[0];
}

function bindParameter(
  state: HostState,
  parameter: TemplateParameter,
  argument: BoundArgument | undefined,
  scope: Scope,
): BoundArgument {
  const name = parameter.name ?? '';
  if (parameter.kind !== 'value') {
    const type: HostType = (argument && typeOfArgument(argument)) ?? { kind: 'opaque', name };
    if (name) scope.types.set(name, type);
    return { kind: 'type', type };
  }
  const type = parameter.type && resolveType(state, parameter.type, scope);
  const value = argument?.kind === 'value' ? convert(state, argument.value, type) : openValue(state, name, type);
  if (name) scope.values.set(name, makeCell(value, { name, type }));
  return { kind: 'value', value };
}

function typeOfArgument(argument: BoundArgument): HostType | undefined {
  if (argument.kind === 'type') return argument.type;
  return argument.kind === 'value' ? argument.orType : undefined;
}

function openValue(state: HostState, name: string, type: HostType | undefined): Value {
  const assumed = state.assume.get(name);
  if (assumed !== undefined)
    return { kind: 'number', value: assumed, of: type?.kind === 'arithmetic' ? type.name : 'int' };
  return unknown(`template parameter ${name} is open`, { name, roots: [name], type });
}

/** @param kind of the pack's parameter; left out: that of its elements */
export function bindPack(
  name: string,
  elements: readonly BoundArgument[],
  scope: Scope,
  kind: TemplateParameter['kind'] = elements[0]?.kind === 'value' ? 'value' : 'type',
): void {
  if (kind === 'value') {
    const cells = elements.flatMap((element): Cell[] => (element.kind === 'value' ? [makeCell(element.value)] : []));
    scope.values.set(name, makeCell({ kind: 'pack', elements: cells }));
  } else {
    const types = elements.flatMap((element) => typeOfArgument(element) ?? []);
    scope.types.set(name, { kind: 'pack', elements: types });
  }
}

/** What deduction looks at of a function. */
type Deducible = Pick<FunctionDeclaration, 'parameters' | 'templateParameters'>;

/** Deduces template parameters of a function from the values passed. */
export function deduceFromCall(
  state: HostState,
  declaration: Deducible,
  values: readonly Value[],
): Map<string, BoundArgument> {
  const names = new Set((declaration.templateParameters ?? []).map((parameter) => parameter.name ?? ''));
  const bound = new Map<string, BoundArgument>();
  for (const [index, parameter] of declaration.parameters.entries()) {
    if (parameter.pack) {
      // one that others follow is not deduced
      if (index === declaration.parameters.length - 1)
        deducePack(state, parameter.type, values.slice(index), packsOf(declaration), bound);
      break;
    }
    const type = index < values.length ? typeOf(values[index]) : undefined;
    if (type) deduceType(state, parameter.type, type, names, bound);
  }
  return bound;
}

const packsOf = ({ templateParameters = [] }: Deducible): ReadonlySet<string> =>
  new Set(templateParameters.flatMap(({ name, pack }) => (name && pack ? [name] : [])));

/** `Args&&... args` takes the types of all that is left, `const Args*... args` what they point to. */
function deducePack(
  state: HostState,
  pattern: FunctionDeclaration['parameters'][number]['type'],
  rest: readonly Value[],
  packs: ReadonlySet<string>,
  bound: Map<string, BoundArgument>,
): void {
  let node = pattern;
  while (node.kind === 'reference' || node.kind === 'packExpansion')
    node = node.kind === 'reference' ? node.to : node.of;
  const name = node.kind === 'named' ? (node.name.parts.at(-1)?.name ?? '') : '';
  const open: BoundArgument = { kind: 'type', type: { kind: 'auto' } };
  if (packs.has(name)) {
    const elements = rest.map((value): BoundArgument => ({ ...open, type: typeOf(value) ?? { kind: 'auto' } }));
    bound.set(name, { kind: 'pack', elements });
    return;
  }
  const found = rest.map((value) => {
    const inner = new Map<string, BoundArgument>();
    const type = typeOf(value);
    if (type) deduceType(state, node, type, packs, inner);
    return inner;
  });
  for (const each of packs)
    if (found.some((inner) => inner.has(each)))
      bound.set(each, { kind: 'pack', elements: found.map((inner) => inner.get(each) ?? open) });
}

/** Binds what a call gives and what follows from its arguments. */
export function bindTemplate(
  state: HostState,
  declaration: Deducible,
  scope: Scope,
  values: readonly Value[],
  given: readonly BoundArgument[] | undefined,
): void {
  const parameters = declaration.templateParameters;
  if (!parameters || parameters.length === 0) return;
  const deduced = deduceFromCall(state, declaration, values);
  // Parameters of the record around an out-of-class definition are bound already.
  const own = parameters.filter((parameter) => !isBound(symbolScope(scope), parameter.name));
  bindParameters(state, own, given ?? [], scope, deduced);
}

function symbolScope(scope: Scope): Scope | undefined {
  return scope.parent?.parent?.record ? scope.parent : undefined;
}

function isBound(scope: Scope | undefined, name: string | undefined): boolean {
  return scope !== undefined && name !== undefined && (scope.types.has(name) || scope.values.has(name));
}
