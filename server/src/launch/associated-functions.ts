/**
 * Argument-dependent lookup: a function or an operator is also found in the namespaces, and among the friends, of the
 * classes of its arguments (C++ [basic.lookup.argdep]). Vector libraries keep their operators so.
 */
import { type HostType, type RecordType, withoutReference } from './host-type';
import type { Scope } from './scope';
import { type FunctionSymbol, typeOf, type Value } from './value';

/** The functions of this name that the arguments' classes bring; those of `found` are left out. */
export function associatedFunctions(
  name: string,
  values: readonly Value[],
  found: readonly FunctionSymbol[] = [],
): readonly FunctionSymbol[] {
  const result: FunctionSymbol[] = [];
  for (const value of values) {
    const type = typeOf(value);
    const record = type && withoutReference(type);
    if (record?.kind === 'record') collect(name, record, found, result);
  }
  return result;
}

function collect(name: string, record: RecordType, found: readonly FunctionSymbol[], result: FunctionSymbol[]): void {
  const friends = record.scope.symbols?.get(name) ?? [];
  const around = namespaceAround(record.scope)?.symbols?.get(name) ?? [];
  for (const symbol of [...friends, ...around]) {
    if (symbol.kind !== 'function' || includes(found, symbol) || includes(result, symbol)) continue;
    if (symbol.scope.record && !symbol.declaration.isFriend) continue;
    result.push(symbol);
  }
  for (const argument of record.arguments ?? []) {
    const type: HostType | undefined = argument.kind === 'type' ? argument.type : undefined;
    if (type?.kind === 'record' && type !== record) collect(name, type, found, result);
  }
}

function includes(list: readonly FunctionSymbol[], symbol: FunctionSymbol): boolean {
  return list.some(({ declaration }) => declaration === symbol.declaration);
}

function namespaceAround(scope: Scope | undefined): Scope | undefined {
  let at = scope;
  while (at && at.namespace === undefined) at = at.parent;
  return at;
}
