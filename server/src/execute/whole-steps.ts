/**
 * Steps of a launch that is executed for what it leaves in memory: nothing is counted, every byte that is loaded or stored is looked up
 * or written. Lanes come one after the other, which is one of the orders the hardware may take.
 */
import { dependencies } from '../program/dependence';
import { type AccessSite, bytesOf, type Instruction, type Program, type ScalarType } from '../program/program';
import { type ByteMemory, Contradiction, NotFollowed, type Range } from './byte-memory';
import { address as addressOf, type Decoder, operand, type Target, target as targetOf } from './decode';
import { type LoadLoop, loadLoops, type Piece } from './known-loads';
import { storeLoops } from './known-stores';
import type { Frame } from './mask';
import { updateOf } from './memory-steps';
import { type Step, settle } from './steps';
import {
  isUnknownIn,
  KNOWN,
  type LaneValue,
  laneOf,
  markLanes,
  overwrite,
  setUniform,
  setUnknown,
  UNKNOWN,
  vectorOf,
} from './value';
import { type Halves, type WordOperands, wordOperands } from './word-atomics';

/** What the steps of a launch share. */
export interface WholeLaunch {
  /** Another for each launch that the steps are used for: blocks are claimed for one launch. */
  number: number;
  readonly memory: ByteMemory;
  /** Number of the reason of what is loaded and not known. */
  readonly notKnown: number;
  /** The block around a place, which may be written from now on. */
  readonly claim: (place: number) => Range | undefined;
  /** The block that an object of the program lies in, where that is known. */
  readonly blockOf: (object: number) => Range | undefined;
}

/** The steps that take the place of those that count; undefined for instructions that do not touch memory. */
export function wholeStep(decoder: Decoder, launch: WholeLaunch, instruction: Instruction): Step | undefined {
  const { values } = decoder;
  switch (instruction.op) {
    case 'load':
      return loadStep(decoder, launch, instruction);
    case 'store':
      return storeStep(decoder, launch, instruction);
    case 'atomic':
      return atomicStep(decoder, launch, instruction);
    case 'asyncCopy':
      return copyStep(decoder, launch, instruction);
    case 'matrix': {
      const targets = instruction.dst.map((r) => targetOf(decoder, r));
      const store = new Place(decoder, launch, instruction.access, values[instruction.address], 16);
      return (frame) => {
        if (instruction.direction === 'store') store.forgetAll(frame);
        for (const { out, commit } of targets) {
          setUnknown(out, launch.notKnown);
          commit?.(frame);
        }
      };
    }
    case 'work':
      return instruction.isNotFollowed && notFollowedStep;
    case 'barrier':
      return instruction.scope === 'warp' ? () => {} : barrierStep(instruction.scope === 'grid');
    default:
      return undefined;
  }
}

function notFollowedStep(): void {
  throw new NotFollowed('a call that is not followed');
}

/** Lanes that part from others before a barrier would come to it one side after the other. */
function barrierStep(isOfGrid: boolean): Step {
  return (frame) => {
    if (isOfGrid) throw new NotFollowed('blocks wait for each other');
    if (!frame.full) throw new NotFollowed('a barrier that only some lanes come to');
  };
}

type Access = Extract<Instruction, { op: 'load' | 'store' | 'atomic' }>;

/** The places of an access, lane by lane. */
class Place {
  private readonly memory: ByteMemory;
  private readonly program: Program;
  private readonly site: AccessSite;
  private readonly piece: Piece = { low: 0, high: 0, shift: 0, stride: 0 };
  private writable = false;
  /** The launch that the block was looked up for. */
  private number = -1;

  constructor(
    decoder: Decoder,
    private readonly launch: WholeLaunch,
    private readonly access: number,
    readonly address: LaneValue,
    private readonly bytes: number,
  ) {
    this.memory = launch.memory;
    this.program = decoder.analysis.program;
    this.site = this.program.accesses[access];
  }

  /** What lies around the last address was claimed. */
  get isWritable(): boolean {
    return this.writable;
  }

