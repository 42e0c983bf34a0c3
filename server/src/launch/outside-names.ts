/** What other translation units may start in this one: they are asked for launches that its own text cannot settle. */
import { anywhere } from '../parse/anywhere';
import type { FunctionDeclaration } from '../parse/ast';
import type { HostTokens } from './host-tokens';
import { findSites } from './launch-sites';
import { type HostIndex, type HostSymbol, type IndexedFunction, lastName } from './scope';
import { hasMain, namespaceSymbols, ownerOf, type WantedFunction, want } from './wanted-functions';

/** By name: kernels that no host code here mentions, and functions that lead to a launch and that nobody here calls. A program with a main has none. */
export function outsideNames(index: HostIndex, tokens: HostTokens): ReadonlyMap<string, WantedFunction> {
  const names = new Map<string, WantedFunction>();
  const { holders } = findSites(index, tokens);
  if (hasMain(index)) return names;
  const mentioned = new Set<string>();
  for (const { declaration } of index.functions) {
    // what a kernel calls so is no function that launches, but its own parameter
    if (!isHostFunction(declaration)) continue;
    for (const word of declaration.mentions) if (word !== lastName(declaration.name)) mentioned.add(word);
  }
  const add = ({ declaration }: IndexedFunction, owner: string | undefined): void => {
    const name = lastName(declaration.name);
    const isMade = name === owner ? mentionedBesides(index, owner) : mentioned.has(name);
    if (!isMade && !name.startsWith('operator')) want(names, declaration, owner);
  };
  for (const each of index.functions) if (each.declaration.specifiers.isGlobal) add(each, undefined);
  const launching = holders.map(({ function: each }) => each);
  for (const each of [
    ...launching,
    ...makersOf(
      launching.flatMap((f) => ownerOf(f) ?? []),
      index,
    ),
  ])
    if (!isHidden(each.declaration)) add(each, ownerOf(each));
  const tables = tablesOf(launching, index);
  if (tables.size > 0)
    for (const each of index.functions) {
      const owner = ownerOf(each);
      if (owner !== undefined && tables.has(owner) && lastName(each.declaration.name) !== owner) add(each, owner);
    }
  return names;
}

/**
 * Classes that are handed a function that launches where a variable is made (`const bool isAdded = Table<Job>::add("fill", fill);`): who asks these
 * for what they hold starts it.
 */
function tablesOf(launching: readonly IndexedFunction[], index: HostIndex): ReadonlySet<string> {
  const handed = new Set(launching.map(({ declaration }) => lastName(declaration.name)));
  const tables = new Set<string>();
  for (const [, symbols] of namespaceSymbols(index))
    for (const symbol of symbols) {
      if (symbol.kind !== 'variable' || !symbol.declaration.initializer) continue;
      let isHanded = false;
      const owners: string[] = [];
      anywhere(symbol.declaration.initializer, (node) => {
        if (node.kind !== 'name') return false;
        isHanded ||= handed.has(lastName(node.name));
        if (node.name.parts.length > 1) owners.push(node.name.parts[node.name.parts.length - 2].name);
        return false;
      });
      if (isHanded) for (const owner of owners) tables.add(owner);
    }
  return tables;
}

/** Whether others than its own methods mention a class: these may make objects of it. */
const mentionedBesides = ({ functions }: HostIndex, owner: string): boolean =>
  functions.some((f) => isHostFunction(f.declaration) && ownerOf(f) !== owner && f.declaration.mentions.has(owner));

/** Functions that mention a class with methods that launch, or a function that does: others know the class by its base only, and have it made. */
function makersOf(owners: readonly string[], index: HostIndex): IndexedFunction[] {
  const { functions } = index;
  // what stands before a name may be a namespace, of which much else is
  const classes = new Set([...namespaceSymbols(index)].flatMap(([name, all]) => (all.some(isRecord) ? [name] : [])));
  const leading = new Set(owners.filter((owner) => classes.has(owner)));
  if (leading.size === 0) return [];
  const makers = new Set<IndexedFunction>();
  for (let count = -1; count < makers.size; ) {
    count = makers.size;
    for (const each of functions) {
      const { name, mentions } = each.declaration;
      if (makers.has(each) || !isHostFunction(each.declaration)) continue;
      if (!leading.has(lastName(name)) && ![...leading].some((word) => mentions.has(word))) continue;
      makers.add(each);
      leading.add(lastName(name));
    }
  }
  return [...makers];
}

const isHostFunction = ({ specifiers }: FunctionDeclaration): boolean =>
  !specifiers.isGlobal && (!specifiers.isDevice || specifiers.isHost);

const isRecord = ({ kind }: HostSymbol): boolean => kind === 'record';

const isHidden = ({ specifiers, name }: FunctionDeclaration): boolean =>
  specifiers.isStatic === true && name.parts.length === 1;

/**
 * Whether a unit's declarations let it use one of the names: it declares the function without defining it.
 * @param isOfBoth whether a header defines it that the unit under analysis includes too
 */
export function mayUse(
  index: HostIndex,
  names: ReadonlyMap<string, WantedFunction>,
  words: ReadonlySet<string>,
  isOfBoth: (declaration: FunctionDeclaration) => boolean,
): boolean {
  for (const wanted of names.values()) {
    if (!words.has(wanted.name)) continue;
    if (wanted.owner !== undefined && words.has(wanted.owner)) return true;
    const declared = [...namespaceSymbols(index)].flatMap(([name, all]) => (name === wanted.name ? all : []));
    const functions = declared.flatMap((symbol) => (symbol.kind === 'function' ? [symbol.declaration] : []));
    const fits = functions.filter(({ parameters }) => wanted.counts.has(parameters.length));
    if (fits.length > 0 && fits.every((each) => !each.body || isOfBoth(each))) return true;
  }
  return false;
}
