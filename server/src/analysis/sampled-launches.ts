/**
 * Launches as they would be if the host variables that nobody gives had the values of a sample: a grid computed from a size, and arguments
 * computed from it, then agree with the size itself.
 */
import type { HostValue } from '../launch/host-value';
import type { Launch } from './launches';
import { sampleValue } from './sampling';

/** Host variables that are given values at most. */
const MOST_ROOTS = 64;

export class SampledLaunches {
  private readonly roots: readonly string[];
  private readonly bySample = new Map<number, readonly Launch[]>();

  /** @param find the unit's launches under further values of host variables, by name */
  constructor(
    private readonly found: readonly Launch[],
    private readonly find: (values: ReadonlyMap<string, number>) => readonly Launch[],
  ) {
    this.roots = [...new Set(found.flatMap(rootsOf))].slice(0, MOST_ROOTS);
  }

  /** The launch under a sample; undefined where everything is known, or where the sample leads the host another way. */
  of(launch: Launch, sample: number): Launch | undefined {
    if (rootsOf(launch).length === 0) return undefined;
    let launches = this.bySample.get(sample);
    if (!launches) {
      launches = this.find(new Map(this.roots.map((root) => [root, sampleValue(root, sample)])));
      this.bySample.set(sample, launches);
    }
    const isSame = (other: Launch) =>
      other.kernel.declaration === launch.kernel.declaration &&
      other.place.first === launch.place.first &&
      other.arguments.length === launch.arguments.length &&
      other.instance === launch.instance;
    const [before, now] = [this.found.filter(isSame), launches.filter(isSame)];
    return now.length === before.length ? now[before.indexOf(launch)] : undefined;
  }
}

/** Names of the unknown host variables that a launch is computed from. */
function rootsOf({ grid, block, dynamicSharedBytes, arguments: passed }: Launch): readonly string[] {
  return [...grid, ...block, dynamicSharedBytes, ...passed].flatMap(rootsOfValue);
}

function rootsOfValue(value: HostValue): readonly string[] {
  if (value.kind === 'unknown') return value.roots ?? [];
  return value.kind === 'struct' ? [...value.fields.values()].flatMap(rootsOfValue) : [];
}
