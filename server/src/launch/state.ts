/** What one run of the host interpreter carries along. */
import type { DeviceProperties } from '../hardware/device-properties';
import type { Expression, FunctionDeclaration, LambdaExpression, VariableDeclaration } from '../parse/ast';
import { Exits } from './exits';
import { type HostTokens, spellings } from './host-tokens';
import type { HostType, RecordType } from './host-type';
import type { LaunchRecorder } from './launch-recorder';
import type { Outcome } from './memory';
import type { HostIndex, Scope } from './scope';
import type { Rerun } from './supposed';
import type { Buffer, Cell, LambdaValue, Value } from './value';

export interface Frame {
  /** Name of the running function, for launches and messages. */
  readonly name: string;
  /** Values of the returns met so far; several when a condition was not known. */
  readonly returns: Value[];
  readonly resultType?: HostType;
  /** Run for its own sake (main, or a function nobody calls): goes on behind a return while launches are still to come. */
  readonly isEntry: boolean;
  /** How it is run once more, where that is possible. */
  readonly rerun?: Rerun;
  /** Of a template, or a method of one. */
  readonly isInstance?: boolean;
  /** Of a function template: what its parameters stand for, where all of them are known. */
  readonly instance?: string;
  /** What ways wrote that returned while another way went on. */
  readonly left: Outcome[];
  /** What ways wrote that left a round of a loop, or a switch, while another way went on. */
  escaped: Outcome[];
  /** A way returned that may have been taken. */
  mayBeLeft?: boolean;
  /** Where the last of the returns leads to, of a function that gives a reference. */
  referred?: Cell;
  /** The label that a goto is on its way to. */
  jump?: string;
  /** Labels that some way jumped to while another went on. */
  mayJump?: ReadonlySet<string>;
  /** A return was met on some way. */
  mayReturn: boolean;
}

export interface HostState {
  readonly index: HostIndex;
  readonly tokens?: HostTokens;
  /** Values of unknown variables by name, given by the user. */
  readonly assume: ReadonlyMap<string, number>;
  /** What the program is started with, where that is known. */
  readonly programArguments: readonly string[] | undefined;
  /** Answers what the program asks its device. */
  readonly device: DeviceProperties | undefined;
  /** What the run was told by its device so far, by name. */
  readonly asked: Map<string, number>;
  /** Steps left. At 0 nothing more is evaluated. */
  steps: number;
  /** Steps that one loop with launches may take. */
  readonly stepsOfLoop: number;
  /** Depth of host calls, of expressions and statements, and of branches whose condition is not known. */
  depth: number;
  nesting: number;
  uncertain: number;
  /** Rounds of loops around this that stand for many rounds. */
  blind: number;
  /** In a call from which no launch is reached, which has steps of its own. */
  isQuiet: boolean;
  /** How often functions were run again (supposed.ts). */
  reruns: number;
  frame: Frame;
  /** What the call at an expression, the last that was followed, has given a reference to. */
  referred: { readonly at?: Expression; readonly cell: Cell } | undefined;
  /** Statements around this whose handlers take what is thrown. */
  tries: number;
  /** How often something was thrown, be it on a way that may not be taken. */
  thrown: number;
  /** exit() or abort() was called, or a block in an expression left by a jump; the statement that the expression stands in takes it. */
  leaving: 'exit' | 'return' | 'break' | 'continue' | 'goto' | undefined;
  /** The plainest run has ended before this: what follows is what another run would come to. */
  pastExit: boolean;
  /** The innermost loop may have ended earlier than it was run, or a round of it. */
  doubtful: boolean;
  /** Old values of the cells written since each open journal was begun, outermost first. */
  readonly journals: Map<Cell, Value>[];
  readonly recorder?: LaunchRecorder;
  readonly exits: Exits;
  /** What the host copied into device symbols, by name. */
  readonly symbols: Map<string, Cell>;
  readonly active: Map<FunctionDeclaration, number>;
  /** Records and aliases that are being resolved, against those that contain themselves. */
  readonly layouts: Set<unknown>;
  /** Using declarations whose names are being looked up: within these they declare nothing yet. */
  readonly openUsings: Set<object>;
  /** What is being forgotten since something was assigned to one of its elements, nobody knows which. */
  readonly changing: Set<object>;
  readonly records: Map<object, Map<string, { readonly from: Scope; readonly type: RecordType }>>;
  readonly enums: Map<object, HostType>;
  /** Static variables of functions, which are initialised once in each instance of the class around them. */
  readonly statics: Map<VariableDeclaration, Map<object | string | undefined, Cell>>;
  /** Lambdas that were made and refer to variables, each as it was last. */
  readonly lambdas: Map<LambdaExpression, LambdaValue>;
  /** Buffers behind objects of which only the name is known: `tensor.data_ptr()`. */
  readonly outside: Map<string, Buffer>;
  /** Source texts of nodes that were asked for. */
  readonly texts: Map<object, string>;
}

