/**
 * The intermediate representation (IR): one kernel, everything it calls inlined, templates instantiated.
 *
 * A control-flow graph of basic blocks over typed virtual registers, near PTX: explicit widths, explicit memory accesses,
 * every access with the place in the source it comes from. Both front ends (CUDA C++ and PTX) lower to it; the executor
 * runs it for the lanes of real blocks; the passes in `machine` change it as the compiler would.
 */

import type { AtomicClass } from '../hardware/atomic-class';
import type { HostFunction, HostInstruction, HostLaunch } from './host-program';

/** 'pred' is a truth value. Pointers are 'u64'. f16 and bf16 are held as the number they stand for. */
export type ScalarType =
  | 'pred'
  | 'i8'
  | 'u8'
  | 'i16'
  | 'u16'
  | 'i32'
  | 'u32'
  | 'i64'
  | 'u64'
  | 'f16'
  | 'bf16'
  | 'f32'
  | 'f64';

export const isFloat = (type: ScalarType): boolean =>
  type === 'f16' || type === 'bf16' || type === 'f32' || type === 'f64';

export const bytesOf: Readonly<Record<ScalarType, number>> = {
  pred: 1,
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i32: 4,
  u32: 4,
  i64: 8,
  u64: 8,
  f16: 2,
  bf16: 2,
  f32: 4,
  f64: 8,
};

/** Index into Program.registers. */
export type Register = number;

export interface RegisterInfo {
  readonly type: ScalarType;
  /**
   * variable: may be assigned several times; an assignment changes active lanes only.
   * temporary: assigned at one place, used only where that assignment dominates and within the same pass of any loop,
   *            so it may be computed for inactive lanes too (their value is never looked at).
   * constant: `value` holds for all lanes, never assigned.
   * input: preset by the launch (see Program.inputs), never assigned.
   */
  readonly role: 'variable' | 'temporary' | 'constant' | 'input';
  /** The source name, for explanations. */
  readonly name?: string;
  /** Where it was made: the first token of the statement, and the call that was inlined there. */
  readonly statement?: number;
  readonly call?: SourcePlace;
  /** of a constant; 64-bit integers beyond 2^53 are not representable and become unknown instead */
  readonly value?: number;
}

/** dst = op(a), in `type`; comparisons read `type` and give 'pred'. */
export type UnaryOp =
  | 'mov'
  | 'neg'
  | 'bitnot'
  | 'lognot' // pred
  | 'abs'
  | 'popc'
  | 'clz'
  | 'ffs' // 1-based, 0 for none
  | 'brev'
  | 'sqrt'
  | 'rsqrt'
  | 'rcp'
  | 'exp'
  | 'exp2'
  | 'exp10'
  | 'log'
  | 'log2'
  | 'log10'
  | 'sin'
  | 'cos'
  | 'tan'
  | 'asin'
  | 'acos'
  | 'atan'
  | 'sinh'
  | 'cosh'
  | 'tanh'
  | 'erf'
  | 'cbrt'
  | 'floor'
  | 'ceil'
  | 'round' // half away from zero
  | 'rint' // half to even
  | 'trunc'
  | 'isnan'
  | 'isinf'
  | 'lowWord' // of an f64: bits 0 … 31, as a number of that type
  | 'highWord' // bits 32 … 63
  | 'bitcast'; // same width, other type (`from` of the instruction): __float_as_int

export type BinaryOp =
  | 'add'
  | 'sub'
  | 'mul'
  | 'mulhi'
  | 'div' // integers: truncating; by zero gives unknown
  | 'rem'
  | 'and'
  | 'or'
  | 'xor'
  | 'shl' // count taken as unsigned, ≥ width gives 0 (or the sign)
  | 'shr' // arithmetic for signed types
  | 'min'
  | 'max'
  | 'pow'
  | 'fmod'
  | 'atan2'
  | 'hypot'
  | 'copysign'
  | 'words'; // the f64 with these low and high words, which are numbers of that type

