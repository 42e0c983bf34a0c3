/** What a program with a `main` calls and no unit of it so far defines: asked for in other files of the workspace. */
import type { FunctionDeclaration, RecordDeclaration } from '../parse/ast';
import { type HostIndex, type HostSymbol, type IndexedFunction, lastName } from './scope';

/** A function that is declared and not defined. */
export interface MissingFunction {
  readonly name: string;
  /** of a method: its class */
  readonly owner?: string;
  /** Numbers of parameters of its overloads. */
  readonly counts: ReadonlySet<number>;
}

export const hasMain = (index: HostIndex): boolean => index.functions.some(isMain);

const isMain = ({ declaration, record }: IndexedFunction): boolean =>
  !record && declaration.name.parts.length === 1 && lastName(declaration.name) === 'main';

/** By name: functions and methods that `main` may come to, by the names that it and what it calls mention. None without a main. */
export function missingFunctions(index: HostIndex): ReadonlyMap<string, MissingFunction> {
  const missing = new Map<string, MissingFunction>();
  const mentioned = mentionedFrom(index.functions.filter(isMain), index);
  const add = (name: string, owner: string | undefined, { parameters }: FunctionDeclaration): void => {
    const known = missing.get(name);
    missing.set(name, {
      name,
      owner: known ? known.owner : owner,
      counts: new Set([...(known?.counts ?? []), parameters.length]),
    });
  };
  for (const [name, symbols] of symbolsOf(index)) {
    for (const symbol of symbols) if (symbol.kind === 'record') addMethods(symbol.declaration, mentioned, index, add);
    const declared = symbols.flatMap((symbol) => (symbol.kind === 'function' ? [symbol.declaration] : []));
    if (!mentioned.has(name) || declared.length === 0 || declared.some(({ body }) => body)) continue;
    for (const declaration of declared) if (runsOnHost(declaration)) add(name, undefined, declaration);
  }
  return missing;
}

/** Kernels too: the host launches them. */
const runsOnHost = ({ specifiers }: FunctionDeclaration): boolean =>
  !specifiers.isDevice || specifiers.isHost || specifiers.isGlobal;

function addMethods(
  record: RecordDeclaration,
  mentioned: ReadonlySet<string>,
  { outOfClass }: HostIndex,
  add: (name: string, owner: string, declaration: FunctionDeclaration) => void,
): void {
  if (!record.name) return;
  const owner = lastName(record.name);
  for (const member of record.members ?? []) {
    if (member.kind !== 'function' || member.body) continue;
    const name = lastName(member.name);
    if (mentioned.has(name) && !outOfClass.functions.has(`${owner}::${name}`)) add(name, owner, member);
  }
}

function mentionedFrom(roots: readonly IndexedFunction[], { functions }: HostIndex): ReadonlySet<string> {
  const byName = new Map<string, FunctionDeclaration[]>();
  for (const { declaration } of functions) {
    const name = lastName(declaration.name).replace(/^~/, '');
    const list = byName.get(name);
    if (list) list.push(declaration);
    else byName.set(name, [declaration]);
  }
  const mentioned = new Set<string>();
  const open = roots.map(({ declaration }) => declaration);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const word of next.mentions) {
      if (mentioned.has(word)) continue;
      mentioned.add(word);
      open.push(...(byName.get(word) ?? []));
    }
  }
  return mentioned;
}

/** Names of the namespaces of a unit, with what they stand for. */
function* symbolsOf(index: HostIndex): Generator<[string, readonly HostSymbol[]]> {
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

/** The missing functions that a unit defines for others. */
export function definedFor(index: HostIndex, missing: ReadonlyMap<string, MissingFunction>): string[] {
  const found = new Set<string>();
  for (const { declaration, record } of index.functions) {
    const wanted = missing.get(lastName(declaration.name));
    if (!wanted || declaration.specifiers.isStatic || !wanted.counts.has(declaration.parameters.length)) continue;
    const owner = record?.name ? lastName(record.name) : declaration.name.parts.at(-2)?.name;
    if (wanted.owner === undefined || wanted.owner === owner) found.add(wanted.name);
  }
  return [...found];
}
