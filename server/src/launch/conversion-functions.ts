/** Conversions that classes define: `operator int() const`, and what an object of a base keeps of one of a derived class. */
import { callFunctions } from './function-call';
import type { HostType, RecordType } from './host-type';
import { layoutOf } from './layout';
import { makeCell } from './memory';
import { resolveType } from './resolve-type';
import { childScope } from './scope';
import type { HostState } from './state';
import type { Cell, FunctionSymbol, StructValue, Value } from './value';

/** `operator float`, but not `operator new`; a base's where the class has none. */
function conversionsOf(state: HostState, type: RecordType): FunctionSymbol[] {
  const own: FunctionSymbol[] = [];
  for (const [name, symbols] of type.scope.symbols ?? [])
    if (/^operator (?!new\b|delete\b)/.test(name))
      for (const symbol of symbols) if (symbol.kind === 'function' && symbol.declaration.body) own.push(symbol);
  return own.length > 0 ? own : layoutOf(state, type).bases.flatMap((base) => conversionsOf(state, base));
}

/** What the class's own conversion makes of an object: the one to that type, or the only one to a number. Undefined where there is none. */
export function convertedByClass(state: HostState, object: StructValue, type: HostType): Value | undefined {
  const { type: own } = object;
  if (own.kind !== 'record') return undefined;
  const numbers = conversionsOf(state, own).flatMap((symbol) => {
    const scope = childScope(symbol.scope, { record: own });
    const result = resolveType(state, symbol.declaration.result, scope);
    return result.kind === 'arithmetic' || result.kind === 'enum' ? [{ symbol, result }] : [];
  });
  const isSame = (result: HostType) =>
    result.kind === 'arithmetic' && type.kind === 'arithmetic' && result.name === type.name;
  const chosen = numbers.find(({ result }) => isSame(result)) ?? (numbers.length === 1 ? numbers[0] : undefined);
  if (!chosen) return undefined;
  const { first, last } = chosen.symbol.declaration;
  return callFunctions(
    state,
    [chosen.symbol],
    [],
    { kind: 'this', first, last },
    { self: makeCell(object, { type: own }) },
  );
}

/** The part of an object that is of a base: `Base b = derived;`. */
export function slicedTo(state: HostState, object: StructValue, type: RecordType): StructValue {
  const { type: own } = object;
  if (own.kind !== 'record' || own.declaration === type.declaration || !isBaseOf(state, type, own)) return object;
  const fields = new Map<string, Cell>();
  for (const { name } of layoutOf(state, type).fields) {
    const cell = object.fields.get(name);
    if (cell) fields.set(name, cell);
  }
  return { kind: 'struct', type, fields };
}

export const isBaseOf = (state: HostState, base: RecordType, derived: RecordType): boolean =>
  layoutOf(state, derived).bases.some((each) => each.declaration === base.declaration || isBaseOf(state, base, each));
