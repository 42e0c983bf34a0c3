/** What a program with a `main` calls or reads and no unit of it so far defines: asked for in other files of the workspace. */
import { anywhere } from '../parse/anywhere';
import type { FunctionDeclaration, RecordDeclaration } from '../parse/ast';
import { type HostIndex, type HostSymbol, lastName } from './scope';
import {
  isDefined,
  isMain,
  namespaceSymbols,
  ownerOf,
  type WantedFunction,
  want,
  wantVariable,
} from './wanted-functions';

/** By name: functions, methods and variables that `main` may come to, by the names that it and what it calls mention. None without a main. */
export function missingFunctions(index: HostIndex): ReadonlyMap<string, WantedFunction> {
  const missing = new Map<string, WantedFunction>();
  const mains = index.functions.filter(isMain);
  const mentioned = mentionedFrom(
    mains.map(({ declaration }) => declaration.mentions),
    index,
  );
  for (const [name, symbols] of namespaceSymbols(index)) {
    for (const symbol of symbols)
      if (symbol.kind === 'record') addMethods(symbol.declaration, (_, name) => mentioned.has(name), index, missing);
    if (mentioned.has(name) && isOnlyDeclared(symbols)) wantVariable(missing, name);
    const declared = symbols.flatMap((symbol) => (symbol.kind === 'function' ? [symbol.declaration] : []));
    if (!mentioned.has(name) || declared.length === 0 || declared.some(({ body }) => body)) continue;
    for (const declaration of declared) if (runsOnHost(declaration)) want(missing, declaration, undefined);
  }
  return missing;
}

/** The same for code of the device: what kernels may come to is defined in another file where a program is built with relocatable device code. */
export function missingDeviceCode(
  index: HostIndex,
  kernels: readonly FunctionDeclaration[],
): ReadonlyMap<string, WantedFunction> {
  const missing = new Map<string, WantedFunction>();
  // hardly any program is: what kernels mention is only asked for where something is left open
  for (const [name, symbols] of namespaceSymbols(index)) {
    const declared = symbols.flatMap((symbol) => (symbol.kind === 'function' ? [symbol.declaration] : []));
    if (!declared.some(({ body }) => body))
      for (const declaration of declared) if (ofDevice(declaration)) want(missing, declaration, undefined);
    if (isOnlyDeclared(symbols) && symbols.some(isOnDevice)) wantVariable(missing, name);
    for (const symbol of symbols)
      if (symbol.kind === 'record') addMethods(symbol.declaration, ofDevice, index, missing);
  }
  if (missing.size === 0) return missing;
  const mentioned = mentionedFrom(
    kernels.map(({ mentions }) => mentions),
    index,
  );
  return new Map([...missing].filter(([name]) => mentioned.has(name)));
}

const ofDevice = ({ specifiers }: FunctionDeclaration): boolean => specifiers.isDevice && !specifiers.isGlobal;

const isOnDevice = (symbol: HostSymbol): boolean =>
  symbol.kind === 'variable' && (symbol.declaration.specifiers.isDevice || symbol.declaration.specifiers.isConstant);

/** Of a name of variables: `extern` wherever it stands. */
function isOnlyDeclared(symbols: readonly HostSymbol[]): boolean {
  const variables = symbols.flatMap((symbol) => (symbol.kind === 'variable' ? [symbol.declaration] : []));
  return variables.length > 0 && !variables.some(isDefined);
}

/** Kernels too: the host launches them. */
const runsOnHost = ({ specifiers }: FunctionDeclaration): boolean =>
  !specifiers.isDevice || specifiers.isHost || specifiers.isGlobal;

function addMethods(
  record: RecordDeclaration,
  isWanted: (method: FunctionDeclaration, name: string) => boolean,
  { outOfClass }: HostIndex,
  missing: Map<string, WantedFunction>,
): void {
  if (!record.name) return;
  const owner = lastName(record.name);
  for (const member of record.members ?? []) {
    if (member.kind !== 'function' || member.body) continue;
    const name = lastName(member.name);
    if (isWanted(member, name) && !outOfClass.functions.has(`${owner}::${name}`)) want(missing, member, owner);
  }
}

function mentionedFrom(roots: readonly Iterable<string>[], index: HostIndex): ReadonlySet<string> {
  const byName = mentionsByName(index);
  const mentioned = new Set<string>();
  const open = [...roots];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const word of next) {
      if (mentioned.has(word)) continue;
      mentioned.add(word);
      open.push(...(byName.get(word) ?? []));
    }
  }
  return mentioned;
}

/** What functions mention, and what variables are made of: a table of functions leads to each of them. */
function mentionsByName(index: HostIndex): Map<string, Iterable<string>[]> {
  const byName = new Map<string, Iterable<string>[]>();
  const add = (name: string, mentions: Iterable<string>) => {
    const list = byName.get(name);
    if (list) list.push(mentions);
    else byName.set(name, [mentions]);
  };
  for (const { declaration } of index.functions)
    add(lastName(declaration.name).replace(/^~/, ''), declaration.mentions);
  for (const [name, symbols] of namespaceSymbols(index))
    for (const symbol of symbols)
      if (symbol.kind === 'variable' && symbol.declaration.initializer)
        add(name, namesIn(symbol.declaration.initializer));
  return byName;
}

function namesIn(initializer: object): Set<string> {
  const names = new Set<string>();
  anywhere(initializer, (node) => {
    if (node.kind === 'name') names.add(lastName(node.name));
    return false;
  });
  return names;
}

/** What is missing and a unit defines for others. */
export function definedFor(
  index: HostIndex,
  missing: ReadonlyMap<string, WantedFunction>,
  isOfDevice = false,
): string[] {
  const found = new Set<string>();
  for (const each of index.functions) {
    const { name, specifiers, parameters } = each.declaration;
    const wanted = missing.get(lastName(name));
    if (!wanted || specifiers.isStatic || !wanted.counts.has(parameters.length)) continue;
    if (isOfDevice && !specifiers.isDevice) continue;
    if (wanted.owner === undefined || wanted.owner === ownerOf(each)) found.add(wanted.name);
  }
  for (const [name, symbols] of namespaceSymbols(index)) {
    if (missing.get(name)?.counts.size !== 0) continue;
    if (symbols.some((symbol) => symbol.kind === 'variable' && isDefined(symbol.declaration))) found.add(name);
  }
  return [...found];
}
