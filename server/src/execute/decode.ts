/** Turns a program into closures over the values of one launch. */

import { type ControlFlow, controlFlow } from '../program/control-flow';
import { type Liveness, liveness } from '../program/liveness';
import { writesOf } from '../program/operands';
import {
  type AtomicInstruction,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  NOT_INITIALISED,
  type Program,
  type Register,
  type ScalarType,
  type StoreInstruction,
} from '../program/program';
import { type Reconvergence, reconvergence } from '../program/reconvergence';
import { type Slice, sliceForAccesses, sliceForCounters } from '../program/slice';
import type { AccessCounter } from './access';
import { accessPlan } from './access-plan';
import { type BranchPlan, branchPlan, type UnknownBranchPlan } from './branch-plan';
import { conversion } from './conversion';
import { laneStep } from './lane-operations';
import {
  type LinearUnary,
  linearBinary,
  linearComparison,
  linearConversion,
  linearFma,
  linearUnary,
} from './linear-values';
import { asyncCopyStep, atomicStep, loadStep, type MemoryState, matrixStep, storeStep } from './memory-steps';
import type { Unary } from './operation';
import { binaryOperation, comparison, fmaOperation, unaryOperation } from './operations';
import type { Reasons } from './reasons';
import { binaryStep, commit, type Step, selectStep, ternaryStep, unaryStep } from './steps';
import {
  type Geometry,
  isWide,
  type Lanes32,
  type Lanes64,
  type LaneValue,
  newValue,
  setUniform,
  setUnknown,
} from './value';
import { wordOperands } from './word-atomics';

/** What is known of a program before any launch. */
export interface Analysis {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly slice: Slice;
  readonly live: Liveness;
  readonly points: Reconvergence;
  /** By block: what is known of its branch. */
  readonly branches: readonly (BranchPlan | undefined)[];
  /** By block and by loop: what was asked for so far. */
  readonly unknownBranches: Map<number, UnknownBranchPlan>;
  readonly loopVariables: Map<number, readonly Register[]>;
}

const analyses = new WeakMap<Program, Analysis>();
const analysesWithData = new WeakMap<Program, Analysis>();
const analysesOfAccesses = new WeakMap<ReadonlySet<number>, WeakMap<Program, Analysis>>();

/**
 * Control flow, slice and liveness of a program; remembered as long as the program is.
 * @param withData contents of global memory are known
 * @param counted accesses that are to be counted; all where it is left out
 */
export function analyse(program: Program, withData = false, counted?: ReadonlySet<number>): Analysis {
  if (counted) return analyseAccesses(program, withData, counted);
  const remembered = withData ? analysesWithData : analyses;
  let analysis = remembered.get(program);
  if (!analysis) remembered.set(program, (analysis = analysisOf(program, sliceForCounters(program, withData))));
  return analysis;
}

/** Remembered for the set as it is without data, which is how several sizes are tried. */
function analyseAccesses(program: Program, withData: boolean, counted: ReadonlySet<number>): Analysis {
  if (withData) return analysisOf(program, sliceForAccesses(program, counted, true));
  let remembered = analysesOfAccesses.get(counted);
  if (!remembered) analysesOfAccesses.set(counted, (remembered = new WeakMap()));
  let analysis = remembered.get(program);
  if (!analysis) remembered.set(program, (analysis = analysisOf(program, sliceForAccesses(program, counted))));
  return analysis;
}

function analysisOf(program: Program, slice: Slice): Analysis {
  const flow = controlFlow(program);
  const live = liveness(program, flow, slice.kept);
  const points = reconvergence(program, flow);
  const branches = program.blocks.map((_, block) => branchPlan(program, flow, points, block));
  return {
    program,
    flow,
    slice,
    live,
    points,
    branches,
    unknownBranches: new Map(),
    loopVariables: new Map(),
  };
}

