/** The text of a hover on `__launch_bounds__`: the register limit it sets for the chosen capability, and the blocks it keeps resident. */
import type { Capability } from '../hardware/capabilities';
import { occupancy, registerBound } from '../hardware/occupancy';
import { compilerBound } from '../hardware/register-bounds';
import { grouped, percent } from '../report/figures';
import type { KernelReport, LaunchReport } from '../report/report';

type Bounds = NonNullable<LaunchReport['launchBounds']>;

/** `__launch_bounds__(256, 8)` */
export function boundsName({ maxThreads, minBlocks }: Bounds): string {
  return `__launch_bounds__(${minBlocks === undefined ? maxThreads : `${maxThreads}, ${minBlocks}`})`;
}

/** Blocks in the table of register limits at most. */
const MOST_COLUMNS = 8;

const blocksText = (count: number): string => (count === 1 ? '1 block' : `${count} blocks`);

/** What these bounds mean, as Markdown; `launches` are those of the instances that have them. */
export function boundsText(
  kernel: KernelReport,
  bounds: Bounds,
  launches: readonly LaunchReport[],
  capability: Capability,
): string {
  const parts = [`**\`${boundsName(bounds)}\`** of \`${kernel.name}\`, capability ${capability.cc}`];
  const { limits } = capability;
  const { maxThreads, minBlocks } = bounds;
  if (maxThreads > limits.threadsPerBlock) {
    parts.push(
      `A block has at most ${grouped(limits.threadsPerBlock)} threads on ${capability.cc}: no launch can reach this bound.`,
    );
    return parts.join('\n\n');
  }
  const bound = compilerBound(capability, { launchBounds: bounds });
  if (bound === undefined) return parts.join('\n\n');
  parts.push(limitLine(bounds, bound, capability), tableLine(maxThreads, capability));
  if (minBlocks === undefined && bound.registers === limits.registersPerThread)
    parts.push(
      'Without a second argument the compiler uses as many registers as it likes: this bound takes none away.',
    );
  parts.push(...launchLines(bounds, launches));
  return parts.filter((part) => part !== '').join('\n\n');
}

function limitLine(
  { maxThreads, minBlocks }: Bounds,
  { registers, ignoresMinBlocks }: { registers: number; ignoresMinBlocks: boolean },
  capability: Capability,
): string {
  const { limits } = capability;
  const limit = `**at most ${registers} registers a thread**`;
  if (ignoresMinBlocks)
    return `${blocksText(minBlocks ?? 1)} of ${maxThreads} threads do not fit a multiprocessor of ${capability.cc} (${grouped(limits.threadsPerSm)} threads, ${limits.blocksPerSm} blocks): the compiler ignores the second argument. One block has to fit: ${limit}.`;
  const held = occupancy(capability, {
    threadsPerBlock: maxThreads,
    registersPerThread: registers,
    sharedBytesPerBlock: 0,
  });
  const least =
    minBlocks === undefined
      ? 'One block has to fit'
      : `At least ${blocksText(minBlocks)} of ${maxThreads} threads a multiprocessor`;
  return `${least}: ${limit}. With so many it holds ${blocksText(held.blocksPerSm)}, ${percent(held.theoretical)} occupancy.`;
}

/** `Registers a thread by blocks: 1: 255, 2: 128, 3: 80, …` */
function tableLine(maxThreads: number, capability: Capability): string {
  const cells: string[] = [];
  for (let blocks = 1; cells.length < MOST_COLUMNS; blocks++) {
    const registers = registerBound(capability, maxThreads, blocks);
    if (registers === 0) break;
    cells.push(`${blocks}: ${registers}`);
  }
  return cells.length > 1 ? `Registers a thread by blocks a multiprocessor: ${cells.join(', ')}.` : '';
}

/** Launches that do not use what the bound reserves. */
function launchLines({ maxThreads }: Bounds, launches: readonly LaunchReport[]): string[] {
  const lines = launches
    .filter(({ origin }) => origin === 'launch-site')
    .map(({ block: [x, y, z], line }) => ({ threads: x * y * z, line }))
    .filter(({ threads }) => threads !== maxThreads)
    .map(({ threads, line }) =>
      threads > maxThreads
        ? `The launch in line ${line} has ${threads} threads a block and fails.`
        : `The launch in line ${line} has ${threads} threads a block; \`__launch_bounds__(${threads})\` would be enough.`,
    );
  return [...new Set(lines)].slice(0, 3);
}
