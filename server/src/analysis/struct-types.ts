/**
 * The classes of structures that launches are given. A template's arguments may be types that the host's text has no name for, as those of lambdas
 * (`ParallelFor<Range, F>{f, p}` where a kernel is given `*this`): what the members hold tells them.
 */
import type { HostValue } from '../launch/host-value';
import type { Context } from '../lower/context';
import { instantiateRecord } from '../lower/records';
import { evaluateArguments } from '../lower/resolve-type';
import { Scope } from '../lower/scope';
import { bindTemplateParameters, deduceArguments } from '../lower/templates';
import type { RecordInfo, TemplateValue, Type } from '../lower/types';
import type { Declaration, Parameter, RecordDeclaration } from '../parse/ast';

/** Whether nobody says what a template argument is, or what one of its own is. */
export function isOpenArgument(value: TemplateValue): boolean {
  if (value.kind === 'pack') return value.elements.some(isOpenArgument);
  if (value.kind === 'unknown' || (value.kind === 'name' && !value.entity)) return true;
  return value.kind === 'type' && (value.type.kind === 'unknown' || isOpenType(value.type));
}

/** A class template of which an argument is not known. */
export const isOpenType = (type: Type): boolean =>
  type.kind === 'record' && (type.record.templateArguments?.some(isOpenArgument) ?? false);

/**
 * The class of a structure with the arguments that its members tell.
 * @param written as the host's text has it, some of its arguments open
 * @param typeOf the type of a member's value
 */
export function completedStruct(
  ctx: Context,
  written: Type & { kind: 'record' },
  fields: ReadonlyMap<string, HostValue>,
  typeOf: (value: HostValue) => Type,
): Type {
  const { record } = written;
  const { declaration, template, templateArguments = [], scope } = record;
  const outer = scope?.parent;
  if (!declaration || !template || !outer) return written;
  const known = toldByMembers(ctx, record, declaration, outer, fields, typeOf);
  if (known.length !== templateArguments.length) return written;
  const complete = templateArguments.map((value, i) => (isOpenArgument(value) ? known[i] : value));
  const name = template.name?.parts.at(-1)?.name;
  const entity = name === undefined ? undefined : outer.own(name);
  const declarations = entity?.kind === 'record' ? entity.declarations : [template];
  return instantiateRecord(ctx, template, outer, complete, declarations);
}

/** The template arguments, as far as members are of types that name them. */
function toldByMembers(
  ctx: Context,
  { template }: RecordInfo,
  declaration: RecordDeclaration,
  outer: Scope,
  fields: ReadonlyMap<string, HostValue>,
  typeOf: (value: HostValue) => Type,
): readonly TemplateValue[] {
  const known = (declaration.members ?? []).flatMap(asParameter).flatMap((member) => {
    const value = fields.get(member.name ?? '');
    return value ? [{ member, type: typeOf(value) }] : [];
  });
  const { templateParameters } = declaration;
  const parameters = known.map(({ member }) => member);
  const types = known.map(({ type }) => type);
  const own = deduceArguments(ctx, { templateParameters, parameters }, [], types, outer);
  if (declaration === template) return own;
  // those of a partial specialisation stand for parts of the arguments
  const inner = new Scope(outer, 'members');
  bindTemplateParameters(ctx, inner, templateParameters ?? [], own);
  return evaluateArguments(ctx, declaration.name?.parts.at(-1)?.templateArguments ?? [], inner);
}

/** A member as a constructor would be given it. */
const asParameter = (member: Declaration): readonly Parameter[] =>
  member.kind === 'variable' && !member.specifiers.isStatic ? [{ ...member, pack: false }] : [];