/** The registers of a launch, constants set, everything else unknown. */
export function newValues({ program, slice }: Analysis, geometry: Geometry, reasons: Reasons): LaneValue[] {
  const tooLarge = reasons.number('constant beyond 2^53');
  const unassigned = reasons.number('variable used before anything is assigned to it');
  const unused = (type: ScalarType): LaneValue => {
    const value = newValue(type, geometry);
    value.reason = unassigned;
    return value;
  };
  // Most registers of large kernels hold data that no counter depends on: nothing is ever assigned to them.
  const [narrow, wide] = [unused('i32'), unused('i64')];
  return program.registers.map((info, register) => {
    if (slice.needed[register] === 0 && (info.role === 'temporary' || info.role === 'variable'))
      return isWide(info.type) ? wide : narrow;
    const value = unused(info.type);
    if (info.role !== 'constant') return value;
    if (info.value === undefined) setUnknown(value, tooLarge);
    else setUniform(value, info.type === 'u32' ? info.value | 0 : info.value);
    return value;
  });
}

export interface Decoder {
  readonly analysis: Analysis;
  readonly values: readonly LaneValue[];
  readonly reasons: Reasons;
  readonly counter: AccessCounter;
  readonly memory: MemoryState;
  readonly geometry: Geometry;
  /** Steps that take the place of those that count: a launch is executed for what it leaves in memory (whole-steps.ts). */
  readonly wholeStep?: (instruction: Instruction) => Step | undefined;
}

/** Steps of a block, one for each kept instruction. */
export function decodeBlock(decoder: Decoder, block: number): Step[] {
  return decoder.analysis.slice.kept[block].map((instruction) => decode(decoder, instruction));
}

function decode(decoder: Decoder, instruction: Instruction): Step {
  const whole = decoder.wholeStep?.(instruction);
  if (whole) return whole;
  const { values, analysis } = decoder;
  const { needed } = analysis.slice;
  switch (instruction.op) {
    case 'load': {
      const plan = planOf(decoder, instruction.access, 'load', instruction.type, instruction.dst.length);
      const targets = instruction.dst.map((register) =>
        needed[register] === 1 ? target(decoder, register) : undefined,
      );
      return loadStep(
        decoder.memory,
        decoder.counter,
        plan,
        instruction,
        address(decoder, instruction.address),
        targets,
      );
    }
    case 'store': {
      const plan = planOf(decoder, instruction.access, 'store', instruction.type, instruction.values.length);
      const matters = analysis.slice.storesMatter[instruction.access] === 1;
      const stored = matters ? instruction.values.map((r) => operand(decoder, r, instruction.type)) : [];
      const stepsBefore = stored.flatMap((o) => (o.before ? [o.before] : []));
      const store = storeStep(
        decoder.memory,
        decoder.counter,
        plan,
        instruction,
        address(decoder, instruction.address),
        stored.map((o) => o.value),
      );
      return sequence([...stepsBefore, store]);
    }
    case 'atomic': {
      const plan = planOf(decoder, instruction.access, 'atomic', instruction.type, 1);
      const { dst } = instruction;
      const inWords = wordOperands(decoder, instruction);
      const isNeeded = dst !== undefined ? needed[dst] === 1 : writesOf(instruction).some((r) => needed[r] === 1);
      const matters = isNeeded || analysis.slice.storesMatter[instruction.access] === 1;
      return atomicStep(
        decoder.memory,
        decoder.counter,
        plan,
        instruction,
        address(decoder, instruction.address),
        matters
          ? { value: values[instruction.value], compare: values[instruction.compare ?? instruction.value] }
          : undefined,
        isNeeded && dst !== undefined ? target(decoder, dst) : undefined,
        inWords && { operands: inWords, targets: isNeeded ? inWords.dst.map((r) => target(decoder, r)) : [] },
      );
    }
    case 'asyncCopy': {
      const { loadAccess, storeAccess, bytes } = instruction;
      const { accesses } = analysis.program;
      return asyncCopyStep(
        decoder.memory,
        decoder.counter,
        accessPlan(loadAccess, accesses[loadAccess], 'load', bytes),
        accessPlan(storeAccess, accesses[storeAccess], 'store', bytes),
        address(decoder, instruction.source),
        address(decoder, instruction.destination),
        instruction.isPastL1 === true,
        instruction.read === undefined
          ? undefined
          : {
              bytes: decoder.values[instruction.read],
              countsAsFilled: isFirstWithSize(analysis.program, instruction),
            },
      );
    }
    case 'matrix': {
      const plan = accessPlan(
        instruction.access,
        analysis.program.accesses[instruction.access],
        instruction.direction,
        16,
      );
      const targets = instruction.dst.flatMap((r) => (needed[r] === 1 ? [target(decoder, r)] : []));
      return matrixStep(
        decoder.memory,
        decoder.counter,
        plan,
        instruction,
        address(decoder, instruction.address),
        targets,
      );
    }
    case 'host':
      return () => {};
    default:
      return compute(decoder, instruction);
  }
}

