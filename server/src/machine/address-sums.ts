/**
 * Which loads of an inlined function have an address that is summed up in the function itself, so that they are not the first instruction of their call
 * (charge-calls.ts).
 */
import type { LoadInstruction, Program, Register, SourcePlace } from '../program/program';

/** Numbers of statements are below. */
export const STATEMENTS = 2 ** 31;

/** Numbers for inlined functions: the same for the same calls, however often a loop around them is written out; 0 is the kernel. */
export class Frames {
  private readonly numbers = new Map<string, number>();
  private readonly known = new Map<SourcePlace, number>();

  of(call: SourcePlace | undefined): number {
    if (!call) return 0;
    let frame = this.known.get(call);
    if (frame === undefined) {
      const key = `${call.first}@${this.of(call.call)}`;
      frame = this.numbers.get(key) ?? this.numbers.size + 1;
      this.numbers.set(key, frame);
      this.known.set(call, frame);
    }
    return frame;
  }
}

/** Sums that the function of a load makes for its address though the caller seems to have it. */
export class Sums {
  private readonly used = new Set<Register>();
  private readonly firstBlock = new Map<number, number>();
  /** By access and block: its loads there. */
  private readonly copies = new Map<number, number>();
  /** By frame and address: the first load there, true where others read other bytes. */
  private readonly members = new Map<number, LoadInstruction | true>();
  /** By frame and address: `p[0]` of a pointer is read there, so that the caller has the sum and `p[1]`, `p[2]` are next to it (42 kernels). */
  private readonly handed = new Set<number>();
  /** Addresses of shared variables: numbers that the assembler knows. */
  private readonly shared: ReadonlySet<Register>;

  constructor(
    private readonly program: Program,
    private readonly frames: Frames,
    private readonly moving: Uint8Array,
    /** Where loops are not written out as well. */
    private readonly stepping: Uint8Array,
  ) {
    this.shared = new Set(program.objects.filter((o) => o.space === 'shared').map((o) => o.register));
    for (const [block, { instructions }] of program.blocks.entries())
      for (const i of instructions) {
        if (i.op !== 'load') continue;
        const place = this.placeIn(i, block);
        this.copies.set(place, (this.copies.get(place) ?? 0) + 1);
        const key = this.keyOf(i);
        if (i.isHanded) {
          const { isMember, copiedBytes } = this.program.accesses[i.access];
          if (!isMember && (copiedBytes === undefined || i.isReinterpreted)) this.handed.add(key);
          continue;
        }
        const known = this.members.get(key) ?? i;
        const isOther = known !== true && known.offset !== i.offset && this.isBeside(known, i);
        this.members.set(key, isOther ? true : known);
      }
  }

  /** Whether it is the address of a shared variable. */
  isFixed(register: Register): boolean {
    return this.shared.has(register);
  }

  isMoving(register: Register): boolean {
    return this.moving[register] === 1;
  }

  /** To be asked once a load, in order. */
  hasOwn(load: LoadInstruction, block: number): boolean {
    const first = this.firstBlock.get(load.access) ?? block;
    this.firstBlock.set(load.access, first);
    if (this.isMoving(load.address) && this.isOfFewerPasses(load, block, first)) return true;
    const { role } = this.program.registers[load.address];
    const isFirst = !this.used.has(load.address);
    if (role === 'temporary' || role === 'input') this.used.add(load.address);
    // a parameter of the kernel is fetched where it is an address as it is
    if (role === 'input') return isFirst && load.offset === 0 && !this.isFixed(load.address);
    if (role !== 'temporary') return false;
    if (this.handed.has(this.keyOf(load))) return false;
    if (this.members.get(this.keyOf(load)) === true) return true;
    if (!isFirst) return false;
    const { copiedBytes, isMember } = this.program.accesses[load.access];
    if (isMember && this.stepping[load.address] === 0) return true;
    return (load.offset !== 0 && !load.isHanded) || copiedBytes !== undefined;
  }

  /** Another access, not of another record: what `a.x < b.x` of `f(s[i], s[i + 8])` reads has one sum. */
  private isBeside(first: LoadInstruction, second: LoadInstruction): boolean {
    const [a, b] = [first, second].map(({ access }) => this.program.accesses[access]);
    return a !== b && (!a.isMember || !b.isMember || recordOf(a.expression) === recordOf(b.expression));
  }

  /** Passes that are left of a loop, behind those that are written out several at once. */
  private isOfFewerPasses(load: LoadInstruction, block: number, first: number): boolean {
    const count = (at: number): number => this.copies.get(this.placeIn(load, at)) ?? 0;
    return first !== block && count(block) <= count(first);
  }

  private placeIn({ access }: LoadInstruction, block: number): number {
    return block * this.program.accesses.length + access;
  }

  private keyOf({ access, address }: LoadInstruction): number {
    return this.frames.of(this.program.accesses[access].place.call) * STATEMENTS + address;
  }
}

/** What a member is of, as the source writes it. */
const recordOf = (expression: string): string => expression.replace(/(\.|->)\s*\w+$/, '');
