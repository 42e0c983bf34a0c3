/** What only the program of the host has: instructions that run-host.ts carries out, and launches. */
import type { Register, SourcePlace } from './program';

/**
 * What only the program of the host does (host/run-host.ts); kernels have none of it. All but 'launch' take and give addresses and
 * byte counts as i64.
 */
export interface HostInstruction {
  readonly op: 'host';
  readonly fn:
    | 'allocate' // dst = address of `a` bytes that nothing is known of
    | 'allocateDevice' // the same, where only copies and kernels write
    | 'allocateZero' // the same, all zero
    | 'certain' // dst = the truth value `a`, false where it is not known
    | 'seed' // dst = `a`, a number of ours where it is not known
    | 'file' // dst = address of what the file named at `a` holds: its length, then its bytes and a 0; 0 where there is none, or `b`: the program writes it
    | 'touch' // the program itself writes to the block at `a`, though it is the device's
    | 'release' // the block at `a`
    | 'copy' // to `a` from `b`, `c` bytes (a row), and of more rows: `d` of them, `e` and `f` bytes apart
    | 'fill' // from `a` on with the byte `b`, `c` bytes
    | 'wild' // whatever `a` points into may have been changed
    | 'launch' // of a kernel: launches[launch], its values in `args`
    | 'recurse' // calls functions[callee] once more: what is handed over is in `args`, what it assigns of variables that are not its own in `results`
    | 'leave' // functions[callee] ends, `args` hold what it gives
    | 'thrown' // what follows is done where something is thrown: not, where that is not known
    | 'end' // the program ends here, mostly with an error: with the constant `a`, where it is known to be one
    | 'lost'; // what comes is not followed: the run ends here
  readonly dst?: Register;
  readonly args: readonly Register[];
  readonly launch?: number;
  readonly callee?: number;
  readonly results?: readonly Register[];
}

/**
 * A part of the host's program that calls itself (lower/host/recursion.ts): blocks that control comes to by way of `entry` only and leaves by way of
 * `exit` only, from which it jumps on. Registers that no other part uses are each run's own.
 */
export interface HostFunction {
  readonly entry: number;
  readonly exit: number;
}

/**
 * What is done with CUDA graphs, in the place of a launch: capturing begins; it ends and gives a graph; memory is copied or filled at an address, which may be captured;
 * a graph is another one now, or one that is not known; a graph is launched.
 */
export type GraphStep = 'begin' | 'end' | 'memory' | 'update' | 'changed' | 'launch';

/** A launch in a program of the host: what its values are, in the order of the instruction's arguments. */
export interface HostLaunch {
  readonly place: SourcePlace;
  readonly kernel: string;
  /** Which instance of a template it launches; empty for one of none, undefined where the kernel is not known. */
  readonly instance?: string;
  readonly values: readonly HostLaunchValue[];
  /** No kernel is launched: its values are addresses of graphs. */
  readonly graph?: GraphStep;
}

export type HostLaunchValue =
  | { readonly kind: 'grid' | 'block'; readonly axis: 0 | 1 | 2 }
  | { readonly kind: 'dynamicSharedBytes' }
  /** A scalar of an argument, as inputs of the kernel name it. */
  | {
      readonly kind: 'parameter';
      readonly parameter: number;
      readonly path: readonly string[];
      /** A pointer through which the kernel may write; it may lead to further pointers. */
      readonly writes?: boolean;
      readonly isPointer?: boolean;
      readonly isFloat?: boolean;
      /** What it points to holds pointers in turn. */
      readonly leadsFurther?: boolean;
    };