function planOf(
  decoder: Decoder,
  access: number,
  operation: 'load' | 'store' | 'atomic',
  type: ScalarType,
  elements: number,
) {
  return accessPlan(access, decoder.analysis.program.accesses[access], operation, bytesOf[type] * elements);
}

/** A register to be assigned: where its new value is computed, and what makes it the register's value. */
export interface Target {
  readonly out: LaneValue;
  readonly commit?: Step;
}

export function target(decoder: Decoder, register: Register): Target {
  const { values, analysis, geometry } = decoder;
  const value = values[register];
  const bit = analysis.live.bitOf[register];
  if (bit < 0) return { out: value };
  const out = newValue(analysis.program.registers[register].type, geometry);
  return { out, commit: (frame) => commit(value, out, bit, frame) };
}

/** A value that is read, and what has to be done before. */
export interface Operand {
  readonly value: LaneValue;
  readonly before?: Step;
}

/** The register as an operand of an operation in `type`: converted first when it is held in the other form. */
export function operand(decoder: Decoder, register: Register, type: ScalarType): Operand {
  const value = decoder.values[register];
  if (value.wide === isWide(type)) return { value };
  const converted = newValue(type, decoder.geometry);
  const from = decoder.analysis.program.registers[register].type;
  return {
    value: converted,
    before: conversionStep(decoder, converted, value, conversion(from, type), linearConversion(from, type)),
  };
}

/** Addresses are u64; a front end's i64 is held the same way. */
export function address(decoder: Decoder, register: Register): LaneValue<Lanes64> {
  const value = decoder.values[register];
  if (value.wide) return value as LaneValue<Lanes64>;
  const never = newValue('u64', decoder.geometry) as LaneValue<Lanes64>;
  never.reason = decoder.reasons.number('address is not a 64-bit value');
  return never;
}

function conversionStep(
  decoder: Decoder,
  out: LaneValue,
  a: LaneValue,
  operation: Unary,
  linear: LinearUnary | undefined,
): Step {
  return unaryStep(out, a, operation, failureOf(decoder, operation), linear);
}

function failureOf(decoder: Decoder, operation: { fails?: string }): number {
  return operation.fails === undefined ? 0 : decoder.reasons.number(operation.fails);
}

function sequence(steps: readonly Step[]): Step {
  if (steps.length === 1) return steps[0];
  return (frame) => {
    for (const step of steps) step(frame);
  };
}

type Computation = Exclude<
  Instruction,
  { op: 'load' } | { op: 'store' } | { op: 'atomic' } | { op: 'asyncCopy' } | { op: 'matrix' } | { op: 'host' }
>;

function compute(decoder: Decoder, instruction: Computation): Step {
  if (instruction.op === 'barrier' || instruction.op === 'work') return () => {};
  const { out, commit: assign } = target(decoder, instruction.dst);
  const steps: Step[] = [];
  const read = (register: Register, type: ScalarType) => {
    const { value, before } = operand(decoder, register, type);
    if (before) steps.push(before);
    return value;
  };
  steps.push(computeInto(decoder, instruction, out, read));
  if (assign) steps.push(assign);
  return sequence(steps);
}

