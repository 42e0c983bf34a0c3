/** What other translation units may start in this one: they are asked for launches that its own text cannot settle. */
import type { FunctionDeclaration } from '../parse/ast';
import type { HostTokens } from './host-tokens';
import { findSites, type Holder } from './launch-sites';
import { type HostIndex, type IndexedFunction, lastName } from './scope';

/** A function that others may call, or a kernel that they may launch. */
export interface OutsideName {
  readonly name: string;
  /** of a method: its class */
  readonly owner?: string;
  /** Numbers of parameters of its overloads. */
  readonly counts: ReadonlySet<number>;
}

/** By name: kernels that no host code here mentions, and functions that lead to a launch and that nobody here calls. A program with a main has none. */
export function outsideNames(index: HostIndex, tokens: HostTokens): ReadonlyMap<string, OutsideName> {
  const names = new Map<string, OutsideName>();
  const { holders } = findSites(index, tokens);
  if (index.functions.some(({ declaration, record }) => !record && lastName(declaration.name) === 'main')) return names;
  const mentioned = new Set<string>();
  for (const { declaration } of index.functions)
    for (const word of declaration.mentions) if (word !== lastName(declaration.name)) mentioned.add(word);
  const add = (declaration: FunctionDeclaration, owner: string | undefined): void => {
    const name = lastName(declaration.name);
    if (mentioned.has(name) || name.startsWith('operator')) return;
    const known = names.get(name);
    const counts = new Set([...(known?.counts ?? []), declaration.parameters.length]);
    names.set(name, { name, owner: known ? known.owner : owner, counts });
  };
  for (const { declaration } of index.functions) if (declaration.specifiers.isGlobal) add(declaration, undefined);
  for (const { function: entry } of holders) {
    const { declaration, record } = entry;
    const owner = record?.name ? lastName(record.name) : ownerOf(declaration);
    if (!isHidden(declaration)) add(declaration, owner);
  }
  for (const { declaration, record } of makersOf(holders.flatMap(ownerOfHolder), index))
    if (!isHidden(declaration)) add(declaration, record?.name ? lastName(record.name) : ownerOf(declaration));
  return names;
}

const ownerOfHolder = ({ function: { declaration, record } }: Holder): string[] => {
  const owner = record?.name ? lastName(record.name) : ownerOf(declaration);
  return owner === undefined ? [] : [owner];
};

/** Functions that mention a class with methods that launch, or a function that does: others know the class by its base only, and have it made. */
function makersOf(owners: readonly string[], { functions }: HostIndex): IndexedFunction[] {
  const leading = new Set(owners);
  const makers = new Set<IndexedFunction>();
  for (let count = -1; count < makers.size; ) {
    count = makers.size;
    for (const each of functions) {
      const { name, mentions, specifiers } = each.declaration;
      if (makers.has(each) || (specifiers.isDevice && !specifiers.isHost) || specifiers.isGlobal) continue;
      if (!leading.has(lastName(name)) && ![...leading].some((word) => mentions.has(word))) continue;
      makers.add(each);
      leading.add(lastName(name));
    }
  }
  return [...makers];
}

/** `void Solver::run()`: Solver, where that is no namespace that was opened for the definition. */
const ownerOf = ({ name }: FunctionDeclaration): string | undefined => name.parts.at(-2)?.name;

const isHidden = ({ specifiers, name }: FunctionDeclaration): boolean =>
  specifiers.isStatic === true && name.parts.length === 1;

/** Whether a unit's declarations let it use one of the names: it declares the function without defining it. */
export function mayUse(index: HostIndex, names: ReadonlyMap<string, OutsideName>, words: ReadonlySet<string>): boolean {
  for (const wanted of names.values()) {
    if (!words.has(wanted.name)) continue;
    if (wanted.owner !== undefined && words.has(wanted.owner)) return true;
    const declared = functionsNamed(index, wanted.name);
    const fits = declared.filter(({ parameters }) => wanted.counts.has(parameters.length));
    if (fits.length > 0 && fits.every(({ body }) => !body)) return true;
  }
  return false;
}

/** Functions of a name in the namespaces of a unit. */
function functionsNamed(index: HostIndex, name: string): FunctionDeclaration[] {
  const found: FunctionDeclaration[] = [];
  const visited = new Set<object>();
  const visit = (symbols: HostIndex['root']['symbols']): void => {
    if (!symbols || visited.has(symbols)) return;
    visited.add(symbols);
    for (const [key, list] of symbols) {
      for (const symbol of list) {
        if (symbol.kind === 'namespace') visit(symbol.scope.symbols);
        else if (key === name && symbol.kind === 'function') found.push(symbol.declaration);
      }
    }
  };
  visit(index.root.symbols);
  return found;
}
