/** Launches as findLaunches reports them: plain data. */
import type { FunctionDeclaration } from '../parse/ast';
import type { HostTemplateArgument, HostTriple, HostValue } from './host-value';

export interface LaunchedKernel {
  /** Last part of the name: `kernel`. */
  readonly name: string;
  /** As written at the launch, or of the function that a variable held: `['ns', 'kernel']`. */
  readonly parts: readonly string[];
  /** The declaration that overload resolution picked, when it is in the unit. */
  readonly declaration?: FunctionDeclaration;
}

export interface FoundLaunch {
  readonly kernel: LaunchedKernel;
  /**
   * All of them where the kernel is declared in the unit (given, deduced from the arguments, defaulted), else those
   * given. Empty for a kernel that is no template, and where nothing is known of them.
   */
  readonly templateArguments: readonly HostTemplateArgument[];
  /** Tokens of the launch expression. */
  readonly place: { readonly first: number; readonly last: number };
  readonly inFunction: string;
  readonly grid: HostTriple;
  readonly block: HostTriple;
  readonly dynamicSharedBytes: HostValue;
  /** In the order of the kernel's parameters, defaults included. */
  readonly arguments: readonly HostValue[];
  readonly origin: 'launch-site';
  /** Device globals that the host has set by then (cudaMemcpyToSymbol), by name. */
  readonly symbols: ReadonlyMap<string, HostValue>;
  /** Of a launch in a host loop that passes different values from round to round. */
  readonly iteration?: { readonly round: number; readonly which: 'first' | 'typical' | 'last' };
  /** The first round of a host loop whose length the text does not tell: others may pass other numbers. */
  readonly isFirstOfMany?: boolean;
  /** The plainest run of the program (no arguments on the command line) comes here. */
  readonly reached: boolean;
  /** Of a way, with the values under which the program would take it (supposed.ts): no call is known that has them. */
  readonly isSupposed?: true;
  /** What the device was asked, by name: the launch would be another with other answers. Empty where it would not. */
  readonly asked: ReadonlyMap<string, number>;
}

/** Something in an annotation that is not understood; positions in the file's text. */
export interface LaunchNote {
  readonly file: number;
  readonly start: number;
  readonly end: number;
  readonly message: string;
}
