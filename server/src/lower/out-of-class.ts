/** Members that are defined outside of their class: `void A::f() {}`, `template <class U> void A<U>::f() {}`. */
import type {
  FunctionDeclaration,
  NamePart,
  RecordDeclaration,
  TemplateArgument,
  TemplateParameter,
} from '../parse/ast';
import { isParameter } from '../parse/parameter-names';
import type { Context } from './context';
import { lookupIn } from './lookup';
import { argumentKey } from './records';
import { evaluateArguments } from './resolve-type';
import { addRecord, hasOutOfClass, outOfClass, outOfClassRecords, outOfClassVariables, type Scope } from './scope';
import { bindTemplateParameters } from './templates';
import type { RecordInfo } from './types';

/** Definitions that stand outside the class replace the declarations inside. @param inner the scope of the class, or of an instance of it */
export function attachOutOfClass(ctx: Context, scope: Scope, primary: RecordDeclaration, inner: Scope): void {
  const record = inner.recordType?.kind === 'record' ? inner.recordType.record : undefined;
  const owner = ownerOf(primary, scope);
  if (!record || !owner) return;
  const places = placesOf(ctx, owner);
  for (const definition of places.flatMap(outOfClass)) {
    const parts = definition.name.parts;
    if (!isOf(owner, parts)) continue;
    const given = parts[parts.length - 2].templateArguments;
    const isForOne = given !== undefined && definition.templateParameters?.length === 0;
    if (isForOne && !isInstance(ctx, record, given, scope)) continue;
    if (given && !isForOne && !isOfTemplate(definition.templateParameters, given, record)) continue;
    const { name } = parts[parts.length - 1];
    const entity = inner.own(name);
    const member = given && !isForOne ? ofInstance(ctx, definition, given, record, inner) : definition;
    define(record.methods.get(name) as FunctionDeclaration[] | undefined, member, isForOne);
    if (entity?.kind === 'functions') define(entity.declarations, member, isForOne);
  }
  for (const variable of places.flatMap(outOfClassVariables)) {
    const parts = variable.scope?.parts ?? [];
    if (!variable.name || !isOf(owner, parts)) continue;
    const given = parts[parts.length - 2].templateArguments;
    const isForOne = given !== undefined && variable.templateParameters?.length === 0;
    if (isForOne && !isInstance(ctx, record, given, scope)) continue;
    if (given && !isForOne && !isOfTemplate(variable.templateParameters, given, record)) continue;
    if (given && !isForOne) bindParameters(ctx, variable.templateParameters, given, record, inner);
    inner.define(variable.name, { kind: 'global', declaration: variable, scope: inner });
  }
}

/** The scope of the class, and those around it in which its name means the class too: `using namespace part; void A::f() {}`. */
function placesOf(ctx: Context, { names: [name], scope }: Owner): Scope[] {
  const places = [scope];
  for (let outer = scope.parent; outer && outer !== ctx.unit.scope.parent; outer = outer.parent) {
    const found = hasOutOfClass(outer) ? lookupIn(ctx, outer, name, new Set()) : undefined;
    if (found?.kind === 'record' && found.scope === scope) places.push(outer);
  }
  return places;
}

/** Gives a class those of its own classes that are defined outside: `struct Owner::Impl { … };`. */
export function attachRecords(scope: Scope, primary: RecordDeclaration, inner: Scope): void {
  const owner = ownerOf(primary, scope);
  for (const member of owner ? outOfClassRecords(owner.scope) : []) {
    if (owner && isOf(owner, member.name?.parts ?? [])) addRecord(inner, member);
  }
}

/** How definitions outside name a class: behind the classes around it, outermost first, in the scope around these. */
interface Owner {
  readonly names: readonly string[];
  readonly scope: Scope;
}

function ownerOf(primary: RecordDeclaration, scope: Scope): Owner | undefined {
  const name = primary.name?.parts.at(-1)?.name;
  if (name === undefined) return undefined;
  const around = scope.recordType?.kind === 'record' ? scope.recordType.record : undefined;
  if (!around) return { names: [name], scope };
  const outer = around.template && scope.parent && ownerOf(around.template, scope.parent);
  return outer && { names: [...outer.names, name], scope: outer.scope };
}

