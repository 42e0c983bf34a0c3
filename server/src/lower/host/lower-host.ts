/** Entry of the lowering of the host: `main` and all that it calls become a program for one lane. */
import type { FunctionDeclaration, RecordDeclaration, VariableDeclaration } from '../../parse/ast';
import type { Program, Register } from '../../program/program';
import { inlineBody } from '../calls';
import { type Context, createContext, type LoweringBudget, type UnitContext } from '../context';
import { globalValue } from '../globals';
import type { KernelInstance } from '../lower-kernel';
import { assign, writeStorage } from '../places';
import { recordOf } from '../records';
import { resolveNamedType } from '../resolve-type';
import { type Entity, Scope } from '../scope';
import { stringAddress } from '../strings';
import { type Type, types } from '../types';
import { unknownValue, type Value } from '../values';
import { allocateStorage, initialiseInMemory } from '../variables';
import { freshObject } from './memory';
import { numberTable } from './number-tables';
import { newRecursion } from './recursion';

/** How often main is lowered again because variables turned out to need memory. */
const MAX_TRIES = 8;

export interface LoweredHost {
  readonly program: Program;
  /** By index into its launches: the kernel's instance, where it is one of the unit. */
  readonly launched: readonly (KernelInstance | undefined)[];
}

/** Lowers the program of a unit, run without arguments. Never throws. */
export function lowerHost(
  unit: UnitContext,
  main: FunctionDeclaration,
  budget: LoweringBudget,
): LoweredHost | undefined {
  const inMemory = new Set<string>();
  const { wanted, refused } = newRecursion();
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const recursive = wanted.size;
    const ctx = createContext(unit, 'main', inMemory, budget, newRecursion(wanted, refused));
    lowerMain(ctx, main);
    const isTooLarge = ctx.builder.overBudget || ctx.steps > budget.steps;
    if (budget.cancelled?.()) return undefined;
    // a recursion takes less room as a part of its own
    if (isTooLarge && wanted.size === recursive) return undefined;
    if (ctx.demanded || isTooLarge) continue;
    const { functions } = ctx.recursion;
    return { program: { ...ctx.builder.finish(), launches: ctx.launches, functions }, launched: ctx.launched };
  }
  return undefined;
}

function lowerMain(ctx: Context, main: FunctionDeclaration): void {
  initialiseGlobals(ctx, ctx.unit.scope, 0);
  const scope = new Scope(ctx.unit.scope, 'main');
  ctx.scope = scope;
  main.parameters.forEach((parameter, index) => {
    if (parameter.name)
      scope.define(parameter.name, { kind: 'value', value: argumentOfMain(ctx, index, parameter.name) });
  });
  if (main.body) inlineBody(ctx, main.body, new Scope(scope, 'body'), types.int, main);
  ctx.builder.exit();
}

const text: Type = { kind: 'pointer', to: types.char };

/** Where nobody tells what the program is started with argc is 1, and what argv holds behind the program's name is not known. */
function argumentOfMain(ctx: Context, index: number, name: string): Value {
  const type: Type = index === 0 ? types.int : { kind: 'pointer', to: text };
  const storage = allocateStorage(ctx, type, name);
  const { programArguments: given } = ctx.unit;
  const value: Value =
    index === 0
      ? { kind: 'scalar', type, register: ctx.builder.constant('i32', 1 + (given?.length ?? 0)) }
      : index === 1
        ? { kind: 'scalar', type, register: textsInMemory(ctx, ['program', ...(given ?? [])], given === undefined) }
        : unknownValue(type, 'arguments of the program');
  writeStorage(ctx, storage, value, { first: 0, last: 0 });
  return { kind: 'place', type, place: { kind: 'storage', storage } };
}

/** Pointers that are not known behind argv[0]. */
const UNKNOWN_ARGUMENTS = 64;

/** The address of pointers to texts, with a null pointer behind them, or more of which nobody knows where they lead. */
function textsInMemory(ctx: Context, texts: readonly string[], isOpen: boolean): Register {
  const node = { first: 0, last: 0 };
  const home = freshObject(ctx, text, 8 * (texts.length + (isOpen ? UNKNOWN_ARGUMENTS : 1)), node);
  texts.forEach((value, k) => {
    const register = stringAddress(ctx, { ...node, kind: 'string', value });
    assign(ctx, { ...home, offset: home.offset + 8 * k }, text, { kind: 'scalar', type: text, register }, node);
  });
  if (isOpen) return home.address;
  const none: Value = { kind: 'scalar', type: text, register: ctx.builder.constant('i64', 0) };
  assign(ctx, { ...home, offset: home.offset + 8 * texts.length }, text, none, node);
  return home.address;
}

/** Variables at namespace scope get their values before main begins. */
function initialiseGlobals(ctx: Context, scope: Scope, depth: number): void {
  // namespaces without a name are no entities; what stands behind them may rest on theirs
  for (const used of scope.using) if (used.label === '' && depth < 8) initialiseGlobals(ctx, used, depth + 1);
  for (const [name, entity] of scope.entries()) {
    const members = entity.kind === 'namespace' ? entity.scope : classWithStatics(ctx, scope, name, entity);
    if (members && depth < 8) initialiseGlobals(ctx, members, depth + 1);
    if (entity.kind !== 'global' || entity.specialisations || entity.declaration.specifiers.isShared) continue;
    const { declaration } = entity;
    if (scope.recordType && !declaration.specifiers.isStatic && !declaration.scope) continue;
    const place = globalValue(ctx, entity, declaration);
    if (place.kind !== 'place' || place.place.kind !== 'memory') continue;
    const { object } = place.place;
    const begins = object === undefined ? undefined : numberTable(place.type, declaration.initializer);
    if (object !== undefined && begins) {
      ctx.builder.objects[object] = { ...ctx.builder.objects[object], begins };
      continue;
    }
    const saved = ctx.scope;
    ctx.scope = entity.scope;
    initialiseInMemory(ctx, place.place, place.type, declaration.initializer, declaration);
    ctx.scope = saved;
  }
}

/** The scope of a class that has variables of its own; of templates only instances have some. */
function classWithStatics(ctx: Context, scope: Scope, name: string, entity: Entity): Scope | undefined {
  if (entity.kind !== 'record' || entity.declarations.some((d) => d.templateParameters)) return undefined;
  if (!entity.declarations.some(hasStatics)) return undefined;
  const type = resolveNamedType(ctx, scope, entity, { name });
  return type && recordOf(type)?.scope;
}

const hasStatics = ({ members = [] }: RecordDeclaration): boolean =>
  members.some((m) => (m.kind === 'record' ? hasStatics(m) : m.kind === 'variable' && isStaticVariable(m)));

const isStaticVariable = ({ specifiers }: VariableDeclaration): boolean =>
  specifiers.isStatic === true && !specifiers.isConstexpr;