  /** The address rests on nothing that was loaded: it tells nothing of what memory holds. */
  private get isComputed(): boolean {
    return dependencies(this.program).addressLoads[this.access].size === 0;
  }

  get isTexture(): boolean {
    return this.site.space === 'texture';
  }

  /** The memory around the last address that was looked up in this launch. */
  lastPiece(): Piece {
    if (this.number !== this.launch.number) {
      this.number = this.launch.number;
      this.writable = false;
      Object.assign(this.piece, { low: 0, high: 0, shift: 0, stride: 0 });
    }
    return this.piece;
  }

  /** Where an address leads to; -1 where nothing is. */
  at(address: number, lane: number): number {
    const { memory, bytes } = this;
    const piece = this.lastPiece();
    if (address >= piece.low && address + bytes <= piece.high)
      return this.aligned(address + piece.shift + lane * piece.stride);
    const place = memory.place(address, lane);
    if (place < 0) return place;
    const isOwn = memory.isOwn(place);
    const block = isOwn ? undefined : memory.blockAt(place, this.site.operation !== 'store');
    if (!isOwn && (!block || place + bytes > block.end)) return -1;
    memory.pieceAround(address, block, piece);
    this.writable = isOwn;
    return this.aligned(place);
  }

  private aligned(place: number): number {
    if (place >= 0 && (place & (this.bytes - 1)) !== 0) throw new NotFollowed('an address that is not aligned');
    return place;
  }

  /** Where an address leads to that is written; -1 where it changes nothing that anybody has. */
  toWrite(address: number, lane: number, isCertain: boolean): number {
    const place = this.at(address, lane);
    if (place < 0) {
      if (this.isComputed && this.memory.isSpare(address)) return -1;
      throw new (isCertain && this.memory.hasAll(address) ? Contradiction : NotFollowed)(
        'a store to where no memory is',
      );
    }
    if (!this.writable && !this.memory.isOwn(place)) {
      this.launch.claim(place);
      this.writable = true;
    }
    return place;
  }

  /** Something is stored at an address that is not known. */
  forgetObject(): void {
    const { space, object } = this.site;
    if (space === 'shared') {
      this.memory.forgetShared();
      return;
    }
    const block = space === 'global' && object !== undefined ? this.launch.blockOf(object) : undefined;
    if (!block) throw new NotFollowed('a store to an address that is not known');
    this.launch.claim(block.start);
    this.memory.forget(block.start, block.end);
  }

  /** Active lanes store what is not known. */
  forgetAll(frame: Frame): void {
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (frame.mask.lanes[lane] === 0) continue;
      if (isUnknownIn(this.address, lane)) this.forgetObject();
      else {
        const place = this.toWrite(laneOf(this.address, lane), lane, frame.speculative === 0);
        if (place >= 0) this.memory.forget(place, place + this.bytes);
      }
    }
  }
}

function loadStep(decoder: Decoder, launch: WholeLaunch, instruction: Access & { op: 'load' }): Step {
  const { memory } = launch;
  const address = addressOf(decoder, instruction.address);
  const targets = instruction.dst.map((r) => targetOf(decoder, r));
  const bytes = bytesOf[instruction.type];
  const place = new Place(decoder, launch, instruction.access, address, bytes);
  const isLocal = decoder.analysis.program.accesses[instruction.access].space;
  const mayBeLocal = isLocal === 'local' || isLocal === 'generic';
  const load = (out: LaneValue, offset: number, frame: Frame): void => {
    if (place.isTexture || address.unknown === UNKNOWN) {
      setUnknown(out, place.isTexture ? launch.notKnown : address.reason);
      return;
    }
    if (address.uniform && address.unknown === KNOWN && !mayBeLocal) {
      const at = place.at(address.scalar + offset, 0);
      const value = at >= 0 && memory.isKnown(at, bytes) ? memory.read(instruction.type, at) : undefined;
      if (value === undefined) setUnknown(out, launch.notKnown);
      else setUniform(out, value);
      return;
    }
    loadLanes(memory, instruction.type, place, vectorOf(address), offset, out, launch.notKnown, frame);
    settle(out, frame);
  };
  return (frame) => {
    for (let i = 0; i < targets.length; i++) load(targets[i].out, instruction.offset + i * bytes, frame);
    for (const { commit } of targets) commit?.(frame);
  };
}

