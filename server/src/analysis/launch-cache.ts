/**
 * Launches between edits: they are evaluated from host code, so while only bodies of kernels change, the launches found before
 * still hold and only their positions move.
 */
import type { DeviceProperties } from '../hardware/device-properties';
import { findLaunches } from '../launch/find-launches';
import type { FoundLaunch } from '../launch/found-launch';
import type { TranslationUnit } from '../parse/ast';
import type { PreprocessResult } from '../preprocess/token';
import type { Fingerprint, Fingerprints } from './fingerprint';
import type { LinkedUnit } from './linker';

/** A launch with the present position of its kernel's declaration. */
export type LocatedLaunch = FoundLaunch & { readonly kernelFirst?: number };

interface Entry {
  readonly fingerprint: Fingerprint;
  readonly launches: readonly FoundLaunch[];
}

/** What the launches of a unit are looked for with. */
export interface LaunchQuestion {
  /** Values of host variables, by name. */
  readonly assume: ReadonlyMap<string, number>;
  readonly others: readonly LinkedUnit[];
  readonly device: DeviceProperties | undefined;
  readonly programArguments: readonly string[] | undefined;
  /** Different launches of a host loop. */
  readonly rounds: number;
  /** Of a sample only shapes and arguments count: what the device answered is no matter. */
  readonly isSample: boolean;
  /** Names of the kernels in question. */
  readonly wanted: readonly string[];
}

/** An editor shows the worst of them, the command line each. */
export const roundsOf = (patience = 1): number => (patience > 1 ? 24 : 3);

const SIZE = 16;

export class LaunchCache {
  private readonly entries = new Map<string, Entry>();

  /** The launches of a unit, and of the units linked with it; found anew only when something that host code depends on has changed. */
  find(
    tree: TranslationUnit,
    source: PreprocessResult,
    fingerprints: Fingerprints,
    { assume, others, device, programArguments, rounds, isSample, wanted }: LaunchQuestion,
  ): LocatedLaunch[] {
    const now = fingerprints.ofHost();
    const comments = source.comments.map((c) => c.text).join('\n');
    const linked = others.map(({ id }) => id).join();
    const key = `${source.tokens.files[0]?.path}#${linked}#${now.key}#${comments}#${JSON.stringify([...assume])}#${device?.row.cc}#${device?.device?.name}#${rounds}#${isSample}#${programArguments?.join('\n')}`;
    const known = this.entries.get(key);
    if (known) {
      const move = shift(known.fingerprint, now);
      return known.launches.map((l) => ({
        ...l,
        place: { first: move(l.place.first), last: move(l.place.last) },
        kernelFirst: l.kernel.declaration && move(l.kernel.declaration.first),
      }));
    }
    const alone = { assume, device, programArguments, rounds, withoutOtherDevice: isSample };
    const all = findLaunches(tree, source.tokens, source.comments, { ...alone, others });
    const isMissing = others.length > 0 && lacksOne(all, wanted);
    const launches = isMissing ? withOwn(all, findLaunches(tree, source.tokens, source.comments, alone)) : all;
    // a lambda that is passed on is lowered from its own tokens: those of this text only
    if (!launches.some(passesLambda)) this.remember(key, { fingerprint: now, launches });
    return launches.map((l) => ({ ...l, kernelFirst: l.kernel.declaration?.first }));
  }

  private remember(key: string, entry: Entry): void {
    this.entries.set(key, entry);
    if (this.entries.size <= SIZE) return;
    const oldest = this.entries.keys().next().value;
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

/** Kernels that the linked program did not come to, within its budget, are launched as the unit alone would. */
function withOwn(launches: readonly FoundLaunch[], own: readonly FoundLaunch[]): readonly FoundLaunch[] {
  const known = new Set(launches.map(({ kernel }) => kernel.name));
  return [...launches, ...own.filter(({ kernel }) => !known.has(kernel.name))];
}

function lacksOne(launches: readonly FoundLaunch[], wanted: readonly string[]): boolean {
  const known = new Set(launches.map(({ kernel }) => kernel.name));
  return wanted.some((name) => !known.has(name));
}

const passesLambda = (launch: FoundLaunch): boolean =>
  launch.arguments.some(
    (a) => a.kind === 'lambda' || (a.kind === 'struct' && [...a.fields.values()].some((f) => f.kind === 'lambda')),
  );

/** Token positions of an earlier text in the present one. */
export function shift(before: Fingerprint, now: Fingerprint): (token: number) => number {
  return (token) => {
    const index = before.pieces.findIndex((p) => token >= p.first && token <= p.last);
    return index < 0 ? token : token + now.pieces[index].first - before.pieces[index].first;
  };
}
