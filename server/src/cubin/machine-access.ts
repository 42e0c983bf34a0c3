/** What is read of machine code: its memory instructions, plain data. */

export interface MachineLine {
  readonly file: string;
  readonly line: number;
}

export interface MachineAccess {
  /** Byte offset in the kernel's code. */
  readonly offset: number;
  /** Line (from 1) of the PTX that it was made of. */
  readonly ptxLine: number;
  readonly operation: 'load' | 'store' | 'atomic';
  /** 'generic' where the machine finds out. */
  readonly space: 'shared' | 'global' | 'local' | 'generic';
  /** Bytes a lane, of plain loads and stores. */
  readonly bytes?: number;
  readonly isPredicated: boolean;
  /** The line that a profiler charges, where it was inlined behind it: innermost first. */
  readonly lines: readonly MachineLine[];
}

/** By mangled name of the kernel, in the order of the code. */
export type MachineCode = ReadonlyMap<string, readonly MachineAccess[]>;
