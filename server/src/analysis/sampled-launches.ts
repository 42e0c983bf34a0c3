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
  /** Host variables, with the names by which they are sampled. */
  private readonly roots: ReadonlyMap<string, string>;
  private readonly bySample = new Map<number, readonly Launch[]>();

  /** @param find the unit's launches under further values of host variables, by name */
  constructor(
    private readonly found: readonly Launch[],
    private readonly find: (values: ReadonlyMap<string, number>) => readonly Launch[],
  ) {
    const names = [...new Set(found.flatMap(rootsOf))].slice(0, MOST_ROOTS);
    const passedAs = new Map(found.flatMap(directly));
    this.roots = new Map(names.map((name) => [name, passedAs.get(name) ?? name]));
  }

  /** The launch under a sample; undefined where everything is known, or where the sample leads the host another way. */
  of(launch: Launch, sample: number): Launch | undefined {
    if (rootsOf(launch).length === 0) return undefined;
    let launches = this.bySample.get(sample);
    if (!launches) {
      launches = this.find(new Map([...this.roots].map(([root, name]) => [root, sampleValue(name, sample)])));
      this.bySample.set(sample, launches);
    }
    const isSame = (other: Launch) =>
      other.kernel.declaration === launch.kernel.declaration &&
      other.place.first === launch.place.first &&
      other.arguments.length === launch.arguments.length &&
      other.instance === launch.instance;
    const [before, now] = [this.found.filter(isSame), launches.filter(isSame)];
    const other = now.length === before.length ? now[before.indexOf(launch)] : undefined;
    return other?.grid.some(isImpossible) ? undefined : other;
  }
}

/** Blocks of a grid at most, by axis (CUDA C++ Programming Guide, "Compute Capabilities"). */
const MOST_BLOCKS = [2 ** 31 - 1, 65_535, 65_535];

const isImpossible = (size: HostValue, axis: number): boolean =>
  size.kind === 'number' && (size.value < 1 || size.value > MOST_BLOCKS[axis]);

/** Host variables that are passed as they are, with the parameters they are passed for: those are sampled by the same name. */
const directly = ({ arguments: passed, kernel }: Launch): [string, string][] =>
  passed.flatMap((value, i): [string, string][] => {
    const name = kernel.declaration.parameters[i]?.name;
    const root = value.kind === 'unknown' && value.roots?.length === 1 ? value.roots[0] : undefined;
    return name && root !== undefined && value.kind === 'unknown' && value.name === root ? [[root, name]] : [];
  });

/** Names of the unknown host variables that a launch is computed from. */
function rootsOf({ grid, block, dynamicSharedBytes, arguments: passed }: Launch): readonly string[] {
  return [...grid, ...block, dynamicSharedBytes, ...passed].flatMap(rootsOfValue);
}

function rootsOfValue(value: HostValue): readonly string[] {
  if (value.kind === 'unknown') return value.roots ?? [];
  return value.kind === 'struct' ? [...value.fields.values()].flatMap(rootsOfValue) : [];
}