export type CompareOp = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge';

/**
 * Of a division or a function of the mathematical library: its code has branches, so that what stands before and behind it is in different blocks in the PTX;
 * the short ones are none any more in the machine code. Divisions and roots of full precision have branches only there ('assembled').
 */
export type LibraryBranches = 'short' | 'long' | 'assembled';

/** Register operands throughout; literals are constant registers. */
export type Instruction =
  | {
      readonly op: 'unary';
      readonly fn: UnaryOp;
      readonly type: ScalarType;
      readonly dst: Register;
      readonly a: Register;
      readonly from?: ScalarType;
      /** Of a bitcast: where what it gives is read first. */
      readonly place?: SourcePlace;
      readonly branches?: LibraryBranches;
    }
  /** value conversion with C++ semantics (float to integer truncates, out of range is unknown; to narrower integers wraps) */
  | {
      readonly op: 'convert';
      readonly from: ScalarType;
      readonly type: ScalarType;
      readonly dst: Register;
      readonly a: Register;
    }
  | {
      readonly op: 'binary';
      readonly fn: BinaryOp;
      readonly type: ScalarType;
      readonly dst: Register;
      readonly a: Register;
      readonly b: Register;
      readonly branches?: LibraryBranches;
    }
  | {
      readonly op: 'compare';
      readonly fn: CompareOp;
      readonly type: ScalarType;
      readonly dst: Register;
      readonly a: Register;
      readonly b: Register;
    }
  /** dst = p ? a : b */
  | {
      readonly op: 'select';
      readonly type: ScalarType;
      readonly dst: Register;
      readonly p: Register;
      readonly a: Register;
      readonly b: Register;
      /** It was a branch to NVVM (machine/if-conversion.ts). */
      readonly branches?: LibraryBranches;
    }
  /** a * b + c */
  | {
      readonly op: 'fma';
      readonly type: ScalarType;
      readonly dst: Register;
      readonly a: Register;
      readonly b: Register;
      readonly c: Register;
    }
  | LoadInstruction
  | StoreInstruction
  | AtomicInstruction
  | AsyncCopyInstruction
  | MatrixLoadInstruction
  | LaneInstruction
  | { readonly op: 'barrier'; readonly scope: 'block' | 'warp' | 'grid'; readonly place?: SourcePlace }
  | HostInstruction
  /** dst is not known; the reason is for people */
  | { readonly op: 'unknown'; readonly dst: Register; readonly reason: string }
  /** arithmetic that matters for timing only (tensor-core product, special function …), no values; `reads` are used by it */
  | {
      readonly op: 'work';
      readonly unit: WorkUnit;
      readonly count: number;
      readonly reads?: readonly Register[];
      /**
       * Memory may be another behind it (machine/memory-overlap.ts): to the front end ('code': volatile assembly; 'call': a function that is
       * not inlined), to the assembler too ('memory').
       */
      readonly fence?: Fence;
      /** Something stands here that is not followed: what whoever comes here does is not known (host/run-kernel.ts). */
      readonly isNotFollowed?: true;
    };

export type Fence = 'code' | 'call' | 'memory';

export type WorkUnit = 'tensor' | 'special' | 'other';

/** What a type promises of an address: (address + offset) mod `modulus` is `remainder`. Both in bytes, modulus a power of two. */
export interface Alignment {
  readonly modulus: number;
  readonly remainder: number;
  /** A member of a copied record that stands in `modulus` bytes together with padding: it is read as if it were read alone. */
  readonly isApart?: true;
  /** Part of something that is read or written in pieces: merged with nothing. */
  readonly isAlone?: true;
  /** An element of an array in a record: it may be any element of another such record. */
  readonly isElement?: true;
}

