import { ExpressionTable, operationKey } from './expression-table';
import { foldBinary, foldCompare, foldConvert, foldUnary } from './fold';
import { type Interval, Intervals } from './intervals';
import { type Linear, LinearForms, lowestBit } from './linear';
import { type Cycle, LowBits } from './low-bits';
import {
  type AccessSite,
  type BinaryOp,
  type Block,
  type BranchSite,
  bytesOf,
  type CompareOp,
  type Input,
  type InputSource,
  type Instruction,
  type LibraryBranches,
  type MemoryObject,
  NOT_INITIALISED,
  type Program,
  type Register,
  type RegisterInfo,
  type ScalarType,
  type SourcePlace,
  type Terminator,
  type UnaryOp,
} from './program';
import { ZeroBits } from './zero-bits';

type PureInstruction = Extract<Instruction, { op: 'unary' | 'convert' | 'binary' | 'compare' | 'select' | 'fma' }>;

/** Of 32 or 64 bits. */
const isWhole = (type: ScalarType): boolean => isInteger(type) && bytesOf[type] >= 4;

const isInteger = (type: ScalarType): boolean => type.startsWith('i') || type.startsWith('u');

interface OpenBlock {
  readonly instructions: Instruction[];
  terminator: Terminator | undefined;
}

/**
 * Writes a program block by block. Folds constants, keeps one register for equal pure expressions (value numbering,
 * valid where the first one dominates) and knows the linear form of integers, so that constant offsets of addresses come
 * out as such: both are what the real compiler does, and what merging neighbouring accesses later needs.
 */
export class ProgramBuilder {
  readonly registers: RegisterInfo[] = [];
  readonly inputs: Input[] = [];
  readonly objects: MemoryObject[] = [];
  readonly accesses: AccessSite[] = [];
  readonly branches: BranchSite[] = [];
  readonly skipped: {
    place: SourcePlace;
    reason: string;
    isAccess?: true;
    isMarked?: true;
    recursion?: SourcePlace;
  }[] = [];
  private readonly blocks: OpenBlock[] = [];
  private current = 0;
  /** Pure expressions seen whose regions dominate this place. */
  private readonly expressions = new ExpressionTable();
  /** By type: registers of constants. */
  private readonly constants: Partial<Record<ScalarType, Map<number, Register>>> = {};
  private readonly negativeZeros: Partial<Record<ScalarType, Map<number, Register>>> = {};
  private readonly inputRegisters = new Map<string, Register>();
  /** Variables, and copies of what they hold, by whether all that was assigned to them so far points into shared memory. */
  readonly intoShared = new Map<Register, boolean>();
  /** Addresses that were computed as pointers to another type than the one that they are used with. */
  readonly reinterpreted = new Set<Register>();
  private readonly objectsAt = new Map<Register, number>();
  private readonly linear = new LinearForms(this.registers);
  private readonly lowBits = new LowBits(this.registers);
  private readonly zeroBits = new ZeroBits(this.registers, this.lowBits, (r) => this.linear.of(r));
  private readonly intervals = new Intervals(this.registers);
  instructionCount = 0;
  /** Where a lane's next allocation in the device's heap begins; undefined before the first. */
  nextOfHeap: Register | undefined;
  /** Where registers are made: the first token of the statement, and the call that is being inlined. */
  statement: number | undefined = 0;
  /** Whether a library is being inlined there, or a function that it was handed: its calls all stand at the user's. */
  isFromLibrary = false;
  /** Where the function that is being inlined begins. */
  callBlock = 0;
  call: SourcePlace | undefined;

  constructor(
    private readonly kernel: string,
    /** Instructions after which the program is cut off (reachable becomes false). */
    private budget: number,
  ) {
    this.blocks.push({ instructions: [], terminator: undefined });
  }

  // ---- registers ----

  register(type: ScalarType, role: RegisterInfo['role'], name?: string): Register {
    this.registers.push({ type, role, name, statement: this.statement, call: this.call });
    return this.registers.length - 1;
  }

  variable(type: ScalarType, name?: string): Register {
    return this.register(type, 'variable', name);
  }

  constant(type: ScalarType, value: number): Register {
    // a Map takes -0 for 0
    const constants = Object.is(value, -0) ? this.negativeZeros : this.constants;
    let ofType = constants[type];
    if (!ofType) constants[type] = ofType = new Map();
    const known = ofType.get(value);
    if (known !== undefined) return known;
    this.registers.push({ type, role: 'constant', value });
    const register = this.registers.length - 1;
    ofType.set(value, register);
    return register;
  }

