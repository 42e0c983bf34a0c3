/**
 * Machine instructions in the order in which they are issued, as far as that is known, each with what decides its row in the line table (charge-calls.ts):
 * its statement, and the code of the calls that it was inlined through.
 */
import type { ControlFlow } from '../program/control-flow';
import { readsInto, writesOf } from '../program/operands';
import type {
  Instruction,
  LoadInstruction,
  Program,
  Register,
  SourcePlace,
  StoreInstruction,
} from '../program/program';
import { Frames, STATEMENTS, Sums } from './address-sums';
import { fetchingInstructions } from './fetched-parameters';
import { callsThrough, isStoreOfValue } from './handed-stores';
import { addressRegisters, madeAt, type Place, placeOf } from './instruction-places';
import type { Code } from './masked-loads';
import { movingIn, movingRegisters } from './moving-registers';
import { withoutDescriptors } from './without-descriptors';

/** A machine instruction, by what decides its row in the line table. */
export interface Issued {
  readonly statement: number;
  /** The line of the row, where it is not the statement's first. */
  readonly row?: number;
  /** Code of the calls that it was inlined through, innermost first. */
  readonly stretches: readonly Stretch[];
  /** It fetches what others compute with. */
  readonly isFetch?: boolean;
  /** It fetches the pointer that is read, right in front of that where there is nothing else to be done. */
  readonly isPointer?: boolean;
  /** Loads of the same block that it waits for, one behind the other. */
  readonly level: number;
  readonly phase: Phase;
  /** Place in the block, of a load. */
  readonly at?: number;
  /** Of a load: its descriptor has to be fetched. */
  readonly needsDescriptor?: boolean;
  /** A volatile access: nothing comes between it and what the same statement does next. */
  readonly isVolatile?: boolean;
  /** Made by a function of a header, which has lines of its own. */
  readonly isOfHeader?: boolean;
  readonly isStore?: boolean;
  /** Of a store: what its address or its value is computed by comes right in front of it. */
  readonly isBehindOther?: boolean;
}

export enum Phase {
  before,
  load,
  behind,
}

/** Code of a call from one instruction of its statement to the next. */
export interface Stretch {
  readonly call: SourcePlace;
  readonly key: string;
}

interface LastStretches {
  readonly count: number;
  readonly outer: readonly Stretch[];
  readonly stretches: readonly Stretch[];
}

/** What is known of a program's instructions while one piece of straight code after the other is issued, in the order of the text. */
export class IssuedOrder {
  readonly frames = new Frames();
  readonly sums: Sums;
  /** By frame and statement: its instructions so far. */
  private readonly counts = new Map<number, number>();
  /** By call: what was last made for it, as long as its statement has had no further instruction. */
  private readonly stretches = new Map<SourcePlace, LastStretches>();
  /** Addresses that accesses had so far. */
  readonly addressed = new Set<Register>();
  readonly feedsAddress: Uint8Array;
  /** By block: 1 where loads are preceded by what fetches their descriptors. */
  readonly needsDescriptor: Uint8Array;
  /** What has numbers of the kernel's parameters fetched. */
  readonly fetching: ReadonlySet<Instruction>;

  constructor(
    readonly program: Program,
    readonly flow: ControlFlow,
  ) {
    this.sums = new Sums(program, this.frames, movingRegisters(program, flow), movingIn(program, flow.loops));
    this.feedsAddress = addressRegisters(program);
    this.needsDescriptor = withoutDescriptors(program, flow);
    this.fetching = fetchingInstructions(program, this.frames);
  }

  /** What straight code becomes. */
  of(code: Code): readonly Issued[] {
    const straight = new StraightCode(this, code);
    for (const [at, i] of code.instructions.entries()) straight.add(i, at);
    return straight.end();
  }

