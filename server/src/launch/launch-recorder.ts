/** Collects the launches of a unit and knows which are still to be seen. */
import type { FunctionDeclaration } from '../parse/ast';
import { launchKey } from './export';
import type { FoundLaunch } from './found-launch';
import { reportedRounds } from './reported-rounds';
import { anyWithin, lowerBound } from './sorted-tokens';

interface Recorded {
  readonly launch: FoundLaunch;
  readonly instance: string;
  readonly speculative: boolean;
  /** The outermost host loop it was met in, each pass of the loop counted anew; -1 outside of loops. */
  readonly loop: number;
  readonly round: number;
}

/** Tokens that name a function from which a launch can be reached, sorted, and the names. */
export interface CallSites {
  readonly tokens: readonly number[];
  readonly names: readonly string[];
}

/** Different launches kept of one kernel at one site: a wrapper that all kernels go through is one site. */
const launchesPerKernel = 24;
/** Different launches kept of one site while the loops run, to pick first, typical and last from. */
const keptPerSite = 2048;
/** Different launches reported of a loop at least: first, middle and last. */
export const FEWEST_ROUNDS = 3;

export class LaunchRecorder {
  /** Above 0 while a way is looked into that the program does not take. */
  speculation = 0;
  /** Number of different launches recorded so far. */
  count = 0;
  private muted = 0;
  /** Above 0 in ways with the values under which the program would take them (supposed.ts). */
  private supposing = 0;
  private loops = 0;
  private loopDepth = 0;
  private round = 0;
  private readonly bySite = new Map<number, Map<string, Recorded>>();
  private readonly entered = new Set<FunctionDeclaration>();
  private readonly seenTargets = new Set<number>();

  /**
   * `sites`: tokens at which launches stand, sorted. `sitesOf`: for a function's name, the sites that a call can reach.
   */
  constructor(
    private readonly sites: readonly number[],
    private readonly calls: CallSites,
    private readonly sitesOf: ReadonlyMap<string, readonly number[]>,
  ) {}

  /** True if a launch can be reached from tokens first … last. */
  holds(first: number, last: number): boolean {
    return anyWithin(this.sites, first, last) || anyWithin(this.calls.tokens, first, last);
  }

  /** True if a launch can be reached from tokens first … last that was not recorded yet. */
  holdsUnseen(first: number, last: number): boolean {
    for (let at = lowerBound(this.sites, first); at < this.sites.length && this.sites[at] <= last; at++) {
      if (!this.seenTargets.has(this.sites[at])) return true;
    }
    const { tokens, names } = this.calls;
    for (let at = lowerBound(tokens, first); at < tokens.length && tokens[at] <= last; at++) {
      if (this.sitesOf.get(names[at])?.some((site) => !this.seenTargets.has(site))) return true;
    }
    return false;
  }

  /** Sites that no launch was recorded for. */
  unseenSites(): number[] {
    return this.sites.filter((site) => !this.seenTargets.has(site));
  }

  enter(declaration: FunctionDeclaration): void {
    this.entered.add(declaration);
  }

  hasEntered(declaration: FunctionDeclaration): boolean {
    return this.entered.has(declaration);
  }

  /** Marks the begin of a host loop that launches; the result marks its end. */
  enterLoop(): () => void {
    if (this.loopDepth === 0) this.loops++;
    this.loopDepth++;
    const round = this.round;
    return () => {
      this.loopDepth--;
      this.round = round;
    };
  }

  setRound(round: number): void {
    if (this.loopDepth <= 1) this.round = round;
  }

  get isMuted(): boolean {
    return this.muted > 0;
  }

  /** Records again, though muted once, until the result is called. */
  hear(): () => void {
    const isMutedOnce = this.muted === 1;
    if (isMutedOnce) this.muted = 0;
    this.supposing++;
    return () => {
      this.supposing--;
      if (isMutedOnce) this.muted = 1;
    };
  }

  /** Records nothing until the result is called. */
  mute(): () => void {
    this.muted++;
    return () => {
      this.muted--;
    };
  }

  /** A loop may have further rounds, whose values are not followed. @param first, last its tokens */
  goOn(first: number, last: number): void {
    for (const [site, recorded] of this.bySite) {
      if (site < first || site > last) continue;
      for (const [key, each] of recorded)
        recorded.set(key, { ...each, launch: { ...each.launch, isFirstOfMany: true } });
    }
  }