/** One machine access of `type` × dst.length consecutive elements from byte address `address + offset`. */
export interface LoadInstruction {
  readonly op: 'load';
  readonly type: ScalarType;
  readonly dst: readonly Register[];
  readonly address: Register;
  readonly offset: number;
  readonly access: number;
  readonly aligned?: Alignment;
  /** It stands in front of a loop for those that enter it (guard-preheaders.ts). */
  readonly isOfLoop?: boolean;
  /** Its whole address was computed by the caller of the function that it stands in. */
  readonly isHanded?: boolean;
  /** Part of a record that is copied from an address which was computed as that of something else. */
  readonly isReinterpreted?: boolean;
}
export interface StoreInstruction {
  readonly op: 'store';
  readonly type: ScalarType;
  readonly values: readonly Register[];
  readonly address: Register;
  readonly offset: number;
  readonly access: number;
  readonly aligned?: Alignment;
  /** The values are a vector that a variable got from one load and hands on as a whole. */
  readonly isCopy?: boolean;
  /** Through how many calls its whole address was handed to the function that it stands in. */
  readonly callsThrough?: number;
  /** It stands behind a loop for those that entered it (promote-memory.ts). */
  readonly isOfLoop?: boolean;
  /** As of a load. */
  readonly isReinterpreted?: boolean;
  /** To the place as it was given to the function that the store stands in. */
  readonly isAtGivenPlace?: boolean;
  /** It stands for the last stores of both sides of a branch, without a line of its own (store-at-given-place.ts). */
  readonly isOfBothArms?: boolean;
}
export interface AtomicInstruction {
  readonly op: 'atomic';
  readonly fn: 'add' | 'sub' | 'min' | 'max' | 'and' | 'or' | 'xor' | 'inc' | 'dec' | 'exch' | 'cas';
  readonly type: ScalarType;
  /** the old value; undefined when nobody uses it */
  readonly dst?: Register;
  readonly address: Register;
  readonly offset: number;
  readonly value: Register;
  /** of cas */
  readonly compare?: Register;
  /** The same in halves, where 64-bit integers are kept as such (word-pairs.ts); `dst` is undefined then. */
  readonly words?: { readonly dst: Words; readonly value: Words; readonly compare?: Words };
  readonly access: number;
}
/** The halves of a 64-bit integer, both u32. */
export interface Words {
  readonly low: Register;
  readonly high: Register;
}
/** cp.async: reads `bytes` a lane from global memory and writes them to shared memory. Two accesses. */
export interface AsyncCopyInstruction {
  readonly op: 'asyncCopy';
  readonly bytes: number;
  /** cp.async.cg */
  readonly isPastL1?: boolean;
  readonly source: Register;
  readonly destination: Register;
  /** Bytes that are read of the source, where that is told: zeros are written for the others. */
  readonly read?: Register;
  readonly loadAccess: number;
  readonly storeAccess: number;
}
/** ldmatrix/stmatrix: lane i gives the row address of row i; `matrices` 8×8 matrices of 16-bit elements, 16 bytes a row. */
export interface MatrixLoadInstruction {
  readonly op: 'matrix';
  readonly direction: 'load' | 'store';
  readonly matrices: 1 | 2 | 4;
  readonly isTransposed?: boolean;
  readonly dst: readonly Register[];
  readonly address: Register;
  readonly access: number;
}
/** Operations across the lanes of a warp, or of a block at a barrier. */
export interface LaneInstruction {
  readonly op: 'lane';
  readonly fn:
    | 'shuffle' // value from lane `b`
    | 'shuffleUp'
    | 'shuffleDown'
    | 'shuffleXor'
    | 'ballot' // u32
    | 'any'
    | 'all'
    | 'matchAny' // u32
    | 'activeMask' // u32
    | 'blockCount' // u32; lanes of the whole block, as the two below
    | 'blockAny'
    | 'blockAll'
    | 'reduceAdd'
    | 'reduceMin'
    | 'reduceMax'
    | 'reduceAnd'
    | 'reduceOr'
    | 'reduceXor';
  readonly type: ScalarType;
  readonly dst: Register;
  readonly a?: Register;
  readonly b?: Register;
  /** segment width of shuffles, 32 by default (a register, power of two) */
  readonly width?: Register;
}

