/** Found launches, matched to kernels, with their template arguments in the lowering's terms. */

import type { HostTemplateArgument, HostTriple, HostValue } from '../launch/host-value';
import { createContext, type UnitContext } from '../lower/context';
import { lookupName } from '../lower/lookup';
import { argumentKey, instanceKey } from '../lower/records';
import { functionInstance, inScope, resolveNamedType, resolveType } from '../lower/resolve-type';
import type { Scope } from '../lower/scope';
import { deduceArguments } from '../lower/templates';
import { namedTypes, type TemplateValue, type Type, types, unknownType, vectorTypes } from '../lower/types';
import type { TypeNode } from '../parse/ast';
import type { FoundKernel } from './kernels';
import type { LocatedLaunch } from './launch-cache';
import { completedStruct, isOpenArgument, isOpenType } from './struct-types';
import { specialisedArguments } from './template-arguments';

export interface Launch {
  readonly kernel: FoundKernel;
  readonly templateArguments: readonly TemplateValue[];
  readonly place: { readonly first: number; readonly last: number };
  readonly grid: HostTriple;
  readonly block: HostTriple;
  readonly dynamicSharedBytes: HostValue;
  readonly arguments: readonly HostValue[];
  readonly symbols: ReadonlyMap<string, HostValue>;
  /** The first round of a host loop whose length the text does not tell: others may pass other numbers. */
  readonly isFirstOfMany?: boolean;
  /** The plainest run of the program comes here. */
  readonly reached: boolean;
  /** With values under which a way would be taken; no call is known that has them. */
  readonly isSupposed?: true;
  /** Answers of the device that it rests on, by name. */
  readonly asked: ReadonlyMap<string, number>;
  /** The seed that was assumed for random numbers which may have led to what it is given; undefined where the program gives one. */
  readonly seed?: number;
  /** Equal for launches of the same instance of a template. */
  readonly instance: string;
  /** Equal for launches that do the same: arguments by value. */
  readonly key: string;
}

/** Launches of the kernels that are defined in the unit. */
export function matchLaunches(
  unit: UnitContext,
  kernels: readonly FoundKernel[],
  found: readonly LocatedLaunch[],
): Launch[] {
  const byName = new Map<string, FoundKernel[]>();
  for (const kernel of kernels) {
    const list = byName.get(kernel.name);
    if (list) list.push(kernel);
    else byName.set(kernel.name, [kernel]);
  }
  const launches: Launch[] = [];
  for (const launch of found) {
    const candidates = byName.get(launch.kernel.name) ?? [];
    const named =
      candidates.find((k) => k.declaration.first === (launch.kernelFirst ?? launch.kernel.declaration?.first)) ??
      chooseKernel(candidates, launch);
    if (!named) continue;
    const templateArguments = templateArgumentsOf(
      unit,
      isSpecialised(named) ? templateAmong(candidates) : named,
      launch,
    );
    const kernel =
      specialisationFor(unit, candidates, templateArguments) ?? generalFor(candidates, named, templateArguments);
    // what is specialised is one function, with no arguments of its own
    const instance = isSpecialised(kernel) ? '' : instanceKey(templateArguments);
    launches.push({
      kernel,
      templateArguments,
      place: launch.place,
      grid: launch.grid,
      block: launch.block,
      dynamicSharedBytes: launch.dynamicSharedBytes,
      arguments: launch.arguments,
      symbols: launch.symbols,
      isFirstOfMany: launch.isFirstOfMany,
      reached: launch.reached,
      isSupposed: launch.isSupposed,
      asked: launch.asked,
      instance,
      key: [
        instance,
        launch.arguments.map(hostKey).join(','),
        // a device global set to another value is another launch, though its arguments are the same
        [...launch.symbols].map(([name, value]) => `${name}=${hostKey(value)}`).join(','),
      ].join(';'),
    });
  }
  return launches;
}