/** Whether the parts of a member's name say that it is this class's: `Outer::Inner::f` is none of another `Inner`. */
function isOf({ names, scope }: Owner, parts: readonly NamePart[]): boolean {
  const owners = parts.slice(0, -1);
  const before = owners.at(-names.length - 1);
  const isNested = before !== undefined && scope.own(before.name)?.kind === 'record';
  return owners.length >= names.length && !isNested && names.every((n, i) => owners.at(i - names.length)?.name === n);
}

/** @param isForOne `template <> int S<float>::f()`: it takes the place of what the template has */
function define(list: FunctionDeclaration[] | undefined, definition: FunctionDeclaration, isForOne: boolean): void {
  if (!list || list.includes(definition)) return;
  // `template <> float S::f<float>()`: one of several that the template in the class stands for
  if (definition.name.parts.at(-1)?.templateArguments) {
    list.push(definition);
    return;
  }
  const count = definition.parameters.length;
  const index = list.findIndex((m) => (!m.body || isForOne) && m.parameters.length === count);
  if (index >= 0) list[index] = definition;
}

function isInstance(ctx: Context, record: RecordInfo, given: readonly TemplateArgument[], scope: Scope): boolean {
  const own = record.templateArguments ?? [];
  return evaluateArguments(ctx, given, scope).every(
    (wanted, i) => own[i] && argumentKey(own[i]) === argumentKey(wanted),
  );
}

const withoutParameters = new WeakMap<FunctionDeclaration, FunctionDeclaration>();

/** The definition as a member of an instance: the parameters of the class, which may have other names here, are given; its own stay open. */
function ofInstance(
  ctx: Context,
  definition: FunctionDeclaration,
  given: readonly TemplateArgument[],
  record: RecordInfo,
  inner: Scope,
): FunctionDeclaration {
  const count = bindParameters(ctx, definition.templateParameters, given, record, inner);
  if (count === 0) return definition;
  let member = withoutParameters.get(definition);
  if (!member) {
    const rest = definition.templateParameters?.slice(count) ?? [];
    member = { ...definition, templateParameters: rest.length > 0 ? rest : undefined };
    withoutParameters.set(definition, member);
  }
  return member;
}

/** Gives a definition's names for the parameters of its class what the instance has for them. @returns how many there are */
function bindParameters(
  ctx: Context,
  parameters: readonly TemplateParameter[] = [],
  given: readonly TemplateArgument[],
  record: RecordInfo,
  inner: Scope,
): number {
  const { templateArguments, declaration, template } = record;
  if (declaration === template) {
    const own = parameters.slice(0, given.length);
    if (templateArguments) bindTemplateParameters(ctx, inner, own, templateArguments);
    return own.length;
  }
  // those of a partial specialisation stand for parts of the arguments, and are known by the names that it has for them
  const special = declaration?.templateParameters ?? [];
  for (const [i, { name }] of special.entries()) {
    const bound = name === undefined ? undefined : inner.own(name);
    const here = parameters[i]?.name;
    if (bound && here !== undefined) inner.define(here, bound);
  }
  return special.length;
}

/** Whether a definition is of the template that the record is an instance of: the general one, or this partial specialisation. */
function isOfTemplate(
  parameters: readonly TemplateParameter[] = [],
  given: readonly TemplateArgument[],
  { declaration, template }: RecordInfo,
): boolean {
  const isPlain = given.every((argument, i) => isParameter(argument, parameters[i]?.name));
  if (declaration === template) return isPlain;
  const own = declaration?.name?.parts.at(-1)?.templateArguments ?? [];
  return !isPlain && shapeOf(given, parameters) === shapeOf(own, declaration?.templateParameters ?? []);
}

/** Arguments as text in which parameters are numbers: alike for `U*` and `T*`. */
function shapeOf(given: readonly TemplateArgument[], parameters: readonly TemplateParameter[]): string {
  const places = new Map(parameters.map(({ name }, i) => [name, i]));
  return JSON.stringify(given, (key, value) => {
    if (key === 'first' || key === 'last') return undefined;
    // the value of a literal
    if (typeof value === 'bigint') return `${value}n`;
    return key === 'name' && typeof value === 'string' ? (places.get(value) ?? value) : value;
  });
}
