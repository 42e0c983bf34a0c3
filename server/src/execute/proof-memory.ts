/** What a proof needs of memory: that accesses count the same in the next period, and that contents do not decide otherwise. */

import { spaceOfAddress } from '../program/addresses';
import { writesOf } from '../program/operands';
import type { Instruction, Register } from '../program/program';
import type { Tally } from './access';
import { type AccessPlan, accessPlan } from './access-plan';
import { greatestCommonDivisor, type Proof } from './affine';
import { spaceNumber } from './counters';
import type { Decoder } from './decode';
import { machineBytes } from './decode';
import { type Frame, WARP } from './mask';
import type { Contents } from './memory';
import { shiftPeriod } from './shift-periods';
import { ticketAccesses } from './tickets';
import { isUnknownIn, type LaneValue, laneOf, UNKNOWN } from './value';

interface Access {
  readonly plan: AccessPlan;
  readonly address: Register;
}

/** The memory side of one proof. */
export class MemoryProof {
  /** Values stored where contents matter will differ in the next periods. */
  changesContents = false;
  private readsContents = false;

  constructor(
    private readonly decoder: Decoder,
    private readonly tally: Tally,
    private readonly proof: Proof,
  ) {}

  /** Contents that are read are not those that change. */
  get isSound(): boolean {
    return !(this.changesContents && this.readsContents);
  }

  /** To be called before the instruction is executed. */
  before(instruction: Instruction, frame: Frame): void {
    if (!isMemory(instruction)) return;
    for (const access of accessesIn(this.decoder, instruction)) this.checkShift(access, frame);
    if (instruction.op === 'store' && this.matters(instruction.access)) {
      this.checkStore(instruction.address, instruction.values, instruction.access, frame);
    } else if (instruction.op === 'asyncCopy') {
      if (instruction.read !== undefined && !this.proof.isConstant(instruction.read)) this.proof.fail();
      this.checkStore(instruction.destination, [], instruction.storeAccess, frame);
    } else if (instruction.op === 'matrix' && instruction.direction === 'store') {
      this.checkStore(instruction.address, [], instruction.access, frame);
    } else if (instruction.op === 'atomic' && ticketAccesses(this.decoder.analysis.program).has(instruction.access)) {
      // Every pass draws another number.
      this.proof.fail();
    } else if (instruction.op === 'atomic' && this.contentsOf(instruction.access).some((c) => c.holdsKnown)) {
      const isNeeded = writesOf(instruction).some((r) => this.decoder.analysis.slice.needed[r] === 1);
      if (isNeeded || this.matters(instruction.access)) this.proof.fail();
    }
  }

  /** To be called after a load was executed. */
  after(instruction: Instruction): void {
    if (instruction.op !== 'load') return;
    const { needed } = this.decoder.analysis.slice;
    const results = instruction.dst.filter((register) => needed[register] === 1);
    if (results.length === 0) return;
    const contents = this.contentsOf(instruction.access);
    if (this.proof.isConstant(instruction.address)) {
      if (contents.length > 0 || this.decoder.memory.global) this.readsContents = true;
      return;
    }
    const { tables, global } = this.decoder.memory;
    const mayFind = contents.some((c) => c.holdsKnown) || tables.length > 0 || global !== undefined;
    const found = results.some((register) => this.decoder.values[register].unknown !== UNKNOWN);
    if (found || mayFind) this.proof.fail();
  }

  private matters(access: number): boolean {
    return this.decoder.analysis.slice.storesMatter[access] === 1;
  }

  private contentsOf(access: number): Contents[] {
    const { space } = this.decoder.analysis.program.accesses[access];
    const { shared, local } = this.decoder.memory;
    const found: Contents[] = [];
    if (shared && (space === 'shared' || space === 'generic')) found.push(shared);
    if (local && (space === 'local' || space === 'generic')) found.push(local);
    return found;
  }

  private checkStore(address: Register, values: readonly Register[], access: number, frame: Frame): void {
    const contents = this.contentsOf(access);
    if (this.decoder.memory.global && this.matters(access)) this.changesContents = true;
    if (contents.length === 0) return;
    const isKnown = values.some((register) => this.decoder.values[register].unknown !== UNKNOWN);
    if (!(isKnown && frame.speculative === 0) && !contents.some((c) => c.holdsKnown)) return;
    const moves = !this.proof.isConstant(address) || values.some((register) => !this.proof.isConstant(register));
    if (moves) this.changesContents = true;
  }

  /** All lanes of a warp must move together, by a multiple of what the memory's geometry repeats in. */
  private checkShift({ plan, address }: Access, frame: Frame): void {
    if (this.proof.isConstant(address)) return;
    const value = this.decoder.values[address];
    if (value.unknown === UNKNOWN) return;
    const { lanes, perWarp } = frame.mask;
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      if (perWarp[first / WARP] === 0) continue;
      const shift = this.shiftOfWarp(address, value, lanes, first);
      if (shift === undefined) {
        this.proof.fail();
        return;
      }
      if (shift.step === 0) continue;
      const shape = plan.shapes[spaceNumber[spaceOfAddress(shift.address)]];
      const period = shiftPeriod(this.tally.model, shape);
      if (shift.step % period !== 0) this.proof.require(period / greatestCommonDivisor(shift.step, period));
      if (typeof this.proof.delta(address) === 'number') break;
    }
  }

  private shiftOfWarp(address: Register, value: LaneValue, lanes: Uint8Array, first: number) {
    let shift: { step: number; address: number } | undefined;
    for (let lane = first; lane < first + WARP; lane++) {
      if (lanes[lane] === 0 || isUnknownIn(value, lane)) continue;
      const step = this.proof.at(address, lane);
      if (shift === undefined) shift = { step, address: laneOf(value, lane) };
      else if (shift.step !== step) return undefined;
    }
    return shift ?? { step: 0, address: 0 };
  }
}

/** Most of a program only computes. */
function isMemory({ op }: Instruction): boolean {
  return op === 'load' || op === 'store' || op === 'atomic' || op === 'asyncCopy' || op === 'matrix';
}

const known = new WeakMap<Instruction, readonly Access[]>();

/** The accesses an instruction makes. */
function accessesIn(decoder: Decoder, instruction: Instruction): readonly Access[] {
  const remembered = known.get(instruction);
  if (remembered) return remembered;
  const { accesses } = decoder.analysis.program;
  const result: Access[] = [];
  const add = (access: number, operation: 'load' | 'store' | 'atomic', bytes: number, address: Register) =>
    result.push({ plan: accessPlan(access, accesses[access], operation, bytes), address });
  switch (instruction.op) {
    case 'load':
    case 'store':
    case 'atomic':
      add(instruction.access, instruction.op, machineBytes(instruction), instruction.address);
      break;
    case 'asyncCopy':
      add(instruction.loadAccess, 'load', instruction.bytes, instruction.source);
      add(instruction.storeAccess, 'store', instruction.bytes, instruction.destination);
      break;
    case 'matrix':
      add(instruction.access, instruction.direction, 16, instruction.address);
      break;
  }
  known.set(instruction, result);
  return result;
}
