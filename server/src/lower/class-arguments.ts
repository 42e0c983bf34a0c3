/** Arguments of a class template that are not written but follow from what an object is made of: `std::pair p(1, 2.f)`. */
import type { FunctionDeclaration, Parameter, RecordDeclaration, Specifiers } from '../parse/ast';
import { GUIDE } from '../parse/functions';
import type { Context } from './context';
import { instantiateRecord } from './records';
import { isSpecialisation, resolveType } from './resolve-type';
import { type Entity, Scope } from './scope';
import { bindTemplateParameters, type Callable, deduceArguments } from './templates';
import type { TemplateValue, Type } from './types';
import type { Value } from './values';

type RecordEntity = Entity & { kind: 'record' };

/**
 * The instance that the arguments mean, by the library's guides and the user's, by the constructors or, of an aggregate, by the members.
 * Undefined when nothing fits.
 */
export function deduceClass(ctx: Context, template: RecordEntity, args: readonly Value[]): Type | undefined {
  const primary = template.declarations.find((d) => !isSpecialisation(d));
  if (!primary?.templateParameters) return undefined;
  const isOpen = primary.templateParameters.some((p) => !p.default && !p.pack);
  if (args.length === 0 && !isOpen) return instantiateRecord(ctx, primary, template.scope, [], template.declarations);
  return byGuide(ctx, template, primary, args) ?? byMembers(ctx, template, primary, args);
}

function byGuide(
  ctx: Context,
  template: RecordEntity,
  primary: RecordDeclaration,
  args: readonly Value[],
): Type | undefined {
  const guides = template.scope.own(GUIDE + (primary.name?.parts.at(-1)?.name ?? ''));
  if (guides?.kind !== 'functions') return undefined;
  for (const guide of guides.declarations) {
    const found = deduced(ctx, guide, template.scope, args);
    if (!found || !guide.templateParameters) continue;
    const scope = new Scope(template.scope, 'guide');
    bindTemplateParameters(ctx, scope, guide.templateParameters, found);
    return resolveType(ctx, guide.result, scope);
  }
  return undefined;
}

function byMembers(
  ctx: Context,
  template: RecordEntity,
  primary: RecordDeclaration,
  args: readonly Value[],
): Type | undefined {
  const own = primary.name?.parts.at(-1)?.name;
  const members = primary.members ?? [];
  const constructors = members.filter(
    (m): m is FunctionDeclaration => m.kind === 'function' && m.name.parts.at(-1)?.name === own,
  );
  const lists = constructors.length > 0 ? constructors.map((c) => c.parameters) : [fieldsOf(primary)];
  for (const parameters of lists) {
    const callable: Callable = { templateParameters: primary.templateParameters, parameters };
    const found = deduced(ctx, callable, template.scope, args);
    if (found) return instantiateRecord(ctx, primary, template.scope, found, template.declarations);
  }
  return undefined;
}

/** The members of an aggregate, as if they were parameters. */
function fieldsOf(record: RecordDeclaration): Parameter[] {
  return (record.members ?? []).flatMap((m) =>
    m.kind === 'variable' && !m.specifiers.isStatic
      ? [{ first: m.first, last: m.last, name: m.name, type: m.type, specifiers: noSpecifiers, pack: false }]
      : [],
  );
}

const noSpecifiers = {} as Specifiers;

function deduced(ctx: Context, callable: Callable, scope: Scope, args: readonly Value[]): TemplateValue[] | undefined {
  const required = callable.parameters.filter((p) => !p.default && !p.pack).length;
  const isOpen = callable.parameters.some((p) => p.pack);
  if (args.length < required || (!isOpen && args.length > callable.parameters.length)) return undefined;
  const argumentTypes = args.map((a) => a.type);
  const found = deduceArguments(ctx, callable, [], argumentTypes, scope);
  return found.some((a) => a.kind === 'unknown') ? undefined : found;
}