  constantValue(register: Register): number | undefined {
    const info = this.registers[register];
    return info.role === 'constant' ? info.value : undefined;
  }

  typeOf(register: Register): ScalarType {
    return this.registers[register].type;
  }

  input(type: ScalarType, source: InputSource, name: string): Register {
    const key = 'axis' in source ? `${source.kind}.${source.axis}` : JSON.stringify(source);
    const known = this.inputRegisters.get(key);
    if (known !== undefined) return known;
    const register = this.register(type, 'input', name);
    this.inputs.push({ register, source, name });
    this.inputRegisters.set(key, register);
    return register;
  }

  /** Adds an array or variable in memory; returns its index. The register with its address is made here. */
  object(object: Omit<MemoryObject, 'register'>): number {
    const index = this.objects.length;
    const register = this.input('i64', { kind: 'object', object: index }, object.name);
    this.pointee({ ...object, register });
    return index;
  }

  /** What a pointer parameter points to: its address is the parameter's own register. */
  pointee(object: MemoryObject): number {
    this.objects.push(object);
    const index = this.objects.length - 1;
    if (!this.objectsAt.has(object.register)) this.objectsAt.set(object.register, index);
    return index;
  }

  /** The first object whose address the register holds, -1 where there is none. */
  objectAt(register: Register): number {
    return this.objectsAt.get(register) ?? -1;
  }

  access(site: AccessSite): number {
    this.accesses.push(site);
    return this.accesses.length - 1;
  }

  // ---- blocks ----

  newBlock(): number {
    this.blocks.push({ instructions: [], terminator: undefined });
    return this.blocks.length - 1;
  }

  /** Forgets all pure values computed: control may come here on ways that did not compute them. */
  forgetPure(): void {
    this.expressions.clear();
  }

  /** False behind a return, break or a spent budget: nothing is emitted there. */
  get reachable(): boolean {
    return this.blocks[this.current].terminator === undefined && this.instructionCount < this.budget;
  }

  /** Spends the budget: nothing is emitted any more. */
  cutOff(): void {
    this.instructionCount = Math.max(this.instructionCount, this.budget);
  }

  /** Leaves so many instructions of the budget. */
  stopWithin(instructions: number): void {
    this.budget = Math.min(this.budget, this.instructionCount + instructions);
  }

  get overBudget(): boolean {
    return this.instructionCount >= this.budget;
  }

  get currentBlock(): number {
    return this.current;
  }

  use(block: number): void {
    this.current = block;
  }

  /** Emits at the end of a block that control has left. */
  atEndOf(block: number, emit: () => void): void {
    const { current } = this;
    const { terminator } = this.blocks[block];
    this.current = block;
    this.blocks[block].terminator = undefined;
    emit();
    this.blocks[block].terminator = terminator;
    this.current = current;
  }

  /** Emits where the kernel begins; in a block that control has left at its end, which nothing comes by without. */
  atBegin(emit: () => void): void {
    if (this.current === 0) emit();
    else this.atEndOf(0, emit);
  }

  private terminate(terminator: Terminator): void {
    const block = this.blocks[this.current];
    if (block.terminator === undefined) block.terminator = terminator;
  }

  jump(target: number): void {
    this.terminate({ kind: 'jump', target });
  }

  exit(): void {
    this.terminate({ kind: 'exit' });
  }

  branch(condition: Register, ifTrue: number, ifFalse: number, site: BranchSite): void {
    if (!this.reachable) return;
    const value = this.constantValue(condition);
    if (value !== undefined) {
      this.jump(value ? ifTrue : ifFalse);
      return;
    }
    this.branches.push(site);
    this.terminate({ kind: 'branch', condition, ifTrue, ifFalse, branch: this.branches.length - 1 });
  }

  /** Expressions first computed between enter and leave are not reused behind it (they do not dominate what follows). */
  enterRegion(): void {
    this.expressions.enter();
  }

  leaveRegion(): void {
    this.expressions.leave();
  }

  // ---- instructions ----

  emit(instruction: Instruction): void {
    if (!this.reachable) return;
    this.instructionCount++;
    this.blocks[this.current].instructions.push(instruction);
  }

  /** As far as they are made. */
  blocksSoFar(): readonly {
    readonly instructions: readonly Instruction[];
    readonly terminator: Terminator | undefined;
  }[] {
    return this.blocks;
  }