  count({ call, statement = 0 }: Place): void {
    const key = this.frames.of(call) * STATEMENTS + statement;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  stretchesOf(call: SourcePlace | undefined): readonly Stretch[] {
    if (!call) return none;
    const outer = this.stretchesOf(call.call);
    const count = this.counts.get(this.frames.of(call.call) * STATEMENTS + (call.statement ?? 0)) ?? 0;
    const last = this.stretches.get(call);
    if (last?.count === count && last.outer === outer) return last.stretches;
    const stretches = [{ call, key: `${call.first}:${count}@${outer[0]?.key ?? ''}` }, ...outer];
    this.stretches.set(call, { count, outer, stretches });
    return stretches;
  }
}

const none: readonly Stretch[] = [];

/** Instructions of one block, and of those behind it between which there are only loads behind a mask. */
class StraightCode {
  private readonly all: Issued[] = [];
  /** What may still be put in another order. */
  private piece: Issued[] = [];
  /** By register: loads that it waits for, one behind the other. */
  private readonly levels = new Map<Register, number>();
  /** Levels at which something was loaded. */
  private readonly loaded = new Set<number>();
  private readonly computed = new Set<Register>();
  /** Elements of shared memory that lie at known addresses, by what they are loaded into. */
  private readonly known = new Map<Register, Issued>();
  /** Of these: the level of what is first computed with them. */
  private readonly needed = new Map<Issued, number>();
  private readonly reads: Register[] = [];

  constructor(
    private readonly order: IssuedOrder,
    private readonly code: Code,
  ) {}

  add(i: Instruction, at: number): void {
    const { order, code } = this;
    const level = this.levelOf(i);
    const isMoved = code.values.get(i);
    const place =
      isMoved === undefined ? placeOf(order.program, order.sums, i) : isMoved ? madeAt(order.program, i) : undefined;
    if (place?.call && i === code.guarded?.load && code.guarded.isHanded) order.count(place.call);
    if (place) {
      if (isInOrder(i) || isVolatileShared(order.program, i)) this.addInOrder(i, at, place);
      else this.addToPiece(i, at, place, level);
      order.count(place);
    }
    if ('address' in i) order.addressed.add(i.address);
    if (i.op === 'barrier' || i.op === 'atomic') this.close();
  }

  end(): readonly Issued[] {
    this.close();
    const { blocks } = this.code;
    const branch = branchOf(this.order, blocks[blocks.length - 1]);
    if (branch) this.all.push(branch);
    return this.all;
  }

  /** How many loads it waits for, one behind the other; notes the same of its results. */
  private levelOf(i: Instruction): number {
    const { levels, reads } = this;
    let level = 0;
    const count = readsInto(i, reads);
    for (let k = 0; k < count; k++) level = Math.max(level, levels.get(reads[k]) ?? 0);
    for (let k = 0; k < count; k++) this.noteNeed(reads[k], level);
    const behind = i.op === 'load' ? level + 1 : level;
    if (behind > 0) for (const r of writesOf(i)) levels.set(r, behind);
    return level;
  }

  private noteNeed(register: Register, level: number): void {
    const load = this.known.get(register);
    if (load) this.needed.set(load, Math.min(level, this.needed.get(load) ?? level));
  }

  /** What keeps its place among the others. */
  private addInOrder(i: Instruction, at: number, { statement = 0, call }: Place): void {
    this.close();
    const { order } = this;
    const stretches = order.stretchesOf(call);
    const isVolatile = isVolatileShared(order.program, i);
    if (isVolatile && 'address' in i && !order.addressed.has(i.address))
      this.all.push({ statement, stretches, level: 0, phase: Phase.before });
    this.all.push({ statement, stretches, level: 0, phase: Phase.load, at, isVolatile });
  }

  private addToPiece(i: Instruction, at: number, { statement = 0, row, call }: Place, level: number): void {
    const { order, code, piece } = this;
    const { block } = code.places[at];
    const stretches = order.stretchesOf(call);
    if (order.flow.loopOf[block] < 0 && order.fetching.has(i))
      piece.push({ statement, stretches, level: 0, phase: Phase.before, isFetch: true });
    if (i.op === 'load') {
      this.addLoad(i, block, { statement, row, stretches, level, phase: Phase.load, at });
      return;
    }
    const written = writesOf(i);
    const isBefore = !this.loaded.has(level) || code.values.get(i) || written.some((r) => order.feedsAddress[r] === 1);
    const phase = isBefore ? Phase.before : Phase.behind;
    const isOfHeader = i.op === 'binary' && /^f/.test(i.type) && (i.fn === 'min' || i.fn === 'max');
    if (i.op === 'store') piece.push(...this.storeOf(i, block, { statement, stretches, level, phase, at }));
    else piece.push({ statement, stretches, level, phase, isOfHeader });
    for (const r of written) this.computed.add(r);
  }

