/**
 * Whether what kernels leave in memory decides with which numbers the host launches others: how many are left over (`cudaMemcpy(&left, …)`, a list in
 * managed memory that the host sorts out), as the grid or an integer. Then kernels are executed for it, though no data lead their own accesses.
 *
 * By registers and classes of memory (points-to.ts), whatever comes first: what is computed of a result rests on it, and so does what is stored, or
 * assigned in one of several ways, under a condition of one. How often a loop is passed does not count: an iteration that ends once it has
 * converged launches the same each time, and a number with the type of a float leads no access.
 */
import { controlFlow } from '../program/control-flow';
import { controlDependence } from '../program/dependence';
import type { HostInstruction } from '../program/host-program';
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { PointsTo } from './points-to';

/** @param host what launches need of the program (needed.ts) */
export function resultsDecide(host: Program): boolean {
  return new Taint(host).reachesLaunch();
}

class Taint {
  private readonly pointsTo: PointsTo;
  private readonly registers: Uint8Array;
  private readonly memory = new Set<number>();
  /** By block: conditions, but of loops' ends, on which it rests whether control comes to it. */
  private readonly conditions: readonly (readonly Register[])[];
  private readonly order: readonly number[];
  private changes = false;
  private readonly reads: Register[] = [];

  constructor(private readonly host: Program) {
    this.pointsTo = new PointsTo(host);
    this.registers = new Uint8Array(host.registers.length);
    const flow = controlFlow(host);
    this.order = flow.order;
    const ends = new Set(flow.loops.flatMap((loop) => loop.exitBranches));
    this.conditions = controlDependence(host, flow).map((branches) =>
      [...branches].flatMap((block) => {
        const { terminator } = host.blocks[block];
        return terminator.kind === 'branch' && !ends.has(block) ? [terminator.condition] : [];
      }),
    );
  }

  reachesLaunch(): boolean {
    this.takeResults();
    if (this.memory.size === 0) return false;
    do {
      this.changes = false;
      for (const block of this.order) if (this.passes(block)) return true;
    } while (this.changes);
    return false;
  }

  /** What launches may write. */
  private takeResults(): void {
    for (const { instructions } of this.host.blocks)
      for (const i of instructions) {
        if (i.op !== 'host' || i.fn !== 'launch' || i.launch === undefined) continue;
        for (const [at, value] of (this.host.launches?.[i.launch].values ?? []).entries())
          if (value.kind === 'parameter' && value.isPointer && value.writes)
            for (const memory of this.pointsTo.classOf(i.args[at])) this.memory.add(memory);
      }
  }

  /** Goes through a block; true where a launch is given a number of a result. */
  private passes(block: number): boolean {
    const isChosen = this.conditions[block].some((condition) => this.registers[condition] === 1);
    for (const i of this.host.blocks[block].instructions) {
      if (i.op === 'host' && i.fn === 'launch') {
        if (this.isGivenResult(i)) return true;
      } else this.follow(i, isChosen);
    }
    return false;
  }

  private follow(i: Instruction, isChosen: boolean): void {
    const rests = this.readsResult(i);
    switch (i.op) {
      case 'store':
        if (rests || isChosen) this.mark(this.pointsTo.classOf(i.address));
        return;
      case 'host':
        if (i.fn === 'copy' && (rests || isChosen || this.holdsResult(i.args[1])))
          this.mark(this.pointsTo.classOf(i.args[0]));
        if (i.fn === 'fill' && (rests || isChosen)) this.mark(this.pointsTo.classOf(i.args[0]));
        break;
      case 'load':
      case 'atomic':
        if (this.holdsResult(i.address)) this.markAll(writesOf(i));
        break;
      default:
        break;
    }
    if (rests) this.markAll(writesOf(i));
    else if (isChosen) this.markAll(writesOf(i).filter((r) => this.host.registers[r].role === 'variable'));
  }

  private readsResult(i: Instruction): boolean {
    const count = readsInto(i, this.reads);
    for (let at = 0; at < count; at++) if (this.registers[this.reads[at]] === 1) return true;
    return false;
  }

  private holdsResult(address: Register): boolean {
    return this.pointsTo.classOf(address).some((memory) => this.memory.has(memory));
  }

  private isGivenResult({ launch, args }: HostInstruction): boolean {
    const values = launch === undefined ? [] : (this.host.launches?.[launch].values ?? []);
    return values.some(
      (value, at) =>
        this.registers[args[at]] === 1 && (value.kind !== 'parameter' || (!value.isPointer && !value.isFloat)),
    );
  }

  private mark(classes: readonly number[]): void {
    for (const memory of classes) {
      if (this.memory.has(memory)) continue;
      this.memory.add(memory);
      this.changes = true;
    }
  }

  private markAll(registers: readonly Register[]): void {
    for (const r of registers) {
      if (this.registers[r] === 1) continue;
      this.registers[r] = 1;
      this.changes = true;
    }
  }
}