function loadLanes(
  memory: ByteMemory,
  type: ScalarType,
  place: Place,
  addresses: Float64Array | Int32Array,
  offset: number,
  out: LaneValue,
  notKnown: number,
  frame: Frame,
): void {
  const { address } = place;
  const { lanes } = frame.mask;
  const bytes = bytesOf[type];
  const vector = overwrite(out);
  let loop: LoadLoop | undefined = address.unknown === KNOWN ? loadLoops[type] : undefined;
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (loop) lane = loop(vector, memory, place.lastPiece(), addresses, offset, lanes, lane, frame.hi);
    if (lane === frame.hi) return;
    if (lanes[lane] === 0) continue;
    let value: number | undefined;
    if (address.unknown === KNOWN || address.unknownLanes[lane] === 0) {
      const at = place.at(addresses[lane] + offset, lane);
      if (at >= 0 && memory.isKnown(at, bytes)) value = memory.read(type, at);
    }
    if (value !== undefined) vector[lane] = value;
    else {
      markLanes(out, notKnown)[lane] = 1;
      // where one is not known the next ones mostly are not either
      loop = undefined;
    }
  }
}

function storeStep(decoder: Decoder, launch: WholeLaunch, instruction: Access & { op: 'store' }): Step {
  const { memory } = launch;
  const { type, offset } = instruction;
  const address = addressOf(decoder, instruction.address);
  const bytes = bytesOf[type];
  const place = new Place(decoder, launch, instruction.access, address, bytes);
  const stored = instruction.values.map((r) => operand(decoder, r, type));
  return (frame) => {
    if (place.isTexture) return;
    for (let i = 0; i < stored.length; i++) {
      const { value, before } = stored[i];
      before?.(frame);
      storeLanes(memory, type, place, value, offset + i * bytes, frame);
    }
  };
}

function storeLanes(
  memory: ByteMemory,
  type: ScalarType,
  place: Place,
  value: LaneValue,
  offset: number,
  frame: Frame,
): void {
  const { address } = place;
  const { lanes } = frame.mask;
  const bytes = bytesOf[type];
  const isCertain = frame.speculative === 0;
  const values = value.unknown === UNKNOWN ? undefined : vectorOf(value);
  const isSimple = isCertain && address.unknown === KNOWN && value.unknown === KNOWN;
  const loop = isSimple ? storeLoops[type] : undefined;
  const addresses = loop ? vectorOf(address) : noAddresses;
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    const piece = place.lastPiece();
    if (loop && values && place.isWritable && memory.isPlain(piece))
      lane = loop(values, memory, piece, addresses, offset, lanes, lane, frame.hi);
    if (lane === frame.hi) return;
    if (lanes[lane] === 0) continue;
    if (isUnknownIn(address, lane)) {
      place.forgetObject();
      continue;
    }
    const at = place.toWrite(laneOf(address, lane) + offset, lane, isCertain);
    if (at < 0) continue;
    // Under a condition that is not known the store may not happen: afterwards neither value is certain.
    if (values === undefined || !isCertain || isUnknownIn(value, lane)) memory.mark(at, bytes, false);
    else memory.write(type, at, values[lane]);
  }
}

const noAddresses = new Float64Array(0);

