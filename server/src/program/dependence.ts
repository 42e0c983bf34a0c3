/** Which inputs and loads the figures of a program rest on. */

import { type ControlFlow, controlFlow, EXIT } from './control-flow';
import { accessesOf, addressesOf, readsOf, writesOf } from './operands';
import type { AccessSite, Program } from './program';
import { mayAlias } from './slice';

/** By access site (or branch): indices into Program.inputs, and access sites whose loaded data matters. */
export interface Dependencies {
  /** Inputs that the address depends on, through data or through the conditions under which it was computed. */
  readonly address: readonly ReadonlySet<number>[];
  /** Loads that the address depends on. */
  readonly addressLoads: readonly ReadonlySet<number>[];
  /** Inputs that decide whether and how often the access is executed. */
  readonly execution: readonly ReadonlySet<number>[];
  readonly executionLoads: readonly ReadonlySet<number>[];
  /** By branch: inputs and loads of its condition. */
  readonly branches: readonly { readonly inputs: ReadonlySet<number>; readonly loads: ReadonlySet<number> }[];
}

const known = new WeakMap<Program, Dependencies>();

/** Static data and control dependence (remembered as long as the program is); sets may be larger than what a run really depends on, never smaller. */
export function dependencies(program: Program): Dependencies {
  const remembered = known.get(program);
  if (remembered) return remembered;
  const found = computeDependencies(program);
  known.set(program, found);
  return found;
}

function computeDependencies(program: Program): Dependencies {
  const flow = controlFlow(program);
  const tokens = new Tokens(program);
  const controls = controlDependence(program, flow);
  const ofRegister = program.registers.map(() => tokens.empty());
  program.inputs.forEach((input, index) => {
    tokens.add(ofRegister[input.register], index);
  });
  const ofMemory = program.accesses.map(() => tokens.empty());
  const ofControl = program.blocks.map(() => tokens.empty());
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of flow.order) {
      for (const controller of controls[block]) {
        const { terminator } = program.blocks[controller];
        if (terminator.kind !== 'branch') continue;
        changed = tokens.merge(ofControl[block], ofRegister[terminator.condition]) || changed;
        changed = tokens.merge(ofControl[block], ofControl[controller]) || changed;
      }
      changed = propagateBlock(program, block, tokens, ofRegister, ofMemory, ofControl[block]) || changed;
    }
  }
  return collect(program, flow, tokens, ofRegister, ofControl);
}

/** One pass over a block; tells whether any set grew. */
function propagateBlock(
  program: Program,
  block: number,
  tokens: Tokens,
  ofRegister: readonly Int32Array[],
  ofMemory: readonly Int32Array[],
  control: Int32Array,
): boolean {
  let changed = false;
  for (const instruction of program.blocks[block].instructions) {
    for (const register of writesOf(instruction)) {
      const set = ofRegister[register];
      for (const read of readsOf(instruction)) changed = tokens.merge(set, ofRegister[read]) || changed;
      // A value assigned at one place only is used under the same conditions: they decide nothing about it.
      if (program.registers[register].role === 'variable') changed = tokens.merge(set, control) || changed;
      for (const access of accessesOf(instruction)) {
        changed = tokens.addLoad(set, access) || changed;
        changed = tokens.merge(set, ofMemory[access]) || changed;
      }
    }
    if (instruction.op !== 'store' && instruction.op !== 'atomic') continue;
    const site = program.accesses[instruction.access];
    for (const [access, other] of program.accesses.entries()) {
      if (!readsStored(site, other)) continue;
      for (const read of readsOf(instruction)) changed = tokens.merge(ofMemory[access], ofRegister[read]) || changed;
      changed = tokens.merge(ofMemory[access], control) || changed;
    }
  }
  return changed;
}

/** Whether a load may see what a store wrote, as far as the executor keeps contents. */
function readsStored(store: AccessSite, load: AccessSite): boolean {
  const kept = (site: AccessSite) => site.space === 'shared' || site.space === 'local' || site.space === 'generic';
  return load.operation !== 'store' && kept(store) && kept(load) && mayAlias(store, load);
}

function collect(
  program: Program,
  flow: ControlFlow,
  tokens: Tokens,
  ofRegister: readonly Int32Array[],
  ofControl: readonly Int32Array[],
): Dependencies {
  const address = program.accesses.map(() => tokens.empty());
  const execution = program.accesses.map(() => tokens.empty());
  const branches = program.branches.map(() => tokens.empty());
  for (const block of flow.order) {
    for (const instruction of program.blocks[block].instructions) {
      const registers = addressesOf(instruction);
      accessesOf(instruction).forEach((access, i) => {
        tokens.merge(address[access], ofRegister[registers[i]]);
        tokens.merge(execution[access], ofControl[block]);
      });
    }
    const { terminator } = program.blocks[block];
    if (terminator.kind === 'branch') tokens.merge(branches[terminator.branch], ofRegister[terminator.condition]);
  }
  return {
    address: address.map((set) => tokens.inputs(set)),
    addressLoads: address.map((set) => tokens.loads(set)),
    execution: execution.map((set) => tokens.inputs(set)),
    executionLoads: execution.map((set) => tokens.loads(set)),
    branches: branches.map((set) => ({ inputs: tokens.inputs(set), loads: tokens.loads(set) })),
  };
}

/** Sets of inputs and loads as bits: inputs first. */
class Tokens {
  private readonly inputCount: number;
  private readonly words: number;

  constructor(private readonly program: Program) {
    this.inputCount = program.inputs.length;
    this.words = (this.inputCount + program.accesses.length + 31) >> 5;
  }

  empty(): Int32Array {
    return new Int32Array(this.words);
  }

  add(set: Int32Array, token: number): boolean {
    const bit = 1 << (token & 31);
    if ((set[token >> 5] & bit) !== 0) return false;
    set[token >> 5] |= bit;
    return true;
  }

  addLoad(set: Int32Array, access: number): boolean {
    return this.add(set, this.inputCount + access);
  }

  merge(target: Int32Array, source: Int32Array): boolean {
    let changed = false;
    for (let word = 0; word < target.length; word++) {
      const now = target[word] | source[word];
      if (now === target[word]) continue;
      target[word] = now;
      changed = true;
    }
    return changed;
  }

  inputs(set: Int32Array): Set<number> {
    return this.members(set, 0, this.inputCount);
  }

  loads(set: Int32Array): Set<number> {
    return this.members(set, this.inputCount, this.inputCount + this.program.accesses.length);
  }

  private members(set: Int32Array, from: number, to: number): Set<number> {
    const result = new Set<number>();
    for (let token = from; token < to; token++) {
      if ((set[token >> 5] & (1 << (token & 31))) !== 0) result.add(token - from);
    }
    return result;
  }
}

/** By block: the branches that decide directly whether it is executed (Ferrante, Ottenstein, Warren). */
function controlDependence(program: Program, flow: ControlFlow): Set<number>[] {
  const result = program.blocks.map(() => new Set<number>());
  for (const block of flow.order) {
    if (flow.successors[block].length < 2) continue;
    for (const successor of flow.successors[block]) {
      const end = flow.postDominator[block];
      for (let node = successor; node !== end && node !== EXIT; node = flow.postDominator[node]) {
        if (result[node].has(block)) break;
        result[node].add(block);
      }
    }
  }
  return result;
}