  /** Takes back an instruction that turned out to do nothing. */
  drop(block: number, instruction: Instruction): void {
    const { instructions } = this.blocks[block];
    const at = instructions.indexOf(instruction);
    if (at >= 0) instructions.splice(at, 1);
  }

  /** Instructions of the current block so far. */
  get emitted(): number {
    return this.blocks[this.current].instructions.length;
  }

  /** Those of the current block from one on. */
  emittedSince(from: number, to = this.emitted): readonly Instruction[] {
    return this.blocks[this.current].instructions.slice(from, to);
  }

  private isStable(register: Register): boolean {
    return this.registers[register].role !== 'variable';
  }

  /**
   * The register that holds an equal expression which dominates this place, or -1. Operands that may change are not numbered.
   * @param operation from operationKey
   * @param b -1 where there is none, like c
   */
  private equal(operation: number, a: Register, b: Register, c: Register): Register {
    return this.areStable(a, b, c) ? this.expressions.find(operation, a, b, c) : -1;
  }

  private areStable(a: Register, b: Register, c: Register): boolean {
    return this.isStable(a) && (b < 0 || this.isStable(b)) && (c < 0 || this.isStable(c));
  }

  /** Emits a pure instruction that `equal` did not find. */
  private pure(operation: number, a: Register, b: Register, c: Register, instruction: PureInstruction): Register {
    const { dst } = instruction;
    this.emit(instruction);
    if (this.reachable && this.areStable(a, b, c)) this.expressions.add(operation, a, b, c, dst);
    return dst;
  }

  unary(fn: UnaryOp, type: ScalarType, a: Register, from?: ScalarType, branches?: LibraryBranches): Register {
    const folded = foldUnary(fn, type, this.constantValue(a));
    if (folded !== undefined) return this.constant(type, folded);
    const key = operationKey('unary', fn, type);
    const known = this.equal(key, a, -1, -1);
    if (known >= 0) return known;
    const dst = this.register(fn === 'isnan' || fn === 'isinf' ? 'pred' : type, 'temporary');
    const instruction: PureInstruction & { place?: SourcePlace } = { op: 'unary', fn, type, dst, a, from, branches };
    this.pure(key, a, -1, -1, instruction);
    if (fn === 'bitcast') this.unread.set(dst, instruction);
    if (fn === 'neg') this.linear.scale(dst, a, -1);
    return dst;
  }

  convert(from: ScalarType, type: ScalarType, a: Register): Register {
    if (from === type) return a;
    const folded = foldConvert(from, type, this.constantValue(a));
    if (folded !== undefined) return this.constant(type, folded);
    const key = operationKey('convert', '', type, from);
    const known = this.equal(key, a, -1, -1);
    if (known >= 0) return known;
    const dst = this.register(type, 'temporary');
    if (this.nonNegative.has(a)) this.nonNegative.add(dst);
    this.pure(key, a, -1, -1, { op: 'convert', from, type, dst, a });
    this.linear.convert(dst, a, from, type);
    if (isWhole(from) && isWhole(type)) {
      this.zeroBits.convert(dst, type, a);
      this.intervals.convert(dst, type, a);
    }
    return dst;
  }

  binary(fn: BinaryOp, type: ScalarType, a: Register, b: Register, branches?: LibraryBranches): Register {
    const ca = this.constantValue(a);
    const cb = this.constantValue(b);
    const folded = foldBinary(fn, type, ca, cb);
    if (folded === 'a') return a;
    if (folded === 'b') return b;
    if (folded !== undefined) return this.constant(type, folded);
    const bits = this.lowBitsOf(fn, type, a, b);
    if (bits !== undefined) return this.constant(type, bits);
    const sum = fn === 'add' || fn === 'sub' ? this.linear.simplerSum(fn, type, a, b) : undefined;
    if (sum) return this.plus(type, sum[0], sum[1]);
    const key = operationKey('binary', fn, type);
    const known = this.equal(key, a, b, -1);
    if (known >= 0) return known;
    const dst = this.register(type, 'temporary');
    if (cb !== undefined && cb > 0 && (fn === 'and' || (type === 'u32' && (fn === 'shr' || fn === 'div'))))
      this.nonNegative.add(dst);
    this.pure(key, a, b, -1, { op: 'binary', fn, type, dst, a, b, branches });
    this.linear.binary(dst, fn, type, a, b);
    if ((fn === 'or' || fn === 'xor') && cb !== undefined && this.zeroBits.areAdded(a, cb))
      this.linear.setBits(dst, a, cb);
    this.zeroBits.binary(dst, fn, type, a, b);
    this.intervals.binary(dst, fn, type, a, b);
    return dst;
  }