export const budgets = {
  /** Steps (statements and expressions) over a whole unit. */
  steps: 100_000,
  /** Steps of one loop without launches, then its variables are unknown. */
  quietLoop: 1_500,
  /** Steps of one loop with launches, as a part of all. */
  launchLoopPart: 5,
  /** Loops of known trip count without launches are not run beyond this many rounds. */
  quietRounds: 128,
  /** The same two within a round that stands for many: what it writes is forgotten but for what grows steadily. */
  blindRounds: 8,
  blindLoop: 300,
  /** Steps of one call from which no launch is reached, then what it may write is unknown. */
  quietCall: 8_000,
  callDepth: 40,
  /** Activations of one function inside branches that may not be taken. */
  uncertainRecursion: 2,
  /** Functions run again for ways that are not taken. */
  reruns: 128,
  nesting: 600,
} as const;

/** Takes one step; false when none is left. */
export function step(state: HostState): boolean {
  if (state.steps <= 0) return false;
  state.steps--;
  return true;
}

export interface StateOptions {
  readonly tokens?: HostTokens;
  readonly assume?: ReadonlyMap<string, number>;
  readonly device?: DeviceProperties;
  readonly programArguments?: readonly string[];
  readonly recorder?: LaunchRecorder;
  readonly steps?: number;
}

/** A state that knows the unit's declarations and has run nothing yet. */
export function createState(index: HostIndex, options: StateOptions = {}): HostState {
  return {
    index,
    tokens: options.tokens,
    assume: options.assume ?? new Map(),
    programArguments: options.programArguments,
    device: options.device,
    asked: new Map(),
    steps: options.steps ?? budgets.steps,
    stepsOfLoop: (options.steps ?? budgets.steps) / budgets.launchLoopPart,
    depth: 0,
    nesting: 0,
    uncertain: 0,
    blind: 0,
    isQuiet: false,
    reruns: 0,
    referred: undefined,
    tries: 0,
    thrown: 0,
    frame: { name: '', returns: [], isEntry: false, left: [], escaped: [], mayReturn: false },
    leaving: undefined,
    pastExit: false,
    doubtful: false,
    journals: [],
    recorder: options.recorder,
    exits: new Exits(index, options.tokens),
    symbols: new Map(),
    active: new Map(),
    layouts: new Set(),
    openUsings: new Set(),
    changing: new Set(),
    records: new Map(),
    enums: new Map(),
    statics: new Map(),
    lambdas: new Map(),
    outside: new Map(),
    texts: new Map(),
  };
}

/** The source text of a node, tokens joined, cut to a length a message can hold. */
export function sourceText(state: HostState, node: { readonly first: number; readonly last: number }): string {
  const tokens = state.tokens;
  if (!tokens) return '';
  let text = state.texts.get(node);
  if (text === undefined) state.texts.set(node, (text = textOf(tokens, node)));
  return text;
}

function textOf(tokens: HostTokens, node: { readonly first: number; readonly last: number }): string {
  let text = '';
  for (const word of spellings(tokens, node.first, node.last)) {
    if (text.length >= 48) break;
    text += text !== '' && wordly(text.at(-1)) && wordly(word[0]) ? ` ${word}` : word;
  }
  return text.length > 44 ? `${text.slice(0, 41)}...` : text;
}

function wordly(character: string | undefined): boolean {
  return character !== undefined && /\w/.test(character);
}