export type Terminator =
  | { readonly kind: 'jump'; readonly target: number }
  | {
      readonly kind: 'branch';
      readonly condition: Register;
      readonly ifTrue: number;
      readonly ifFalse: number;
      /** Index into Program.branches. */
      readonly branch: number;
    }
  | { readonly kind: 'exit' };

export interface Block {
  readonly instructions: readonly Instruction[];
  readonly terminator: Terminator;
}

/**
 * A place in the source: token indices into the unit's stream. `call`: where the function that holds it was inlined.
 * Programs from PTX have no tokens (-1) but a location: line and column count from 1, column 0 is not known.
 */
export interface SourcePlace {
  readonly first: number;
  readonly last: number;
  readonly call?: SourcePlace;
  /** First token of the statement that it is part of. */
  readonly statement?: number;
  /** First token of its line where that is a later one than the statement's. */
  readonly row?: number;
  readonly location?: { readonly file: string; readonly line: number; readonly column: number };
}

/** Why the value of a variable is not known that nothing was assigned to. */
export const NOT_INITIALISED = 'not initialised';

export interface BranchSite {
  readonly place: SourcePlace;
  readonly kind: 'if' | 'loop' | 'switch' | 'conditional' | 'logical' | 'exit';
  /** Of a loop that is written out in part: passes of the source in one. */
  readonly copies?: number;
  /** It counts down what is left of a number known at run time, and no pragma says how often it is written out. */
  readonly isFree?: boolean;
  /** It decides what is read in front of a loop, whose own branch counts already. */
  readonly isGuard?: boolean;
  /** Of what ends a pass of a loop that is written out: the step behind it. */
  readonly step?: SourcePlace;
}

/** A machine instruction that the assembler made of an access. */
export interface MachineInstruction {
  /** Bytes a lane, of plain loads and stores. */
  readonly bytes?: number;
  readonly isPredicated: boolean;
  /** The line that a profiler charges, where it is one of the user's. */
  readonly place?: SourcePlace;
}

/** A memory access as the source writes it. Several instructions may share a site (unrolled copies). */
export interface AccessSite {
  readonly place: SourcePlace;
  /** Source text, as short as it may be: `tile[threadIdx.x][threadIdx.y + i]`. */
  readonly expression: string;
  readonly operation: 'load' | 'store' | 'atomic';
  /** What the front end knows; 'generic' is settled by the addresses at execution. */
  readonly space: MemorySpace | 'generic';
  /** Array or pointer that is accessed, for messages: index into objects if known. */
  readonly object?: number;
  /** The object that it counts as where stores and loads are told apart: neighbours that one access may read or write (machine/shared-scalars.ts). */
  readonly memory?: number;
  /** __ldg, .nc and const __restrict__: through the read-only cache */
  readonly readOnly?: boolean;
  /** Types of 1.x/2.x interest: volatile accesses are neither merged nor reused. */
  readonly isVolatile?: boolean;
  /** Bytes of the record that is copied as a whole, if it is part of one. */
  readonly copiedBytes?: number;
  /** A member of a record, where its place is named: the sum of its address is made there. */
  readonly isMember?: boolean;
  /** Made by inline assembly, as __ldg is: merged with nothing. */
  readonly isAssembly?: boolean;
  /** Half of an asynchronous copy that does not go through L1. */
  readonly isPastL1?: boolean;
  /** Half of an asynchronous copy that a function of the toolkit's header makes, several calls deep. */
  readonly isInHeader?: boolean;
  /** How an atomic is counted. A load that has one reads for its loop of compare and swap. */
  readonly atomic?: AtomicClass;
  readonly resultUsed?: boolean;
  /** Where a profiler shows it, if that is another line. */
  readonly charged?: SourcePlace;
  /** What the assembler made of it, where the machine code is at hand; none: it is part of another access, or gone. */
  readonly machine?: readonly MachineInstruction[];
}

export type MemorySpace = 'shared' | 'global' | 'constant' | 'local' | 'texture';