  /** Between which numbers its operations say that an integer lies. */
  intervalOf(register: Register): Interval | undefined {
    return this.intervals.of(register);
  }

  /** As the source would write it: `i + 1`, `i - 1`. */
  private plus(type: ScalarType, register: Register, constant: number): Register {
    if (constant === 0) return register;
    return this.binary(constant > 0 ? 'add' : 'sub', type, register, this.constant(type, Math.abs(constant)));
  }

  /** Values that a register which never changes may have: what is left of them under a mask is folded. */
  know(register: Register, cycle: Cycle): void {
    this.lowBits.know(register, cycle);
  }

  private lowBitsOf(fn: BinaryOp, type: ScalarType, a: Register, b: Register): number | undefined {
    if ((fn !== 'and' && fn !== 'rem') || type === 'pred') return undefined;
    const [value, by] = fn === 'and' && this.constantValue(a) !== undefined ? [b, a] : [a, b];
    return this.lowBits.fold(fn, type, this.linear.of(value), this.constantValue(by));
  }

  /** Integers that their low bits tell apart. */
  private isNever(type: ScalarType, a: Register, b: Register): boolean {
    if (!isInteger(type)) return false;
    const [value, other] = this.constantValue(a) !== undefined ? [b, a] : [a, b];
    return this.lowBits.isNever(this.linear.of(value), this.constantValue(other));
  }

  compare(fn: CompareOp, type: ScalarType, a: Register, b: Register): Register {
    const folded = foldCompare(fn, type, this.constantValue(a), this.constantValue(b));
    if (folded !== undefined) return this.constant('pred', folded);
    if ((fn === 'eq' || fn === 'ne') && this.isNever(type, a, b)) return this.constant('pred', fn === 'ne' ? 1 : 0);
    const key = operationKey('compare', fn, type);
    const known = this.equal(key, a, b, -1);
    if (known >= 0) return known;
    return this.pure(key, a, b, -1, { op: 'compare', fn, type, dst: this.register('pred', 'temporary'), a, b });
  }

  select(type: ScalarType, p: Register, a: Register, b: Register, branches?: LibraryBranches): Register {
    const cp = this.constantValue(p);
    if (cp !== undefined) return cp ? a : b;
    if (a === b) return a;
    const key = operationKey('select', '', type);
    const known = this.equal(key, p, a, b);
    if (known >= 0) return known;
    const dst = this.register(type, 'temporary');
    return this.pure(key, p, a, b, { op: 'select', type, dst, p, a, b, branches });
  }

  fma(type: ScalarType, a: Register, b: Register, c: Register): Register {
    const key = operationKey('fma', '', type);
    const known = this.equal(key, a, b, c);
    if (known >= 0) return known;
    return this.pure(key, a, b, c, { op: 'fma', type, dst: this.register(type, 'temporary'), a, b, c });
  }

  /** By register: the bitcast that gives it, as long as nobody has said where it is read first. */
  private readonly unread = new Map<Register, { place?: SourcePlace }>();

  /** Whether it is asked where the value of a register is read first. */
  asksForPlace(register: Register): boolean {
    return this.unread.has(register);
  }

  /** The value of a register is read at a place. */
  readAt(register: Register, place: () => SourcePlace): void {
    const bitcast = this.unread.get(register);
    if (!bitcast) return;
    bitcast.place = place();
    this.unread.delete(register);
  }

  /** Registers of which a mask, a shift or a quotient leaves no negative number, as an `int` either. */
  private readonly nonNegative = new Set<Register>();

  isNonNegative(register: Register): boolean {
    const value = this.constantValue(register);
    return value === undefined ? this.nonNegative.has(register) : value >= 0;
  }

  /** Registers that nothing is known of. */
  private readonly unknowns = new Set<Register>();
  private readonly uninitialised = new Set<Register>();

  isUnknown(register: Register): boolean {
    return this.unknowns.has(register);
  }

  /** Registers of variables that nothing was assigned to yet: what they hold may be anything. */
  isUninitialised(register: Register): boolean {
    return this.uninitialised.has(register);
  }

  unknown(type: ScalarType, reason: string): Register {
    const dst = this.register(type, 'temporary');
    this.unknowns.add(dst);
    if (reason === NOT_INITIALISED) this.uninitialised.add(dst);
    this.emit({ op: 'unknown', dst, reason });
    return dst;
  }

