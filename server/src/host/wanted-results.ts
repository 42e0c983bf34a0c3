/**
 * Which launches leave something in memory that the figures of a launch, or the host's way to one, rest on. The others need not be
 * executed: the budget is for those that matter (image_ops.cu of the fifth set spent all of it on a filter whose result nobody looks at).
 *
 * Told by classes of memory (points-to.ts), whatever comes first: what a kernel's addresses and branches rest on is wanted, and so is what
 * the host reads; then what kernels compute of that which is wanted, and copies of it.
 */
import { decidingLoads } from '../program/data-loads';
import type { HostInstruction } from '../program/host-program';
import type { AccessSite, Program, Register } from '../program/program';
import { ANY, PointsTo } from './points-to';

/** A launch as far as it matters here. */
interface Launched {
  /** undefined: it is not executed. */
  readonly kernel: Program | undefined;
  readonly leaves: readonly Leaf[];
}

/** A pointer that a kernel is given. */
interface Leaf {
  readonly name: string;
  readonly writes: boolean;
  readonly classes: readonly number[];
}

/**
 * By index of the host's launches: whether something may rest on what it writes.
 * @param kernelOf the program of a launch, undefined where it is not known
 * @param nameOf a parameter or a member of one, in the kernel's inputs and in the host's launches
 */
export function wantedResults(
  host: Program,
  kernelOf: (launch: number) => Program | undefined,
  nameOf: (parameter: number, path: readonly string[]) => string,
): readonly boolean[] {
  return new Wants(host, kernelOf, nameOf).find();
}

class Wants {
  private readonly pointsTo: PointsTo;
  private readonly wanted = new Set<number>();
  private readonly launched: readonly Launched[];
  private readonly copies: (readonly [to: readonly number[], from: readonly number[]])[] = [];
  private readonly symbols: ReadonlyMap<string, readonly number[]>;

  constructor(
    private readonly host: Program,
    kernelOf: (launch: number) => Program | undefined,
    private readonly nameOf: (parameter: number, path: readonly string[]) => string,
  ) {
    this.pointsTo = new PointsTo(host);
    this.symbols = new Map(host.objects.map(({ name, register }) => [name, this.pointsTo.classOf(register)]));
    const args = new Map<number, readonly Register[]>();
    for (const instruction of host.blocks.flatMap((b) => b.instructions)) {
      if (instruction.op === 'load' || instruction.op === 'atomic')
        this.want(this.pointsTo.classOf(instruction.address));
      else if (instruction.op === 'host') this.note(instruction, args);
    }
    this.launched = (host.launches ?? []).map((_, index) => ({
      kernel: kernelOf(index),
      leaves: this.leavesOf(index, args.get(index) ?? []),
    }));
  }

  find(): readonly boolean[] {
    for (const { kernel, leaves } of this.launched)
      if (kernel)
        for (const access of decidingLoads(kernel)) this.want(this.classesOf(kernel, leaves, kernel.accesses[access]));
    const isWanted = this.launched.map(() => false);
    for (let before = -1; before < this.wanted.size; ) {
      before = this.wanted.size;
      for (const [to, from] of this.copies) if (this.isWanted(to)) this.want(from);
      this.launched.forEach(({ kernel, leaves }, index) => {
        if (!kernel || isWanted[index] || !this.isWanted(this.writtenBy(kernel, leaves))) return;
        isWanted[index] = true;
        for (const site of kernel.accesses)
          if (site.operation !== 'store') this.want(this.classesOf(kernel, leaves, site));
        // a launch that was found adds to what is wanted, or its kernel reads nothing
      });
    }
    return isWanted;
  }

  private note({ fn, args, launch }: HostInstruction, given: Map<number, readonly Register[]>): void {
    if (fn === 'copy') this.copies.push([this.pointsTo.classOf(args[0]), this.pointsTo.classOf(args[1])]);
    else if (fn === 'launch' && launch !== undefined) given.set(launch, args);
  }

  private leavesOf(index: number, args: readonly Register[]): Leaf[] {
    return (this.host.launches?.[index].values ?? []).flatMap((value, i): Leaf[] => {
      if (value.kind !== 'parameter' || !value.isPointer || args[i] === undefined) return [];
      const classes = value.leadsFurther ? this.pointsTo.closureOf(args[i]) : this.pointsTo.classOf(args[i]);
      const writes = value.writes === true || value.leadsFurther === true;
      return [{ name: this.nameOf(value.parameter, value.path), writes, classes }];
    });
  }

  private writtenBy(kernel: Program, leaves: readonly Leaf[]): number[] {
    return kernel.accesses.flatMap((site) =>
      site.operation === 'load' ? [] : this.classesOf(kernel, leaves, site, (leaf) => leaf.writes),
    );
  }

  /** The memory that an access may mean: what its pointer leads to, where that is known, else what any does. */
  private classesOf(
    kernel: Program,
    leaves: readonly Leaf[],
    { object, space }: AccessSite,
    mayBe: (leaf: Leaf) => boolean = () => true,
  ): readonly number[] {
    if (space !== 'global' && space !== 'generic' && space !== 'constant') return [];
    if (object !== undefined) {
      const { register, name } = kernel.objects[object];
      const source = kernel.inputs.find((input) => input.register === register)?.source;
      if (source?.kind === 'parameter') {
        const wanted = this.nameOf(source.parameter, source.path);
        const leaf = leaves.find((l) => l.name === wanted);
        if (leaf) return leaf.classes;
      } else if (this.symbols.has(name)) return this.symbols.get(name) ?? [];
      else if (space === 'constant') return [];
    }
    return [...leaves.filter(mayBe).flatMap((l) => l.classes), ...[...this.symbols.values()].flat()];
  }

  private want(classes: readonly number[]): void {
    for (const memory of classes) this.wanted.add(memory);
  }

  private isWanted(classes: readonly number[]): boolean {
    return classes.some((memory) => memory === ANY || this.wanted.has(memory) || this.wanted.has(ANY));
  }
}
