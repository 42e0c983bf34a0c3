/**
 * Programs as text, for tests. One line an instruction:
 *
 *   in tid i32 threadIdx.x        in n i32 parameter        in p u64 parameter
 *   shared s 4096                 local a 64                constant table i32 1 2 3
 *   var i i32
 *   x = add.i32 tid 4             y = lt.i32 x n            z = convert.u64.i32 x
 *   v = load.f32 global [p + 4]   store.f32 shared [q] v    old = atomic.add.u32 shared [q] 1
 *   w = shuffleDown.i32 x 1       s = select.i32 y x 0      barrier
 *   loop:                         jump loop                 if y then else       exit
 *
 * Names are registers: variables where declared with `var`, temporaries elsewhere. Numbers are constants of the type.
 */

import type {
  AccessSite,
  BinaryOp,
  Block,
  BranchSite,
  CompareOp,
  Input,
  InputSource,
  Instruction,
  LaneInstruction,
  MemoryObject,
  MemorySpace,
  Program,
  RegisterInfo,
  ScalarType,
  Terminator,
  UnaryOp,
} from '../../../server/src/program/program';

const place = { first: 0, last: 0 };
const axes: Record<string, 0 | 1 | 2> = { x: 0, y: 1, z: 2 };
const compares = new Set(['eq', 'ne', 'lt', 'le', 'gt', 'ge']);
const lanes = new Set(
  'shuffle shuffleUp shuffleDown shuffleXor ballot any all matchAny activeMask reduceAdd reduceMin reduceMax reduceAnd reduceOr reduceXor'.split(
    ' ',
  ),
);
const binaries = new Set(
  'add sub mul mulhi div rem and or xor shl shr min max pow fmod atan2 hypot copysign'.split(' '),
);

export function programFrom(text: string): Program {
  return new Reader().read(text);
}

class Reader {
  private readonly registers: RegisterInfo[] = [];
  private readonly names = new Map<string, number>();
  private readonly inputs: Input[] = [];
  private readonly objects: MemoryObject[] = [];
  private readonly accesses: AccessSite[] = [];
  private readonly branches: BranchSite[] = [];
  private readonly blocks: { instructions: Instruction[]; ends: string[] }[] = [];
  private readonly labels = new Map<string, number>();

  read(text: string): Program {
    this.open();
    for (const raw of text.split('\n')) {
      const line = raw.replace(/\/\/.*/, '').trim();
      if (line !== '') this.line(line);
    }
    const isLabelled = [...this.labels.values()].includes(this.blocks.length - 1);
    if (!isLabelled && this.block.instructions.length === 0 && this.blocks.length > 1) this.blocks.pop();
    const blocks = this.blocks.map((block, index): Block => {
      return { instructions: block.instructions, terminator: this.terminator(block.ends, index) };
    });
    return {
      kernel: 'test',
      registers: this.registers,
      blocks,
      inputs: this.inputs,
      objects: this.objects,
      accesses: this.accesses,
      branches: this.branches,
      skipped: [],
    };
  }

  private open(): void {
    this.blocks.push({ instructions: [], ends: [] });
  }

  private get block() {
    return this.blocks[this.blocks.length - 1];
  }

  private line(line: string): void {
    const words = line.split(/[\s,]+/);
    const label = /^(\w+):$/.exec(line);
    if (label) {
      if (this.block.instructions.length > 0 || this.block.ends.length > 0 || this.labels.has(label[1])) this.open();
      this.labels.set(label[1], this.blocks.length - 1);
    } else if (words[0] === 'in') this.input(words[1], words[2] as ScalarType, words[3]);
    else if (words[0] === 'shared' || words[0] === 'local' || words[0] === 'constant') this.object(words);
    else if (words[0] === 'var') this.declare(words[1], words[2] as ScalarType, 'variable');
    else if (['jump', 'if', 'exit'].includes(words[0])) {
      this.block.ends.push(...words);
      this.open();
    } else this.block.instructions.push(this.instruction(words));
  }

