/** Name lookup: from the innermost scope outwards, through namespaces, records with their bases, and using-directives. */
import type { AliasDeclaration, Expression, NamePart, QualifiedName } from '../parse/ast';
import { unevaluatedType } from './casts';
import type { Context } from './context';
import { recordOf } from './records';
import { inScope, resolveNamedType } from './resolve-type';
import { type Entity, Scope } from './scope';
import type { Type } from './types';

const MAX_SCOPES = 200;
/** Records that lead back to an alias within one another (`using Node = std::variant<Sum*, Product*, ...>`), each of which names it again. */
const MOST_OPEN = 16;

/**
 * Finds an unqualified name.
 * @param at token where it is written: in an alias's own type its name means what was declared before, and never itself
 */
export function lookupName(ctx: Context, from: Scope, name: string, at?: number): Entity | undefined {
  let scope: Scope | undefined = from;
  let open: Entity | undefined;
  for (let i = 0; scope && i < MAX_SCOPES; i++, scope = scope.parent) {
    const found = scope.own(name) ?? (scope.isPlain ? undefined : lookupIn(ctx, scope, name, new Set()));
    const times = found?.kind === 'alias' ? (ctx.openAliases.get(found.declaration) ?? 0) : 0;
    if (found && times === 0) return found;
    if (found?.kind === 'alias' && at !== undefined && isWithin(found.declaration, at)) continue;
    if (times < MOST_OPEN) open ??= found;
  }
  return open;
}

/** Whether a token stands in what an alias is made of; a record that is defined there knows its own name. */
const isWithin = ({ type, first, last }: AliasDeclaration, at: number): boolean =>
  type.kind === 'named' && at >= first && at <= last;

/** Finds a name in one scope, its bases, inline namespaces and using-directives. */
export function lookupIn(ctx: Context, scope: Scope, name: string, seen: Set<Scope>): Entity | undefined {
  if (seen.has(scope) || seen.size > MAX_SCOPES) return undefined;
  seen.add(scope);
  const own = scope.own(name);
  if (own) return own;
  const declared = scope.usingDeclarations?.get(name);
  if (declared && scope.parent) {
    const target = isOfRoot(declared)
      ? declaredAtRoot(ctx, name)
      : (lookupQualified(ctx, scope.parent, declared) ?? lookupQualified(ctx, scope, declared));
    if (target) return target;
  }
  for (const used of scope.using) {
    const found = lookupIn(ctx, used, name, seen);
    if (found) return found;
  }
  for (const directive of scope.usingNames) {
    const target = namespaceOf(ctx, scope, directive);
    const found = target && lookupIn(ctx, target, name, seen);
    if (found) return found;
  }
  return lookupInBases(ctx, scope, name, seen);
}

/** `using ::name;` */
const isOfRoot = ({ global, parts }: QualifiedName): boolean => global && parts.length === 1;

/** Not what the root's directives bring in: a namespace may bring in the root's names, and the root use that namespace. */
const declaredAtRoot = ({ unit }: Context, name: string): Entity | undefined =>
  unit.scope.own(name) ?? unit.scope.parent?.own(name);

function lookupInBases(ctx: Context, scope: Scope, name: string, seen: Set<Scope>): Entity | undefined {
  const type = scope.recordType;
  if (type?.kind !== 'record') return undefined;
  for (const field of type.record.fields) {
    if (!(field.isBase || field.isAnonymous) || field.type.kind !== 'record' || !field.type.record.scope) continue;
    const found = lookupIn(ctx, field.type.record.scope, name, seen);
    if (found) return found;
  }
  return undefined;
}