function atomicStep(decoder: Decoder, launch: WholeLaunch, instruction: Access & { op: 'atomic' }): Step {
  const { memory } = launch;
  const { type, offset } = instruction;
  const address = addressOf(decoder, instruction.address);
  const bytes = bytesOf[type];
  const place = new Place(decoder, launch, instruction.access, address, bytes);
  const value = operand(decoder, instruction.value, type);
  const compare = operand(decoder, instruction.compare ?? instruction.value, type);
  const target: Target | undefined = instruction.dst === undefined ? undefined : targetOf(decoder, instruction.dst);
  const update = updateOf(instruction);
  const inWords = wordOperands(decoder, instruction);
  if (inWords) return wordAtomicStep(decoder, launch, place, inWords, offset);
  return (frame) => {
    value.before?.(frame);
    compare.before?.(frame);
    if (target) overwrite(target.out);
    const { lanes } = frame.mask;
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (lanes[lane] === 0) continue;
      if (isUnknownIn(address, lane)) {
        place.forgetObject();
        if (target) markLanes(target.out, launch.notKnown)[lane] = 1;
        continue;
      }
      const at = place.toWrite(laneOf(address, lane) + offset, lane, frame.speculative === 0);
      const old = at >= 0 && memory.isKnown(at, bytes) ? memory.read(type, at) : undefined;
      if (target && old !== undefined) target.out.vector[lane] = old;
      else if (target) markLanes(target.out, launch.notKnown)[lane] = 1;
      if (at < 0) continue;
      const isKnown =
        old !== undefined &&
        frame.speculative === 0 &&
        !isUnknownIn(value.value, lane) &&
        !isUnknownIn(compare.value, lane);
      const fresh = isKnown ? update(old, laneOf(value.value, lane), laneOf(compare.value, lane)) : Number.NaN;
      if (Number.isNaN(fresh)) memory.mark(at, bytes, false);
      else memory.write(type, at, fresh);
    }
    if (target) {
      settle(target.out, frame);
      target.commit?.(frame);
    }
  };
}

/** The same of 64-bit numbers in halves. */
function wordAtomicStep(
  decoder: Decoder,
  { memory, notKnown }: WholeLaunch,
  place: Place,
  { update, dst }: WordOperands,
  offset: number,
): Step {
  const { address } = place;
  const targets = dst.map((r) => targetOf(decoder, r));
  return (frame) => {
    for (const { out } of targets) overwrite(out);
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (frame.mask.lanes[lane] === 0) continue;
      const isOpen = isUnknownIn(address, lane);
      if (isOpen) place.forgetObject();
      const at = isOpen ? -1 : place.toWrite(laneOf(address, lane) + offset, lane, frame.speculative === 0);
      const old: Halves | undefined = at >= 0 && memory.isKnown(at, 8) ? memory.readHalves(at) : undefined;
      targets.forEach(({ out }, half) => {
        if (old) out.vector[lane] = old[half];
        else markLanes(out, notKnown)[lane] = 1;
      });
      if (at < 0) continue;
      const fresh = old && frame.speculative === 0 ? update(old, lane) : undefined;
      if (!fresh) memory.mark(at, 8, false);
      else for (const half of [0, 1] as const) memory.write('u32', at + 4 * half, fresh[half]);
    }
    for (const { out, commit } of targets) {
      settle(out, frame);
      commit?.(frame);
    }
  };
}

function copyStep(decoder: Decoder, launch: WholeLaunch, instruction: Extract<Instruction, { op: 'asyncCopy' }>): Step {
  const { memory } = launch;
  const { bytes } = instruction;
  const read = instruction.read === undefined ? undefined : decoder.values[instruction.read];
  const source = addressOf(decoder, instruction.source);
  const destination = addressOf(decoder, instruction.destination);
  const from = new Place(decoder, launch, instruction.loadAccess, source, bytes);
  const to = new Place(decoder, launch, instruction.storeAccess, destination, bytes);
  return (frame) => {
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (frame.mask.lanes[lane] === 0) continue;
      if (isUnknownIn(destination, lane)) {
        to.forgetObject();
        continue;
      }
      const at = to.toWrite(laneOf(destination, lane), lane, frame.speculative === 0);
      if (at < 0) continue;
      const origin = isUnknownIn(source, lane) ? -1 : from.at(laneOf(source, lane), lane);
      const isWhole = !read || (!isUnknownIn(read, lane) && laneOf(read, lane) >= bytes);
      if (origin < 0 || !isWhole || frame.speculative !== 0) memory.forget(at, at + bytes);
      else memory.copy(at, origin, bytes);
    }
  };
}
