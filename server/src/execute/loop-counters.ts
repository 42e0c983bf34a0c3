import { accessesOf } from '../program/operands';
import type { Tally } from './access';
import { ACCESS_FIELDS, BRANCH_FIELDS, spaces } from './counters';
import type { Analysis } from './decode';

/**
 * The counters that passes of a loop change: those of its blocks, branches and accesses. Of a large program they are few, and
 * each of its loops asks for them again and again.
 */
export class LoopCounters {
  /** Of blocks and branches. */
  private readonly own: readonly number[];
  private readonly accesses: readonly number[];
  /** What is remembered: counters of accesses are given out as these are first made, so that their number grows. */
  private readonly indices: number[] = [];
  private readonly before: number[] = [];
  private end = 0;

  constructor(
    { program, flow, slice }: Analysis,
    loop: number,
    private readonly tally: Tally,
  ) {
    const { layout } = tally;
    const own: number[] = [];
    const branches = new Set<number>();
    const accesses = new Set<number>();
    for (const block of flow.loops[loop].blocks) {
      own.push(block, layout.lanes + block);
      const { terminator } = program.blocks[block];
      if (terminator.kind === 'branch') branches.add(terminator.branch);
      for (const instruction of slice.kept[block]) for (const access of accessesOf(instruction)) accesses.add(access);
    }
    for (const branch of branches)
      for (let field = 0; field < BRANCH_FIELDS; field++) own.push(layout.branches + BRANCH_FIELDS * branch + field);
    this.own = own;
    this.accesses = [...accesses];
  }

  remember(): void {
    const { counters, layout } = this.tally;
    this.indices.length = 0;
    for (const index of this.own) this.indices.push(index);
    this.end = 0;
    this.addAccesses();
    this.before.length = 0;
    for (const index of this.indices) this.before.push(counters[index]);
    this.end = layout.used;
  }

  /** Counts what has been counted since it was remembered so many times more. */
  repeat(times: number): void {
    const { counters } = this.tally;
    const { indices, before } = this;
    this.addAccesses();
    for (let k = 0; k < indices.length; k++) {
      const index = indices[k];
      counters[index] += times * (counters[index] - (k < before.length ? before[k] : 0));
    }
  }

  /** Counters of accesses that were first made since the last time. */
  private addAccesses(): void {
    const { notes } = this.tally;
    for (const access of this.accesses)
      for (let space = 0; space < spaces.length; space++) {
        const at = notes[access * spaces.length + space]?.at ?? -1;
        if (at < this.end) continue;
        for (let field = 0; field < ACCESS_FIELDS; field++) this.indices.push(at + field);
      }
  }
}
