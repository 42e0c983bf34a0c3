/** Functions and variables that are looked for in other translation units, by name. */
import type { FunctionDeclaration, VariableDeclaration } from '../parse/ast';
import { type HostIndex, type HostSymbol, type IndexedFunction, lastName } from './scope';

export interface WantedFunction {
  readonly name: string;
  /** of a method: its class */
  readonly owner?: string;
  /** Numbers of parameters of its overloads; none of a variable. */
  readonly counts: ReadonlySet<number>;
}

/** Adds a variable. */
export function wantVariable(wanted: Map<string, WantedFunction>, name: string): void {
  if (!wanted.has(name)) wanted.set(name, { name, counts: new Set() });
}

/** Not only declared. */
export const isDefined = ({ specifiers, initializer }: VariableDeclaration): boolean =>
  !specifiers.isExtern || initializer !== undefined;

/** Adds a function, or another overload of one. */
export function want(
  wanted: Map<string, WantedFunction>,
  { name: qualified, parameters }: FunctionDeclaration,
  owner: string | undefined,
): void {
  const name = lastName(qualified);
  const known = wanted.get(name);
  const counts = new Set([...(known?.counts ?? []), parameters.length]);
  wanted.set(name, { name, owner: known ? known.owner : owner, counts });
}

/** The class of a method, `void Solver::run()` too, where that is no namespace that was opened for the definition. */
export function ownerOf({ declaration, record }: IndexedFunction): string | undefined {
  return record?.name ? lastName(record.name) : declaration.name.parts.at(-2)?.name;
}

export const hasMain = (index: HostIndex): boolean => index.functions.some(isMain);

export const isMain = ({ declaration, record }: IndexedFunction): boolean =>
  !record && declaration.name.parts.length === 1 && lastName(declaration.name) === 'main';

/** Names of the namespaces of a unit, with what they stand for. */
export function* namespaceSymbols(index: HostIndex): Generator<[string, readonly HostSymbol[]]> {
  const visited = new Set<object>();
  const open = [index.root.symbols];
  for (let symbols = open.pop(); symbols !== undefined; symbols = open.pop()) {
    if (visited.has(symbols)) continue;
    visited.add(symbols);
    yield* symbols;
    for (const list of symbols.values())
      for (const symbol of list)
        if (symbol.kind === 'namespace' && symbol.scope.symbols) open.push(symbol.scope.symbols);
  }
}
