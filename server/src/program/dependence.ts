/** Which inputs and loads the figures of a program rest on. */

import { type AliasClasses, aliasClasses, keepsContents } from './aliasing';
import { type ControlFlow, controlFlow, EXIT } from './control-flow';
import { accessesOf, addressesOf, readsOf, writesOf } from './operands';
import type { Instruction, Program } from './program';
import { type Slice, sliceForCounters } from './slice';

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
  const slice = sliceForCounters(program);
  const tokens = new Tokens(program, slice);
  const controls = controlDependence(program, flow).map((set) => [...set]);
  const classes = aliasClasses(program);
  const ofMemory = classes.aliasing.map(() => tokens.empty());
  const ofControl = program.blocks.map(() => tokens.empty());
  const ofRegister = registerSets(program, flow, slice, tokens);
  const facts = { program, tokens, slice, ofRegister, classes, ofMemory };
  const rules = flow.order.map((block) => rulesOf(facts, slice.kept[block], ofControl[block]));
  for (let changed = true; changed; ) {
    changed = false;
    for (const [k, block] of flow.order.entries()) {
      for (const controller of controls[block]) {
        const { terminator } = program.blocks[controller];
        if (terminator.kind !== 'branch') continue;
        changed = tokens.merge(ofControl[block], ofRegister[terminator.condition]) || changed;
        changed = tokens.merge(ofControl[block], ofControl[controller]) || changed;
      }
      for (const { into, from } of rules[k]) for (const set of from) changed = tokens.merge(into, set) || changed;
    }
  }
  return collect(program, flow, tokens, ofRegister, ofControl);
}

/**
 * A set for every register that counters depend on. What is computed from one value alone depends on what that does, and
 * shares its set.
 */
function registerSets(program: Program, flow: ControlFlow, slice: Slice, tokens: Tokens): Int32Array[] {
  const { nothing } = tokens;
  const sets: (Int32Array | undefined)[] = program.registers.map((r) => (r.role === 'constant' ? nothing : undefined));
  program.inputs.forEach((input, index) => {
    const set = (sets[input.register] ??= tokens.empty());
    tokens.add(set, index);
  });
  for (const block of flow.order) {
    for (const instruction of slice.kept[block]) {
      for (const register of writesOf(instruction)) {
        if (slice.needed[register] === 0 || sets[register] !== undefined) continue;
        const only = accessesOf(instruction).length === 0 ? onlySource(instruction, sets, nothing) : undefined;
        sets[register] = program.registers[register].role === 'temporary' && only ? only : tokens.empty();
      }
    }
  }
  return sets.map((set) => set ?? nothing);
}

/** The one set that an instruction's operands have, constants apart; undefined where there are several or one is not made yet. */
function onlySource(
  instruction: Instruction,
  sets: readonly (Int32Array | undefined)[],
  nothing: Int32Array,
): Int32Array | undefined {
  let only: Int32Array | undefined;
  for (const read of readsOf(instruction)) {
    const set = sets[read];
    if (set === nothing) continue;
    if (set === undefined || (only !== undefined && only !== set)) return undefined;
    only = set;
  }
  return only;
}

/** What a set grows by. */
interface Rule {
  readonly into: Int32Array;
  readonly from: readonly Int32Array[];
}

interface Facts {
  readonly program: Program;
  readonly tokens: Tokens;
  readonly slice: Slice;
  readonly ofRegister: readonly Int32Array[];
  readonly classes: AliasClasses;
  /** By class of accesses: what the contents depend on that a load of it may see. */
  readonly ofMemory: readonly Int32Array[];
}