  private declare(name: string, type: ScalarType, role: RegisterInfo['role'], value?: number): number {
    this.registers.push({ name, type, role, value });
    this.names.set(name, this.registers.length - 1);
    return this.registers.length - 1;
  }

  private input(name: string, type: ScalarType, source: string): void {
    const register = this.declare(name, type, 'input');
    const [kind, axis] = source.split('.');
    const parsed: InputSource =
      kind === 'parameter'
        ? { kind, parameter: this.inputs.length, path: [name] }
        : axis === undefined
          ? { kind: kind as 'laneId' }
          : { kind: kind as 'threadIdx', axis: axes[axis] };
    this.inputs.push({ register, source: parsed, name });
  }

  private object(words: string[]): void {
    const [space, name, size, ...rest] = words;
    const register = this.declare(name, 'u64', 'input');
    const isTable = space === 'constant';
    const bytes = isTable ? 4 * rest.length : size === 'dynamic' ? 0 : Number(size);
    this.inputs.push({ register, source: { kind: 'object', object: this.objects.length }, name });
    this.objects.push({
      name,
      space: space as MemorySpace,
      bytes,
      alignment: isTable ? 4 : Number(rest[0] ?? 4),
      isDynamic: size === 'dynamic',
      register,
      dimensions: [],
      elementBytes: 4,
      elementType: 'int',
      place,
      contents: isTable ? { type: size as ScalarType, values: rest.map(Number) } : undefined,
    });
  }

  private operand(word: string, type: ScalarType): number {
    const known = this.names.get(word);
    if (known !== undefined) return known;
    const value = Number(word);
    if (Number.isNaN(value) && word !== 'NaN') throw new Error(`unknown name ${word}`);
    return this.declare(`${word}:${type}`, type, 'constant', value);
  }

  private target(name: string, type: ScalarType): number {
    return this.names.get(name) ?? this.declare(name, type, 'temporary');
  }

  private access(operation: AccessSite['operation'], space: string, expression: string, isFloat = false): number {
    const atomic = operation === 'atomic' ? (isFloat ? 'float' : 'integer') : undefined;
    this.accesses.push({ place, expression, operation, space: space as MemorySpace, atomic });
    return this.accesses.length - 1;
  }

  private instruction(words: string[]): Instruction {
    const isAssignment = words[1] === '=';
    const targets = isAssignment ? words[0].split('|') : [];
    const [op, ...operands] = isAssignment ? words.slice(2) : words;
    const [fn, ...suffixes] = op.split('.');
    const type = suffixes[suffixes.length - 1] as ScalarType;
    const read = (index: number, as = type) => this.operand(operands[index], as);
    switch (fn) {
      case 'load':
      case 'store':
      case 'atomic':
        return this.memory(fn, suffixes, targets, operands);
      case 'barrier':
        return { op: 'barrier', scope: 'block' };
      case 'unknown':
        return { op: 'unknown', dst: this.target(targets[0], type), reason: operands.join(' ') };
      case 'convert': {
        const to = suffixes[0] as ScalarType;
        return { op: 'convert', type: to, from: type, a: read(0), dst: this.target(targets[0], to) };
      }
      case 'select': {
        const [p, a, b] = [read(0, 'pred'), read(1), read(2)];
        return { op: 'select', type, p, a, b, dst: this.target(targets[0], type) };
      }
      case 'fma': {
        const [a, b, c] = [read(0), read(1), read(2)];
        return { op: 'fma', type, a, b, c, dst: this.target(targets[0], type) };
      }
      case 'bitcast': {
        const to = suffixes[0] as ScalarType;
        return { op: 'unary', fn, type: to, from: type, a: read(0), dst: this.target(targets[0], to) };
      }
      case 'copyAsync': {
        const [destination, source] = [read(0, 'u64'), read(1, 'u64')];
        const loadAccess = this.access('load', 'global', operands[1]);
        const storeAccess = this.access('store', 'shared', operands[0]);
        return { op: 'asyncCopy', bytes: Number(suffixes[0]), source, destination, loadAccess, storeAccess };
      }
      case 'matrix': {
        const matrices = Number(suffixes[0]) as 1 | 2 | 4;
        const access = this.access('load', 'shared', operands[0]);
        const dst = targets.map((target) => this.target(target, 'u32'));
        return { op: 'matrix', direction: 'load', matrices, dst, address: read(0, 'u64'), access };
      }
    }
    if (compares.has(fn)) {
      const [a, b] = [read(0), read(1)];
      return { op: 'compare', fn: fn as CompareOp, type, a, b, dst: this.target(targets[0], 'pred') };
    }
    if (lanes.has(fn)) return this.laneOperation(fn as LaneInstruction['fn'], type, targets[0], operands);
    if (binaries.has(fn)) {
      const [a, b] = [read(0), read(1)];
      return { op: 'binary', fn: fn as BinaryOp, type, a, b, dst: this.target(targets[0], type) };
    }
    const countsBits = ['popc', 'clz', 'ffs'].includes(fn);
    const result = fn === 'isnan' || fn === 'isinf' ? 'pred' : countsBits ? 'i32' : type;
    return { op: 'unary', fn: fn as UnaryOp, type, a: read(0), dst: this.target(targets[0], result) };
  }