/** Overloads are told apart by how many arguments they take, and whether they are specialisations. */
function chooseKernel(candidates: readonly FoundKernel[], launch: LocatedLaunch): FoundKernel | undefined {
  const count = launch.arguments.length;
  const fits = candidates.filter((k) => {
    const required = k.declaration.parameters.filter((p) => !p.default && !p.pack).length;
    return (
      count >= required && (count <= k.declaration.parameters.length || k.declaration.parameters.some((p) => p.pack))
    );
  });
  return (
    fits.find((k) => Boolean(k.declaration.templateParameters) === launch.templateArguments.length > 0) ??
    fits[0] ??
    candidates[0]
  );
}

/** `template <> __global__ void k<float>(…)` */
const isSpecialised = ({ declaration }: FoundKernel): boolean => declaration.templateParameters?.length === 0;

const templateAmong = (candidates: readonly FoundKernel[]): FoundKernel | undefined =>
  candidates.find(({ declaration }) => declaration.templateParameters?.length);

/** The kernel that is named, or the template where that is specialised for other arguments: the text names what is declared first. */
function generalFor(
  candidates: readonly FoundKernel[],
  named: FoundKernel,
  wanted: readonly TemplateValue[],
): FoundKernel {
  return isSpecialised(named) && wanted.length > 0 ? (templateAmong(candidates) ?? named) : named;
}

/** The explicit specialisation for just these arguments: `template <> __global__ void k<float>(…)`. */
function specialisationFor(
  unit: UnitContext,
  candidates: readonly FoundKernel[],
  wanted: readonly TemplateValue[],
): FoundKernel | undefined {
  if (wanted.length === 0) return undefined;
  const key = wanted.map(argumentKey).join();
  return candidates.find((kernel) => {
    const own = specialisedArguments(unit, kernel, candidates);
    return own.length > 0 && own.map(argumentKey).join() === key;
  });
}

/** @param kernel undefined where the template has no body here: the arguments are those that are written */
function templateArgumentsOf(
  unit: UnitContext,
  kernel: FoundKernel | undefined,
  launch: LocatedLaunch,
): TemplateValue[] {
  const ctx = scratchOf(unit);
  if (!kernel) return launch.templateArguments.map((a) => templateValue(ctx, unit.scope, a));
  if (!kernel.declaration.templateParameters) return [];
  // a type that the host's text does not name (a lambda's) is deduced from the argument
  const explicit = launch.templateArguments.map((a) => {
    const value = templateValue(ctx, kernel.scope, a);
    return value.kind === 'type' && isOpenArgument(value) ? undefined : value;
  });
  const argumentTypes = launch.arguments.map((a) => typeOfHost(ctx, kernel.scope, a));
  return inScope(ctx, kernel.scope, () =>
    deduceArguments(ctx, kernel.declaration, explicit, argumentTypes, kernel.scope),
  );
}

type Scratch = ReturnType<typeof createContext>;

/** Launches of a unit name the same records and aliases: these are made once, as long as neither they nor what was evaluated for them is much. */
const scratches = new WeakMap<UnitContext, Scratch>();
const MOST_KEPT = 1000;

function scratchOf(unit: UnitContext): Scratch {
  let ctx = scratches.get(unit);
  const isWorn = ctx && (ctx.records.size > MOST_KEPT || ctx.builder.instructionCount > MOST_KEPT);
  if (!ctx || isWorn) scratches.set(unit, (ctx = createContext(unit, 'launch', new Set())));
  ctx.steps = 0;
  return ctx;
}

function templateValue(ctx: Scratch, scope: Scope, argument: HostTemplateArgument): TemplateValue {
  if (argument.kind === 'type')
    return { kind: 'type', type: writtenType(ctx, scope, argument.type, argument.environment) };
  const { value } = argument;
  if (value.kind === 'number')
    return { kind: 'number', value: value.value, type: namedTypes.get(value.type ?? 'int') ?? types.int };
  if (value.kind === 'function') {
    const entity = lookupName(ctx, scope, value.name.split('::').at(-1) ?? value.name);
    return value.templateArguments && entity?.kind === 'functions'
      ? functionInstance(
          entity,
          value.name,
          value.templateArguments.map((a) => templateValue(ctx, scope, a)),
        )
      : { kind: 'name', name: value.name, entity };
  }
  return { kind: 'unknown', reason: value.kind === 'unknown' ? value.reason : 'template argument' };
}

