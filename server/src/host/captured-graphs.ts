/** CUDA graphs in a run of the host's program: launches that are captured are noted, and done where their graph is launched. */
import type { GraphStep } from '../program/host-program';

/** A launch with what it was given when it was captured. */
export interface CapturedLaunch {
  readonly index: number;
  readonly values: readonly (number | undefined)[];
}

interface Graph {
  readonly launches: CapturedLaunch[];
  /** Addresses in what copies and fills write. */
  readonly written: number[];
  /** It does more than launch kernels, or something else than what was captured. */
  isChanged: boolean;
}

const newGraph = (isChanged = false): Graph => ({ launches: [], written: [], isChanged });

export class CapturedGraphs {
  private capturing: Graph | undefined;
  /** By address. */
  private readonly known = new Map<number, Graph>();

  /**
   * @param launch does a launch that was captured
   * @param forget nothing is known any more of the memory of the device, and of what lies at some addresses
   */
  constructor(
    private readonly launch: (captured: CapturedLaunch) => void,
    private readonly forget: (addresses: readonly number[]) => void,
  ) {}

  /** Notes a launch; false where none is captured now, so that it is to be done at once. */
  captures(launch: CapturedLaunch): boolean {
    this.capturing?.launches.push(launch);
    return this.capturing !== undefined;
  }

  carryOut(step: GraphStep, [graph, other]: readonly (number | undefined)[]): void {
    const of = (address: number | undefined) => (address === undefined ? undefined : this.known.get(address));
    switch (step) {
      case 'begin':
        this.capturing = newGraph();
        break;
      case 'end':
        if (this.capturing && graph !== undefined) this.known.set(graph, this.capturing);
        this.capturing = undefined;
        break;
      case 'memory':
        if (!this.capturing) break;
        this.capturing.isChanged = true;
        if (graph !== undefined) this.capturing.written.push(graph);
        // it was done all the same
        this.forget(this.capturing.written);
        break;
      case 'update': {
        const updated = of(other);
        if (graph !== undefined) this.known.set(graph, updated ?? newGraph(true));
        break;
      }
      case 'changed': {
        const changed = of(graph);
        if (changed) changed.isChanged = true;
        break;
      }
      case 'launch':
        this.replay(of(graph));
        break;
    }
  }

  private replay(graph: Graph | undefined): void {
    const isClear = graph !== undefined && !graph.isChanged;
    const { launches, written } = graph ?? newGraph();
    if (!isClear) this.forget(written);
    for (const launch of launches) this.launch(launch);
    if (!isClear) this.forget(written);
  }
}