/** The rules of a block in order; tokens of loads are put into the sets at once. */
function rulesOf(facts: Facts, instructions: readonly Instruction[], control: Int32Array): Rule[] {
  const { program, tokens, slice, ofRegister, classes, ofMemory } = facts;
  const rules: Rule[] = [];
  const add = (into: Int32Array, sources: readonly Int32Array[]) => {
    const from = sources.filter((set) => set !== into && set !== tokens.nothing);
    if (from.length > 0) rules.push({ into, from });
  };
  for (const instruction of instructions) {
    const reads = readsOf(instruction).map((read) => ofRegister[read]);
    for (const register of writesOf(instruction)) {
      if (slice.needed[register] === 0) continue;
      const set = ofRegister[register];
      const accesses = accessesOf(instruction);
      for (const access of accesses) tokens.addLoad(set, access);
      // A value assigned at one place only is used under the same conditions: they decide nothing about it.
      const decides = program.registers[register].role === 'variable' ? [control] : [];
      add(set, [...reads, ...decides, ...accesses.map((access) => ofMemory[classes.of[access]])]);
    }
    if (instruction.op !== 'store' && instruction.op !== 'atomic') continue;
    if (slice.storesMatter[instruction.access] === 0) continue;
    // A load sees what a store wrote as far as the executor keeps contents.
    const stored = classes.of[instruction.access];
    if (!keepsContents(classes.sites[stored])) continue;
    for (const other of classes.aliasing[stored])
      if (keepsContents(classes.sites[other])) add(ofMemory[other], [...reads, control]);
  }
  return rules;
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
      if (instruction.op === 'asyncCopy' && instruction.read !== undefined)
        tokens.merge(execution[instruction.loadAccess], ofRegister[instruction.read]);
    }
    const { terminator } = program.blocks[block];
    if (terminator.kind === 'branch') tokens.merge(branches[terminator.branch], ofRegister[terminator.condition]);
  }
  const [ofAddress, ofExecution, ofBranch] = [address, execution, branches].map((sets) => tokens.members(sets));
  return {
    address: ofAddress.map(({ inputs }) => inputs),
    addressLoads: ofAddress.map(({ loads }) => loads),
    execution: ofExecution.map(({ inputs }) => inputs),
    executionLoads: ofExecution.map(({ loads }) => loads),
    branches: ofBranch,
  };
}

/** Sets of inputs and loads as bits: inputs first. */
class Tokens {
  /** A set without members, shared: nothing is ever put into it. */
  readonly nothing: Int32Array;
  private readonly inputCount: number;
  private readonly words: number;
  /** Accesses that load data which matters: few of the accesses of a large kernel do. */
  private readonly loading: readonly number[];
  /** By access: its token, -1 where it loads nothing that matters. */
  private readonly tokenOf: Int32Array;

  constructor(program: Program, slice: Slice) {
    this.inputCount = program.inputs.length;
    this.tokenOf = new Int32Array(program.accesses.length).fill(-1);
    const loading: number[] = [];
    for (const instructions of slice.kept) {
      for (const instruction of instructions) {
        const accesses = accessesOf(instruction);
        if (accesses.length === 0 || !writesOf(instruction).some((register) => slice.needed[register] === 1)) continue;
        for (const access of accesses)
          if (this.tokenOf[access] < 0) this.tokenOf[access] = this.inputCount + loading.push(access) - 1;
      }
    }
    this.loading = loading;
    this.words = (this.inputCount + loading.length + 31) >> 5;
    this.nothing = this.empty();
  }

  empty(): Int32Array {
    return new Int32Array(this.words);
  }

  add(set: Int32Array, token: number): void {
    set[token >> 5] |= 1 << (token & 31);
  }

  addLoad(set: Int32Array, access: number): void {
    this.add(set, this.tokenOf[access]);
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

  /** Of each set its inputs and its loads, by access site, ascending. Equal sets, and most of a block are, share theirs. */
  members(sets: readonly Int32Array[]): Members[] {
    const known = new Map<string, Members>();
    return sets.map((set) => {
      const key = set.join();
      const members = known.get(key) ?? this.membersOf(set);
      known.set(key, members);
      return members;
    });
  }

  private membersOf(set: Int32Array): Members {
    const inputs = new Set<number>();
    const loads: number[] = [];
    for (let word = 0; word < set.length; word++) {
      for (let bits = set[word]; bits !== 0; bits &= bits - 1) {
        const token = word * 32 + (31 - Math.clz32(bits & -bits));
        if (token < this.inputCount) inputs.add(token);
        else loads.push(this.loading[token - this.inputCount]);
      }
    }
    return { inputs, loads: new Set(loads.sort((a, b) => a - b)) };
  }
}

interface Members {
  readonly inputs: ReadonlySet<number>;
  readonly loads: ReadonlySet<number>;
}

/** By block: the branches that decide directly whether it is executed (Ferrante, Ottenstein, Warren). */
export function controlDependence(program: Program, flow: ControlFlow): Set<number>[] {
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