/** An array (or variable) that lives in memory, or what a pointer parameter points to. */
export interface MemoryObject {
  readonly name: string;
  readonly space: MemorySpace;
  /** Size in bytes; for dynamic shared memory 0 (the launch decides), for pointer parameters undefined. */
  readonly bytes?: number;
  readonly alignment: number;
  readonly isDynamic: boolean;
  /** Register that holds its address (an input of kind 'object'). */
  readonly register: Register;
  /** Dimensions of the declared array, outermost first; [] for a scalar. */
  readonly dimensions: readonly number[];
  readonly elementBytes: number;
  readonly elementType: string;
  readonly place: SourcePlace;
  /** A parameter that is `__restrict__`: what it points to is reached through no other pointer. */
  readonly isRestrict?: boolean;
  /** Of a program of the host: a variable of the device's memory (which kernels change, or not), or one that lives as long as the program. */
  readonly lifetime?: 'device' | 'constant' | 'program';
  /** Known contents: element values in order (constant tables). */
  readonly contents?: { readonly type: ScalarType; readonly values: readonly number[] };
  /** Of a program of the host: numbers that it holds when the program begins, in order. */
  readonly begins?: { readonly type: ScalarType; readonly values: readonly number[] };
  /** It is declared const: nobody may give it other contents. */
  readonly isFixed?: boolean;
  /** A static variable of a function: the host cannot name it. */
  readonly isOfFunction?: true;
  /** Its accesses are addressed from the first of its neighbours (machine/shared-scalars.ts). */
  readonly isGathered?: true;
}

export type InputSource =
  | { readonly kind: 'threadIdx' | 'blockIdx' | 'blockDim' | 'gridDim'; readonly axis: 0 | 1 | 2 }
  | { readonly kind: 'laneId' | 'warpId' | 'dynamicSharedBytes' }
  /**
   * scalar parameter, or a scalar leaf of a struct parameter: path ['n'] or ['params', 'stride']. PTX knows no names of
   * leaves: `offset` is the byte in the parameter, the width is that of the register.
   */
  | {
      readonly kind: 'parameter';
      readonly parameter: number;
      readonly path: readonly string[];
      readonly offset?: number;
    }
  /** the value of a device global that the host sets (`__constant__ int n;`); `offset`: the byte in it, of a member */
  | { readonly kind: 'global'; readonly path: readonly string[]; readonly offset?: number }
  /** address of objects[object] */
  | { readonly kind: 'object'; readonly object: number };

export interface Input {
  readonly register: Register;
  readonly source: InputSource;
  readonly name: string;
}

export interface Program {
  readonly kernel: string;
  readonly registers: readonly RegisterInfo[];
  readonly blocks: readonly Block[]; // entry is block 0
  readonly inputs: readonly Input[];
  readonly objects: readonly MemoryObject[];
  readonly accesses: readonly AccessSite[];
  readonly branches: readonly BranchSite[];
  /** Bytes that the static shared memory is rounded up to; 1 where nothing is said. */
  readonly sharedGranule?: number;
  /** Lanes ask for memory of the device's heap. */
  readonly usesHeap?: true;
  /** Of a program of the host. */
  readonly launches?: readonly HostLaunch[];
  /** Of the host's program: parts that call themselves. */
  readonly functions?: readonly HostFunction[];
  /** Constructs that were not understood: nothing else is affected but the values that depend on them. */
  /** What it cost to make: instructions that the front end emitted, those of tries that were given up included. */
  readonly effort?: number;
  readonly skipped: readonly {
    readonly place: SourcePlace;
    readonly reason: string;
    /** An access that is not counted. */
    readonly isAccess?: true;
    /** Where it stands the program says so (`isNotFollowed`): it matters to nobody who does not come there. */
    readonly isMarked?: true;
    /** Of a call of a function within itself: that function, whose accesses are counted as far as it is followed. */
    readonly recursion?: SourcePlace;
  }[];
}