  private laneOperation(fn: LaneInstruction['fn'], type: ScalarType, target: string, operands: string[]): Instruction {
    const [a, b, width] = operands.map((word, i) => this.operand(word, i === 0 ? type : 'i32'));
    const result = fn === 'any' || fn === 'all' ? 'pred' : fn.match(/ballot|match|active/) ? 'u32' : type;
    return { op: 'lane', fn, type, dst: this.target(target, result), a, b, width };
  }

  private memory(fn: 'load' | 'store' | 'atomic', suffixes: string[], targets: string[], words: string[]): Instruction {
    const type = suffixes[suffixes.length - 1] as ScalarType;
    const close = words.findIndex((word) => word.endsWith(']'));
    const [base, sign, shift] = words.slice(1, close + 1).map((word) => word.replace(/[[\]]/g, ''));
    const offset = shift === undefined ? 0 : Number(shift) * (sign === '-' ? -1 : 1);
    const address = this.operand(base, 'u64');
    const access = this.access(fn, words[0], words.slice(1, close + 1).join(' '), type.startsWith('f'));
    const values = words.slice(close + 1).map((word) => this.operand(word, type));
    const common = { type, address, offset, access };
    if (fn === 'load') return { op: fn, dst: targets.map((target) => this.target(target, type)), ...common };
    if (fn === 'store') return { op: fn, values, ...common };
    const dst = targets.length === 0 ? undefined : this.target(targets[0], type);
    const isSwap = suffixes[0] === 'cas';
    return {
      op: fn,
      fn: suffixes[0] as 'add',
      dst,
      compare: isSwap ? values[0] : undefined,
      value: values[isSwap ? 1 : 0],
      ...common,
    };
  }

  private terminator(words: string[], index: number): Terminator {
    const target = (label: string) => {
      const block = this.labels.get(label);
      if (block === undefined) throw new Error(`unknown label ${label}`);
      return block;
    };
    if (words.length === 0)
      return index + 1 < this.blocks.length ? { kind: 'jump', target: index + 1 } : { kind: 'exit' };
    if (words[0] === 'exit') return { kind: 'exit' };
    if (words[0] === 'jump') return { kind: 'jump', target: target(words[1]) };
    this.branches.push({ place, kind: 'if' });
    const branch = this.branches.length - 1;
    const condition = this.operand(words[1], 'pred');
    return { kind: 'branch', condition, ifTrue: target(words[2]), ifFalse: target(words[3]), branch };
  }
}