  /** Assigns a variable in the active lanes. */
  move(variable: Register, value: Register): void {
    this.emit({ op: 'unary', fn: 'mov', type: this.registers[variable].type, dst: variable, a: value });
  }

  /**
   * Splits an address into a register without constant part, and the constant: `p + 4*i + 12` gives (p + 4*i, 12).
   * Addresses that differ by a constant then share the register. Addresses are computed as i64: they stay below 2^53,
   * and negative offsets need the sign.
   */
  splitAddress(address: Register): { register: Register; offset: number } {
    const form = this.linear.of(address);
    if (!form || form.registers.length === 0) return { register: address, offset: 0 };
    // what a function is handed was computed before the call: in shared memory as part of the call's statement
    const { statement, call } = this;
    const made = this.registers[address];
    if (this.isHanded(address) && this.isShared(form)) {
      this.statement = made.statement;
      this.call = made.call;
    } else if (made.call !== call) this.statement = undefined;
    const register = this.materialise(form);
    this.statement = statement;
    this.call = call;
    return { register, offset: form.constant };
  }

  /** A term of an address of shared memory, which has 32 bits: an unsigned number beyond the half of them is one below zero. */
  private widened(register: Register): Register {
    const type = this.typeOf(register);
    if (type !== 'u32' || this.registers[register].role === 'input') return this.convert(type, 'i64', register);
    return this.convert('i32', 'i64', this.convert('u32', 'i32', register));
  }

  /** Whether an address is one of shared memory: of an array there, or of what a variable holds that was only given such. */
  isIntoShared(address: Register): boolean {
    const form = this.linear.of(address);
    return form ? this.pointsIntoShared(form) : this.intoShared.get(address) === true;
  }

  private pointsIntoShared({ registers, factors }: Linear): boolean {
    return registers.some((register, k) => {
      if (factors[k] !== 1) return false;
      const object = this.objectAt(register);
      return object >= 0 ? this.objects[object].space === 'shared' : this.intoShared.get(register) === true;
    });
  }

  private isShared({ registers }: Linear): boolean {
    return registers.some((r) => this.objectAt(r) >= 0 && this.objects[this.objectAt(r)].space === 'shared');
  }

  /** Made in front of the call that is being inlined, or of one around it, and used before anything in it branches. */
  isHanded(register: Register): boolean {
    return this.callsThrough(register) > 0;
  }

  /** Made in front of the call that is being inlined, or of one around it, whatever has branched since. */
  isGiven(register: Register): boolean {
    const { call } = this.registers[register];
    for (let at = this.call; at; at = at.call) if (at.call === call) return true;
    return false;
  }

  /** How many calls a register was handed through to where it is used; 0: it was made there, or something has branched since. */
  callsThrough(register: Register): number {
    const { call } = this.registers[register];
    if (this.isFromLibrary || this.callBlock !== this.currentBlock) return 0;
    for (let at = this.call, calls = 1; at; at = at.call, calls++) if (at.call === call) return calls;
    return 0;
  }

  linearForm(register: Register): Linear | undefined {
    return this.linear.of(register);
  }

  private materialise(form: Linear): Register {
    let sum: Register | undefined;
    const grains = form.grains && this.isShared(form) ? form.grains : undefined;
    const isPointer = this.pointsIntoShared(form);
    for (let k = 0; k < form.registers.length; k++) {
      const register = form.registers[k];
      const factor = form.factors[k];
      const wide = isPointer ? this.widened(register) : this.convert(this.typeOf(register), 'i64', register);
      const grain = grains?.[k] ?? lowestBit(factor);
      // two terms tell as much of the address as the compiler knows
      for (const part of grain < lowestBit(factor) ? [factor - grain, grain] : [factor]) {
        const term = part === 1 ? wide : this.binary('mul', 'i64', wide, this.constant('i64', part));
        sum = sum === undefined ? term : this.binary('add', 'i64', sum, term);
      }
    }
    return sum ?? this.constant('i64', 0);
  }

  finish(): Program {
    return {
      kernel: this.kernel,
      registers: this.registers,
      blocks: this.blocks.map(
        (b): Block => ({ instructions: b.instructions, terminator: b.terminator ?? { kind: 'exit' } }),
      ),
      inputs: this.inputs,
      objects: this.objects,
      accesses: this.accesses,
      branches: this.branches,
      skipped: this.skipped,
      ...(this.nextOfHeap !== undefined && { usesHeap: true }),
    };
  }
}
