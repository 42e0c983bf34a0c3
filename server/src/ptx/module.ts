/** A PTX module as its text says it: functions with instructions, variables, source files. */

/** Fundamental type without the dot: 'u32', 'b64', 'pred', 'f16x2' … */
export type PtxType = string;

export type Operand =
  | { readonly kind: 'register'; readonly register: number }
  /** %tid.x, %laneid, WARP_SZ … */
  | { readonly kind: 'special'; readonly name: string }
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number }
  /** a variable, function, label or parameter */
  | { readonly kind: 'symbol'; readonly name: string; readonly offset: number }
  | { readonly kind: 'address'; readonly base: Operand; readonly offset: number; readonly more: readonly Operand[] }
  | { readonly kind: 'vector'; readonly elements: readonly Operand[] }
  /** (a, b) of calls */
  | { readonly kind: 'list'; readonly elements: readonly Operand[] }
  /** p|q */
  | { readonly kind: 'pair'; readonly first: Operand; readonly second: Operand }
  /** !p */
  | { readonly kind: 'not'; readonly of: Operand }
  /** `_`: the result is dropped */
  | { readonly kind: 'sink' };

/** A `.loc` directive. Lines count from 1, columns too (0: not known). */
export interface SourceLocation {
  readonly file: number;
  readonly line: number;
  readonly column: number;
  /** Where the function that holds it was inlined. */
  readonly inlinedAt?: SourceLocation;
}

/** The parts of an opcode, shared by all instructions that spell it: `ld.global.f32` is ['ld', 'global', 'f32']. */
export interface Opcode {
  readonly text: string;
  readonly base: string;
  readonly parts: readonly string[];
}

export interface PtxInstruction {
  readonly kind: 'instruction';
  readonly opcode: Opcode;
  readonly operands: readonly Operand[];
  /** Register that must be set (or clear, when negated). */
  readonly guard?: { readonly register: number; readonly isNegated: boolean };
  readonly location?: SourceLocation;
  /** As written, for messages. */
  readonly text: string;
  /** Where it stands in the PTX: offset of its first character. */
  readonly at: number;
  /** Index into FlatKernel.frames, where labels and variables are looked up: 0, the kernel's own, until it is inlined. */
  readonly frame: number;
}

export interface PtxLabel {
  readonly kind: 'label';
  readonly name: string;
}

export interface PtxRegister {
  readonly name: string;
  readonly type: PtxType;
}

export interface PtxVariable {
  readonly name: string;
  /** reg and label aside: 'shared', 'global', 'const', 'local', 'param' */
  readonly space: string;
  readonly type: PtxType;
  readonly alignment: number;
  /** Bytes; 0 for an array of unknown length. */
  readonly bytes: number;
  readonly isExtern: boolean;
  readonly dimensions: readonly number[];
  /** A parameter declared `.ptr`. */
  readonly isPointer: boolean;
  /** Elements of an initialiser; undefined for addresses and what is not a number. */
  readonly initial?: readonly (bigint | number | undefined)[];
  readonly location?: SourceLocation;
  /** Offset of its name in the PTX. */
  readonly at: number;
}

export interface PtxFunction {
  readonly name: string;
  readonly isEntry: boolean;
  readonly parameters: readonly PtxVariable[];
  readonly returns: readonly PtxVariable[];
  readonly registers: readonly PtxRegister[];
  readonly variables: readonly PtxVariable[];
  /** Targets of brx.idx by the name of their list. */
  readonly branchTargets: ReadonlyMap<string, readonly string[]>;
  /** undefined for a declaration without body */
  readonly body?: readonly (PtxInstruction | PtxLabel)[];
  /** .maxntid, .reqntid, .minnctapersm, .maxnreg … as numbers */
  readonly directives: ReadonlyMap<string, readonly number[]>;
  readonly location?: SourceLocation;
  /** Offset of its name in the PTX. */
  readonly at?: number;
  /** The text ends before the function does. */
  readonly isCut?: boolean;
}

export interface PtxModule {
  /** '9.0', '' when the text does not say. */
  readonly version: string;
  /** 'sm_90' */
  readonly target: string;
  readonly files: ReadonlyMap<number, string>;
  readonly variables: readonly PtxVariable[];
  readonly functions: readonly PtxFunction[];
  /** What was not understood, with its line in the text. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}
