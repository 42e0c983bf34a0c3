/** Functions that a call finds by its arguments alone. */
import type { FunctionDeclaration } from '../parse/ast';
import { recordOf } from './records';
import type { Scope } from './scope';
import { withoutReference } from './types';
import type { Value } from './values';

export interface FoundFunctions {
  readonly declarations: readonly FunctionDeclaration[];
  readonly scope: Scope;
}

/** Functions of that name that the arguments' classes name as friends, or in the namespaces of these. */
export function associatedFunctions(name: string, args: readonly Value[]): FoundFunctions | undefined {
  for (const { type } of args) {
    const plain = withoutReference(type);
    const record = recordOf(plain.kind === 'pointer' ? plain.to : plain);
    const own = record?.scope?.own(name);
    const friends = own?.kind === 'functions' ? own.declarations.filter((d) => d.isFriend && d.body) : [];
    if (own?.kind === 'functions' && friends.length > 0) return { declarations: friends, scope: own.scope };
    for (let scope = record?.scope?.parent; scope; scope = scope.parent) {
      const found = scope.recordType ? undefined : scope.own(name);
      if (found?.kind === 'functions' && found.declarations.some((d) => d.body))
        return { declarations: found.declarations, scope: found.scope };
    }
  }
  return undefined;
}