function computeInto(
  decoder: Decoder,
  instruction: Exclude<Computation, { op: 'barrier' } | { op: 'work' }>,
  out: LaneValue,
  read: (register: Register, type: ScalarType) => LaneValue,
): Step {
  switch (instruction.op) {
    case 'unary': {
      const from = instruction.fn === 'bitcast' ? (instruction.from ?? instruction.type) : instruction.type;
      const operation = fitting(unaryOperation(instruction.fn, instruction.type, from), instruction.fn, out, from);
      const linear = instruction.fn === 'bitcast' ? undefined : linearUnary(instruction.fn, instruction.type);
      return unaryStep(out, read(instruction.a, from), operation, failureOf(decoder, operation), linear);
    }
    case 'convert': {
      const operation = conversion(instruction.from, instruction.type);
      const linear = linearConversion(instruction.from, instruction.type);
      return unaryStep(out, read(instruction.a, instruction.from), operation, failureOf(decoder, operation), linear);
    }
    case 'binary': {
      const operation = binaryOperation(instruction.fn, instruction.type);
      const a = read(instruction.a, instruction.type);
      const b = read(instruction.b, instruction.type);
      const linear = linearBinary(instruction.fn, instruction.type);
      return binaryStep(out, a, b, operation, failureOf(decoder, operation), linear);
    }
    case 'compare': {
      const a = read(instruction.a, instruction.type);
      const b = read(instruction.b, instruction.type);
      const { operation, isSwapped } = comparison(instruction.fn, instruction.type);
      const linear = linearComparison(instruction.fn, instruction.type);
      return binaryStep(out, isSwapped ? b : a, isSwapped ? a : b, operation, 0, linear);
    }
    case 'select': {
      const p = read(instruction.p, 'pred') as LaneValue<Lanes32>;
      const [a, b] = [read(instruction.a, instruction.type), read(instruction.b, instruction.type)];
      return selectStep(out, p, a, b, decoder.reasons.number(NOT_INITIALISED));
    }
    case 'fma': {
      const operation = fmaOperation(instruction.type);
      const [a, b, c] = [instruction.a, instruction.b, instruction.c].map((r) => read(r, instruction.type));
      return ternaryStep(out, a, b, c, operation, failureOf(decoder, operation), linearFma(instruction.type));
    }
    case 'lane': {
      const { fn, type } = instruction;
      const reduction = reductions[fn];
      return laneStep(
        fn,
        {
          out,
          a: instruction.a === undefined ? undefined : decoder.values[instruction.a],
          b: instruction.b === undefined ? undefined : read(instruction.b, 'i32'),
          width: instruction.width === undefined ? undefined : read(instruction.width, 'i32'),
        },
        reduction ? binaryOperation(reduction, type) : undefined,
        decoder.reasons.number('shuffle from a lane that is not active'),
      );
    }
    case 'unknown': {
      const reason = decoder.reasons.number(instruction.reason);
      return () => setUnknown(out, reason);
    }
  }
}

const reductions: Partial<Record<string, 'add' | 'min' | 'max' | 'and' | 'or' | 'xor'>> = {
  reduceAdd: 'add',
  reduceMin: 'min',
  reduceMax: 'max',
  reduceAnd: 'and',
  reduceOr: 'or',
  reduceXor: 'xor',
};

/** A result held in another form than the operation's type needs a loop that does not name the kind of vector. */
function fitting(operation: Unary, fn: string, out: LaneValue, type: ScalarType): Unary {
  if (fn === 'bitcast' || out.wide === isWide(type)) return operation;
  const { scalar, fails } = operation;
  return {
    scalar,
    fails,
    code: undefined,
    loop: (d, x, lo, hi) => {
      for (let i = lo; i < hi; i++) d[i] = scalar(x[i]);
      return 0;
    },
  };
}

/** Bytes a lane moves in one access. */
export function machineBytes(instruction: LoadInstruction | StoreInstruction | AtomicInstruction): number {
  const elements =
    instruction.op === 'load' ? instruction.dst.length : instruction.op === 'store' ? instruction.values.length : 1;
  return bytesOf[instruction.type] * elements;
}

/** Of the copies of a stretch of straight code that are told how many bytes to read: the assembler's P0 says it of the first. */
const isFirstWithSize = (program: Program, copy: Instruction): boolean =>
  program.blocks.some(
    ({ instructions }) => instructions.find((i) => i.op === 'asyncCopy' && i.read !== undefined) === copy,
  );
