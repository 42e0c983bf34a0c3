/** Where launches stand in a unit, and which functions lead to them. */
import { opensLaunch } from '../parse/launch-token';
import type { TokenStream } from '../preprocess/token';
import type { HostTokens } from './host-tokens';
import { launchFunctions } from './launch-functions';
import { type CallSites, LaunchRecorder } from './launch-recorder';
import { type HostIndex, type IndexedFunction, lastName } from './scope';
import { launchedName } from './shared-kernels';

export interface LaunchSites {
  readonly recorder: LaunchRecorder;
  /** Functions that launch, or lead to a launch, in the order of the text. */
  readonly holders: readonly Holder[];
}

export interface Holder {
  readonly function: IndexedFunction;
  readonly name: string;
  /** Launch tokens of its own. */
  readonly sites: readonly number[];
}

const none: ReadonlySet<string> = new Set();

/**
 * Finds the launches by their tokens, and the functions that reach them by the names they mention.
 * @param unwanted kernels whose launches do not count
 */
export function findSites(index: HostIndex, tokens: HostTokens, unwanted: ReadonlySet<string> = none): LaunchSites {
  const sites = siteTokens(tokens, unwanted);
  const all = index.functions.map((entry): Holder => {
    const { first, last } = entry.declaration;
    return {
      function: entry,
      name: calledBy(entry),
      sites: sites.length === 0 ? sites : sites.filter((site) => site >= first && site <= last),
    };
  });
  // Device functions count only where they launch themselves: their calls run on the device.
  const functions = all.filter((entry) => entry.sites.length > 0 || runsOnHost(entry.function));
  const sitesOf = reachedSites(functions);
  const holders = functions.filter(({ name, sites: own }) => own.length > 0 || sitesOf.has(name));
  const inFunctions = [...new Set(functions.flatMap((entry) => entry.sites))].sort((a, b) => a - b);
  return { recorder: new LaunchRecorder(inFunctions, callTokens(tokens, sitesOf), sitesOf), holders };
}

/** The name that a caller must mention: an operator's is its record's, for `Functor()(x)` does not spell `operator()`. */
function calledBy({ declaration, record }: IndexedFunction): string {
  const name = lastName(declaration.name);
  if (!name.startsWith('operator')) return name;
  return record?.name ? lastName(record.name) : (declaration.name.parts.at(-2)?.name ?? name);
}

function runsOnHost({ declaration }: IndexedFunction): boolean {
  const { isGlobal, isDevice, isHost } = declaration.specifiers;
  return !isGlobal && (!isDevice || isHost);
}

function siteTokens(units: HostTokens, unwanted: ReadonlySet<string>): number[] {
  const sites: number[] = [];
  for (const { base, tokens } of units) {
    for (const at of launchTokens(tokens)) {
      if (opensLaunch(tokens.text, at) && unwanted.has(launchedName(tokens.text, at) ?? '')) continue;
      sites.push(base + at);
    }
  }
  return sites;
}

/** Tokens of a unit never change, and launches in it are looked for once a sample and once for each unit that is linked with it. */
const knownLaunchTokens = new WeakMap<TokenStream, readonly number[]>();
/** The names that were looked for last: those of the unit alone, and of all that are linked, in turns. */
const knownCallTokens = new WeakMap<TokenStream, readonly CallTokens[]>();
const MOST_NAMES = 3;

interface CallTokens {
  readonly names: string;
  readonly found: readonly number[];
}

function launchTokens(tokens: TokenStream): readonly number[] {
  let found = knownLaunchTokens.get(tokens);
  if (!found) {
    found = tokensThat(
      tokens,
      (text, at) => opensLaunch(tokens.text, at) || (launchFunctions.has(text) && tokens.text[at + 1] === '('),
    );
    knownLaunchTokens.set(tokens, found);
  }
  return found;
}

function tokensThat({ text, count }: TokenStream, is: (text: string, at: number) => boolean): number[] {
  const found: number[] = [];
  for (let at = 0; at < count; at++) if (is(text[at], at)) found.push(at);
  return found;
}

/** For each function's name the launches that a call of it can reach. */
function reachedSites(functions: readonly Holder[]): Map<string, readonly number[]> {
  const reached = new Map<string, Set<number>>();
  const pending: string[] = [];
  for (const { name, sites } of functions) {
    if (sites.length > 0 && addAll(reached, name, sites)) pending.push(name);
  }
  const callers = pending.length > 0 ? callersByName(functions) : new Map<string, Set<string>>();
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    for (const caller of callers.get(name) ?? []) {
      if (addAll(reached, caller, reached.get(name) ?? [])) pending.push(caller);
    }
  }
  return new Map([...reached].map(([name, sites]) => [name, [...sites]]));
}

/** Names of the functions that mention a function's name. */
function callersByName(functions: readonly Holder[]): Map<string, Set<string>> {
  const callers = new Map<string, Set<string>>(functions.map(({ name }) => [name, new Set()]));
  for (const { name, function: entry } of functions) {
    for (const mentioned of entry.declaration.mentions) if (mentioned !== name) callers.get(mentioned)?.add(name);
  }
  return callers;
}

function addAll(map: Map<string, Set<number>>, name: string, sites: Iterable<number>): boolean {
  const set = map.get(name) ?? new Set<number>();
  map.set(name, set);
  const before = set.size;
  for (const site of sites) set.add(site);
  return set.size > before;
}

function callTokens(units: HostTokens, sitesOf: ReadonlyMap<string, unknown>): CallSites {
  const result = { tokens: [] as number[], names: [] as string[] };
  if (sitesOf.size === 0) return result;
  const names = [...sitesOf.keys()].join();
  for (const { base, tokens } of units) {
    const known = knownCallTokens.get(tokens) ?? [];
    const same = known.find((each) => each.names === names);
    const found = same?.found ?? tokensThat(tokens, (text) => sitesOf.has(text));
    if (!same) knownCallTokens.set(tokens, [{ names, found }, ...known].slice(0, MOST_NAMES));
    for (const at of found) {
      result.tokens.push(base + at);
      result.names.push(tokens.text[at]);
    }
  }
  return result;
}
