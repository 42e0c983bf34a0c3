/** Calls of methods that a derived class may have replaced: which of them runs is known where the object itself is named. */
import type * as ast from '../../parse/ast';
import type { UnitContext } from '../context';
import type { Scope } from '../scope';

/** Names of methods that a class with bases defines. */
const replacing = new WeakMap<UnitContext, ReadonlySet<string>>();

/** Whether a call may run another method than the one that its object's type has. @param callee what is called, as written */
export function mayBeReplaced(unit: UnitContext, method: ast.FunctionDeclaration, callee: ast.Expression): boolean {
  if (!method.specifiers.isVirtual || (callee.kind === 'member' && !callee.arrow)) return false;
  let names = replacing.get(unit);
  if (!names) replacing.set(unit, (names = namesOf(unit.scope, new Set(), 0)));
  return names.has(method.name.parts.at(-1)?.name ?? '');
}

const MOST_DEPTH = 8;

function namesOf(scope: Scope, found: Set<string>, depth: number): Set<string> {
  for (const [, entity] of scope.entries()) {
    if (entity.kind === 'namespace' && depth < MOST_DEPTH) namesOf(entity.scope, found, depth + 1);
    else if (entity.kind === 'record') for (const record of entity.declarations) addMethods(record, found);
  }
  return found;
}

function addMethods({ bases, members = [] }: ast.RecordDeclaration, found: Set<string>): void {
  for (const member of members) {
    const name = member.kind === 'function' ? member.name.parts.at(-1)?.name : undefined;
    if (name !== undefined && bases.length > 0) found.add(name);
    if (member.kind === 'record') addMethods(member, found);
  }
}