  /** A load, behind the sum of its address where its function makes that. */
  private addLoad(i: LoadInstruction, block: number, load: Issued): void {
    const { order, code, piece } = this;
    const guarded = i === code.guarded?.load ? code.guarded : undefined;
    const isHanded = guarded?.isHanded || (code.masked.has(i) && !order.sums.isMoving(i.address));
    const isPointer = order.program.registers[i.address].role === 'input';
    const { statement, row, stretches, level } = load;
    if ((order.sums.hasOwn(i, block) && !isHanded) || guarded?.isHanded === false)
      piece.push({ statement, row, stretches, level, phase: Phase.before, isPointer });
    const issued = { ...load, needsDescriptor: order.needsDescriptor[block] === 1 && isGlobal(order.program, i) };
    piece.push(issued);
    if (order.sums.isFixed(i.address)) for (const r of i.dst) this.known.set(r, issued);
    this.loaded.add(level);
  }

  /** A store, behind the sum of its address where one of the functions around it makes that. */
  private storeOf(store: StoreInstruction, block: number, issued: Issued): Issued[] {
    const { order, computed } = this;
    if (store.isOfBothArms) return [];
    const calls = store.callsThrough || callsThrough(order, store, block);
    if (calls === 0 || !isStoreOfValue(order, store, block)) return [{ ...issued, at: undefined }];
    const { statement, stretches, level, phase } = issued;
    const around = stretches.slice(calls);
    const sum: Issued[] = around.length > 0 ? [{ statement, stretches: around, level, phase }] : [];
    const isBehindOther = !order.addressed.has(store.address) || store.values.some((r) => computed.has(r));
    return [...sum, { ...issued, isStore: true, isBehindOther }];
  }

  /** What was put together is issued: level by level, loads together. */
  private close(): void {
    const { piece } = this;
    piece.push(...descriptorsOf(piece));
    // where nothing else is to be done in front of the load, the pointer is fetched in one row with it
    const isAlone = !piece.some(({ level, phase, isPointer }) => level === 0 && phase !== Phase.load && !isPointer);
    const kept = (isAlone ? piece.filter(({ isPointer }) => !isPointer) : piece).map((i) => this.asNeeded(i));
    this.all.push(...kept.sort((a, b) => a.level - b.level || a.phase - b.phase));
    this.piece = [];
    this.levels.clear();
    this.loaded.clear();
    this.known.clear();
    this.needed.clear();
  }

  /**
   * An element at a known address waits for nothing, and is loaded with what goes before its use: of a table that a chain of look-ups goes through
   * (Blowfish's keys) the first vector comes before all else, the next ones between the look-ups (machine code of 14 kernels; global memory is read at once).
   */
  private asNeeded(issued: Issued): Issued {
    const level = (this.needed.get(issued) ?? 0) - 1;
    return level > issued.level ? { ...issued, level } : issued;
  }
}

/**
 * The branch of an `if` at the end of a block: it is an instruction of its statement like others, also where ptxas predicates
 * what it guards, which it does later (28 kernels whose `if` tests in a second call what the first has tested; H200: none otherwise).
 */
function branchOf(order: IssuedOrder, block: number): Issued | undefined {
  const { terminator } = order.program.blocks[block];
  if (terminator.kind !== 'branch') return undefined;
  const { place, kind } = order.program.branches[terminator.branch];
  if (kind !== 'if') return undefined;
  const { statement = 0, call } = place;
  return { statement, stretches: order.stretchesOf(call), level: 0, phase: Phase.before };
}

/** Of these nothing is issued together: volatile assembly keeps its order. */
export const isInOrder = (i: Instruction): boolean => i.op === 'matrix' || i.op === 'asyncCopy';

/** Of shared memory: volatile accesses to global memory have addresses and descriptors to wait for. */
const isVolatileShared = (program: Program, i: Instruction): boolean => {
  if (i.op !== 'load' && i.op !== 'store') return false;
  const { isVolatile, space, atomic } = program.accesses[i.access];
  return isVolatile === true && space === 'shared' && !atomic;
};

function isGlobal(program: Program, { access }: LoadInstruction): boolean {
  const { space } = program.accesses[access];
  return space === 'global' || space === 'generic';
}

/** What fetches the descriptors of loads that are issued together; that of a single one stands right before it, in one row with it. */
function descriptorsOf(piece: readonly Issued[]): Issued[] {
  const loads = piece.filter((issued) => issued.needsDescriptor);
  return loads
    .filter(({ level }) => loads.filter((other) => other.level === level).length > 1)
    .map(({ statement, stretches, level }) => ({ statement, stretches, level, phase: Phase.before }));
}