  /** `instance`: equal for launches of one instance of a kernel. `values`: equal for those that pass the same. */
  record(found: FoundLaunch, instance: string, values: string): void {
    const launch = this.supposing > 0 ? { ...found, isSupposed: true as const } : found;
    const key = instance + values;
    for (let at = lowerBound(this.sites, launch.place.first); this.sites[at] <= launch.place.last; at++) {
      // Only while muted rounds are blind is a site left for the rounds that count.
      if (this.muted === 0) this.seenTargets.add(this.sites[at]);
    }
    const site = this.bySite.get(launch.place.first) ?? new Map<string, Recorded>();
    if (this.muted > 0 || site.size >= keptPerSite) return;
    this.bySite.set(launch.place.first, site);
    const known = site.get(key);
    const speculative = this.speculation > 0;
    if (known && (!known.speculative || speculative)) return;
    const inLoop = this.loopDepth > 0;
    site.set(key, { launch, instance, speculative, loop: inLoop ? this.loops : -1, round: inLoop ? this.round : 0 });
    if (!known) this.count++;
  }

  /**
   * What was found, in the order of the text: loops thinned out, guesses dropped where a real run came by.
   * @param rounds different launches of a loop that are kept, at least three
   */
  launches(rounds = FEWEST_ROUNDS): FoundLaunch[] {
    const sites = [...this.bySite].sort(([a], [b]) => a - b);
    return sites.flatMap(([, recorded]) => chosen([...recorded.values()], rounds));
  }
}

function chosen(recorded: readonly Recorded[], rounds: number): FoundLaunch[] {
  const real = recorded.filter((entry) => !entry.speculative);
  const pool = real.length > 0 ? real : recorded;
  const groups = new Map<string, Recorded[]>();
  for (const entry of pool) {
    const key = entry.loop < 0 ? `${groups.size}` : `loop ${entry.loop} ${entry.instance}`;
    const group = groups.get(key);
    if (group) group.push(entry);
    else groups.set(key, [entry]);
  }
  const lists = [...groups.values()];
  const shares = sharesOf(lists, rounds);
  return lists.flatMap((group) => thinned(group, shares.get(group) ?? 0));
}

/** How many of each group are kept, so that those of a kernel's first instance leave room for the others: small groups first, large ones share the rest. */
function sharesOf(groups: readonly (readonly Recorded[])[], rounds: number): Map<readonly Recorded[], number> {
  const byKernel = new Map<string, (readonly Recorded[])[]>();
  for (const group of groups) {
    const { name } = group[0].launch.kernel;
    const alike = byKernel.get(name);
    if (alike) alike.push(group);
    else byKernel.set(name, [group]);
  }
  const shares = new Map<readonly Recorded[], number>();
  for (const alike of byKernel.values()) {
    let left = launchesPerKernel;
    alike
      .toSorted((a, b) => a.length - b.length)
      .forEach((group, nth) => {
        const even = Math.max(FEWEST_ROUNDS, Math.floor(left / (alike.length - nth)));
        const share = Math.min(group.length, rounds, even, left);
        shares.set(group, share);
        left -= share;
      });
  }
  return shares;
}

function thinned(group: readonly Recorded[], rounds: number): FoundLaunch[] {
  if (rounds < Math.min(group.length, FEWEST_ROUNDS))
    return group.slice(0, rounds).map((entry) => finished(entry, undefined));
  if (group.length === 1) return [finished(group[0], undefined)];
  const last = group.length - 1;
  const which = (at: number) => (at === 0 ? 'first' : at === last ? 'last' : 'typical');
  const picked = reportedRounds(group.length, rounds, (at) => shapeOf(group[at]));
  return picked.map((at) => finished(group[at], which(at)));
}

const shapeOf = ({ launch: { grid, block } }: Recorded): string => launchKey([...grid, ...block]);

function finished(entry: Recorded, which: 'first' | 'typical' | 'last' | undefined): FoundLaunch {
  const launch = entry.speculative ? { ...entry.launch, reached: false } : entry.launch;
  return which ? { ...launch, iteration: { round: entry.round, which } } : launch;
}