function namespaceOf(ctx: Context, scope: Scope, name: QualifiedName): Scope | undefined {
  let found: Entity | undefined;
  for (const [i, part] of name.parts.entries()) {
    if (i === 0) {
      // `::a::b` is looked for in the unit and the library around it
      let s: Scope | undefined = name.global ? ctx.unit.scope : scope;
      while (s && !found) {
        found = s.own(part.name);
        s = s.parent;
      }
    } else found = found?.kind === 'namespace' ? found.scope.own(part.name) : undefined;
    if (found?.kind === 'namespaceAlias') {
      const target: Scope | undefined =
        found.name.parts.length < 8 ? namespaceOf(ctx, found.scope.parent ?? found.scope, found.name) : undefined;
      found = target ? { kind: 'namespace', scope: target } : undefined;
    }
    if (found?.kind !== 'namespace') return undefined;
  }
  return found?.kind === 'namespace' ? found.scope : undefined;
}

/** Finds `a::b<T>::c`; template arguments of the last part are left to the caller. */
export function lookupQualified(ctx: Context, from: Scope, name: QualifiedName): Entity | undefined {
  if (name.scopeOf) return lookupInType(ctx, from, name, name.scopeOf);
  if (name.parts.length === 1 && !name.global) return lookupName(ctx, from, name.parts[0].name, name.first);
  const found = findQualified(ctx, name.global ? ctx.unit.scope : from, name, from);
  // the user's files may open a library's namespace too
  return found ?? (ctx.unit.scope.parent && findQualified(ctx, ctx.unit.scope.parent, name, from));
}

function findQualified(ctx: Context, start: Scope, name: QualifiedName, from: Scope): Entity | undefined {
  const scope = scopeWithin(ctx, start, name, from);
  return scope && lookupIn(ctx, scope, name.parts[name.parts.length - 1].name, new Set());
}

/** The scope that all but the last part of a name mean. */
export function scopeNamed(ctx: Context, from: Scope, name: QualifiedName): Scope | undefined {
  if (name.scopeOf) return undefined;
  return scopeWithin(ctx, name.global ? ctx.unit.scope : from, name, from);
}

function scopeWithin(ctx: Context, start: Scope, name: QualifiedName, from: Scope): Scope | undefined {
  let scope: Scope | undefined = start;
  for (const [i, part] of name.parts.slice(0, -1).entries())
    scope = scope && enter(ctx, scope, part, from, i === 0 && !name.global);
  return scope;
}

/** `decltype(x)::a` */
function lookupInType(ctx: Context, from: Scope, name: QualifiedName, scopeOf: Expression): Entity | undefined {
  const type = inScope(ctx, from, () => unevaluatedType(ctx, scopeOf));
  let scope = scopeOfType(type);
  for (const part of name.parts.slice(0, -1)) scope = scope && enter(ctx, scope, part, from, false);
  return scope && lookupIn(ctx, scope, name.parts[name.parts.length - 1].name, new Set());
}

/** The scope that `part::` names. */
function enter(ctx: Context, scope: Scope, part: NamePart, from: Scope, outward: boolean): Scope | undefined {
  const entity = outward ? lookupName(ctx, scope, part.name) : lookupIn(ctx, scope, part.name, new Set());
  if (!entity) return undefined;
  switch (entity.kind) {
    case 'namespace':
      return entity.scope;
    case 'namespaceAlias':
      return (
        namespaceOf(ctx, entity.scope.parent ?? entity.scope, entity.name) ??
        namespaceOf(ctx, entity.scope, entity.name)
      );
    case 'enum':
      return enumScope(entity);
    default: {
      const type = resolveNamedType(ctx, from, entity, part);
      return type ? scopeOfType(type) : undefined;
    }
  }
}

/** Where the enumerators of a scoped enumeration are found, by each other's values too. */
export function enumScope(entity: Pick<Entity & { kind: 'enum' }, 'declaration' | 'scope'>): Scope {
  const scope = new Scope(entity.scope, 'enum');
  entity.declaration.enumerators?.forEach((enumerator, index) => {
    scope.define(enumerator.name, { kind: 'enumerator', declaration: entity.declaration, index, scope: entity.scope });
  });
  return scope;
}

export function scopeOfType(type: Type): Scope | undefined {
  return recordOf(type)?.scope;
}