/** A type of the host's text, seen from the namespaces it is written in or from the kernel's place. */
function writtenType(ctx: Scratch, scope: Scope, node: TypeNode, namespaces: readonly string[]): Type {
  const environment = namespaces.reduce<Scope>((s, name) => {
    const entity = s.own(name);
    return entity?.kind === 'namespace' ? entity.scope : s;
  }, ctx.unit.scope);
  const type = resolveType(ctx, node, environment);
  return type.kind === 'unknown' ? resolveType(ctx, node, scope) : type;
}

/** The C++ type of a host value, as far as it is known. */
function typeOfHost(ctx: Scratch, scope: Scope, value: HostValue): Type {
  switch (value.kind) {
    case 'number':
      return typeByName(ctx, scope, value.type ?? 'int');
    case 'pointer':
      return value.elementType
        ? { kind: 'pointer', to: typeByName(ctx, scope, value.elementType) }
        : unknownType('pointer');
    case 'struct':
      return typeOfStruct(ctx, scope, value);
    case 'lambda':
      return {
        kind: 'lambda',
        lambda: value.expression,
        captures: new Map(
          [...value.captures].map(([name, v]) => [name, captureType(ctx, scope, v, value.types.get(name))]),
        ),
      };
    default:
      return unknownType('argument');
  }
}

function typeOfStruct(ctx: Scratch, scope: Scope, { type, instance, fields }: HostValue & { kind: 'struct' }): Type {
  if (!instance) return type ? typeByName(ctx, scope, type) : unknownType('struct');
  const written = writtenType(ctx, scope, instance, []);
  return written.kind === 'record' && isOpenType(written)
    ? completedStruct(ctx, written, fields, (member) => typeOfHost(ctx, scope, member))
    : written;
}

/** As the host's text has it; of a lambda, and of a type that the kernel's place does not know by that name, what its value says. */
function captureType(ctx: Scratch, scope: Scope, value: HostValue, written: TypeNode | undefined): Type {
  const type = written && value.kind !== 'lambda' ? resolveType(ctx, written, scope) : undefined;
  return type && type.kind !== 'unknown' ? type : typeOfHost(ctx, scope, value);
}

function typeByName(ctx: Scratch, scope: Scope, spelled: string): Type {
  const name = spelled.trim();
  if (name.endsWith('*')) return { kind: 'pointer', to: typeByName(ctx, scope, name.slice(0, -1)) };
  if (name.startsWith('const ')) return { ...typeByName(ctx, scope, name.slice(6)), isConst: true };
  const known = namedTypes.get(name) ?? vectorTypes.get(name);
  if (known) return known;
  const last = name.split('::').at(-1) ?? name;
  const entity = /^\w+$/.test(last) ? lookupName(ctx, scope, last) : undefined;
  return (
    (entity && resolveNamedType(ctx, scope, entity, { name: last })) ??
    namedTypes.get(last) ??
    vectorTypes.get(last) ??
    unknownType(`type ${name}`)
  );
}

/** Allocations begin at a multiple of 256 bytes, and the memory model looks at no more of an address than where it lies from there. */
export const byteOfLine = (offsetBytes: number): number => (Number.isFinite(offsetBytes) ? offsetBytes % 256 : 0);

function hostKey(value: HostValue): string {
  switch (value.kind) {
    case 'number':
      return String(value.value);
    case 'pointer':
      return `p+${byteOfLine(value.offsetBytes)}`;
    case 'struct':
      return `{${[...value.fields].map(([n, v]) => `${n}:${hostKey(v)}`).join(',')}}`;
    case 'array':
      return `[${value.elements.slice(0, 4096).map(hostKey).join(',')}]`;
    case 'lambda':
      return `\\{${[...value.captures].map(([n, v]) => `${n}:${hostKey(v)}`).join(',')}}`;
    case 'unknown':
      return `?${value.name ?? ''}`;
    default:
      return value.kind;
  }
}
