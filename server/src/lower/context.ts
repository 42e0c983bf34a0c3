import type { DeviceProperties } from '../hardware/device-properties';
import type { ConstantUnit } from '../launch/constant';
import type { AliasDeclaration, EnumDeclaration, FunctionDeclaration, Node } from '../parse/ast';
import type { TokenStream } from '../preprocess/token';
import { ProgramBuilder } from '../program/builder';
import type { HostLaunch } from '../program/host-program';
import type { Register, SourcePlace } from '../program/program';
import type { LastSite } from './access-sites';
import { firstOfLine } from './first-of-line';
import type { Local } from './host/destructors';
import type { Caught, Try } from './host/exceptions';
import { newRecursion, type Recursion } from './host/recursion';
import { KnownValues } from './known-values';
import type { KernelInstance } from './lower-kernel';
import type { Entity, Scope } from './scope';
import type { ConstantSymbol } from './symbols';
import type { TemplateValue, Type } from './types';
import type { FlatRows, LocalDeclaration, RegisterTarget, Storage, Value } from './values';

type Enumerator = NonNullable<EnumDeclaration['enumerators']>[number];

/** A loop or switch that `break` and `continue` can leave. */
export interface JumpTarget {
  readonly breakBlock: number;
  readonly continueBlock: number | undefined;
  readonly onBreak: KnownValues[];
  readonly onContinue: KnownValues[];
  /** Local objects around the loop or switch. */
  readonly locals: number;
}

/** A pass of a loop that is being written out. */
export interface WrittenPass {
  /** Instructions at its begin. */
  readonly begin: number;
  /** Passes behind it. */
  readonly left: number;
  readonly around: WrittenPass | undefined;
  /** The statement that it ends with, and what the loop steps with behind it. */
  readonly last?: Node;
  readonly step?: Node;
}

/** The function being inlined. */
export interface Frame {
  readonly declaration: FunctionDeclaration | undefined;
  readonly exitBlock: number;
  readonly result: Type;
  /** Where return values go when there is more than one return; a single one at the end is passed on directly. */
  storage: Storage | undefined;
  /** Of a reference: the address of what it refers to, for all returns, and whether there are several. */
  address: { readonly storage: Storage; isSeveral: boolean } | undefined;
  /** Variables in registers of which the function returns one, not known which. */
  readonly undecided: Storage[];
  value: Value | undefined;
  /** A return was met that can be reached: what others give does not count. */
  returned: boolean;
  readonly known: KnownValues[];
  /** Local objects around the function. */
  readonly locals: number;
  /** Enclosing jump targets, innermost last. */
  readonly jumps: JumpTarget[];
  readonly labels: Map<string, number>;
  /** In the program of the host: the block before the outermost of the loops around. */
  beforeLoops?: number;
}

export interface LoweringBudget {
  readonly instructions: number;
  readonly callDepth: number;
  /** Calls of a function within calls of itself. */
  readonly recursion: number;
  /** Of a kernel that its recursions make too large: calls of one instance within calls of itself. */
  readonly ownCalls?: number;
  readonly templateDepth: number;
  readonly unrolledIterations: number;
  /** Of a kernel that is too large as the compiler writes it out: short loops only, other local arrays become unknown. */
  readonly keepsLoops?: boolean;
  /** Another try follows where a local array asks for memory: this one ends soon behind that. */
  readonly isTrial?: boolean;
  /** It ends where it is clear that the instructions will not suffice. */
  readonly foresees?: boolean;
  /** A loop that may be two (index-split.ts) is the only one. */
  readonly splitsLoop?: boolean;
  /** Calls that are not followed are marked where they stand: the kernel is executed for what it leaves in memory. */
  readonly marksCalls?: boolean;
  /** Expressions and types looked at: bounds what is evaluated without emitting anything. */
  readonly steps: number;
  /** Polled now and then; true ends it as a spent budget does. */
  readonly cancelled?: () => boolean;
}

/** Steps between two looks at whether it is cancelled: some milliseconds. */
const POLLED_EACH = 256;

export const defaultBudget: LoweringBudget = {
  instructions: 40_000,
  callDepth: 40,
  recursion: 8,
  templateDepth: 64,
  unrolledIterations: 1024,
  steps: 500_000,
};

/** Facts about one translation unit that all its kernels share. */
export interface UnitContext {
  readonly tokens: TokenStream;
  readonly scope: Scope;
  /** Code from this token on is another file's: it is compiled on its own and called. */
  readonly linkedFrom?: number;
  /** What is lowered is the program of the host (host/lower-host.ts). */
  readonly isHost?: true;
  /** Answers what the program of the host asks its device. */
  readonly device?: DeviceProperties;
  /** Of the host's program, where they are known. */
  readonly programArguments?: readonly string[];
  /** A library that the text uses and that is neither in the folder nor known here: most of what is not defined is its. */
  readonly missingLibrary?: string;
  /** For constexpr functions whose loops do not fold while they are inlined. */
  readonly constants: () => ConstantUnit;
  /** Bytes that the static shared memory of its kernels is rounded up to. */
  readonly sharedGranule: number;
}

/** State of the lowering of one kernel instance. */
export interface Context {
  readonly unit: UnitContext;
  readonly builder: ProgramBuilder;
  readonly budget: LoweringBudget;
  frame: Frame;
  /** Innermost scope: names are looked up from here. */
  scope: Scope;
  known: KnownValues;
  call: SourcePlace | undefined;
  /** The call in the user's text by which a library function is being inlined: what happens there happens at this place. */
  libraryCall: Node | undefined;
  callPath: string;
  callDepth: number;
  templateDepth: number;
  /** Functions being inlined now, for recursion. */
  readonly active: Map<FunctionDeclaration, number>;
  /** Local arrays that must live in memory, by LocalDeclaration.key; grows during a try, which is then repeated. */
  readonly inMemory: Set<string>;
  demanded: boolean;
  /** A function is called within calls of itself (own-calls.ts). */
  callsItself: boolean;
  /** It was ended where it was clear that the instructions would not suffice. */
  isForeseen: boolean;
  /** Instructions of bodies of loops beyond their first pass. */
  copied: number;
  isInCopy: boolean;
  /** Loops so far, and those of them that stay loops; whether one may be two. */
  readonly loops: { all: number; atRunTime: number; hasSplit: boolean };
  /** The innermost loop that is being written out. */
  writtenOut: WrittenPass | undefined;
  /** The call whose result the statement being lowered throws away. */
  discarded: Node | undefined;
  /** What is read next is not needed any more where it stands: its memory goes with it (host). */
  moves: boolean;
  readonly sites: Map<string, number>;
  /** By node: its last one. */
  readonly lastSites: Map<Node, LastSite>;
  readonly globals: Map<Entity, Value>;
  /** Numbers of enumerators that were asked for, by the scope they stand in: those of a chain of traits rest on each other. */
  readonly enumerators: Map<Scope, Map<Enumerator | undefined, number>>;
  /** Instances of variable templates, by template and arguments. */
  readonly variables: Map<Entity, Map<string, Entity & { kind: 'global' }>>;
  /** Constants that the host sets, by the register of their address. */
  readonly symbols: Map<Register, ConstantSymbol>;
  /** By declaration and template arguments around it. */
  readonly sharedObjects: Map<object, Map<string, number>>;
  /** Of the program of the host: what its launch instructions mean. */
  readonly launches: HostLaunch[];
  /** By launch: the kernel's instance, where it is one of the unit. */
  readonly launched: (KernelInstance | undefined)[];
  readonly records: Map<string, Type>;
  readonly notes: Set<string>;
  /** Types of aliases that are no templates, by the scope they stand in. */
  readonly aliases: Map<Scope, Map<string, Type>>;
  /**
   * Aliases whose types are being resolved, how often at once: their own names mean what was declared before (`using Reducer = Reducer<T>;`), or where
   * nothing was, in a class that is asked for meanwhile, themselves (`using Next = std::unique_ptr<Node>; struct Node { Next next; };`).
   */
  readonly openAliases: Map<AliasDeclaration, number>;
  steps: number;
  /** Of the program of the host: functions that call themselves. */
  readonly recursion: Recursion;
  /** Local objects of the host that are destroyed where their scopes end, the innermost last. */
  readonly locals: Local[];
  /** Objects of the host that are destroyed where the statement ends that makes them. */
  readonly temporaries: Local[];
  /** Of the host: the `try` statements around what is lowered, the innermost last, and the handlers. */
  tries: Try[];
  readonly caught: Caught[];
  /** A destructor of the host runs: it gives nothing back. */
  keepsMemory: boolean;
  /** For an element of an array in registers, the array around it: what `&a[i]` may reach. */
  readonly arrayOf: Map<Storage, RegisterTarget>;
  /** By what a variable holds of it, a number that is not known: a pointer to variables in registers, which a member keeps. */
  readonly heldPointers: Map<Register, Value & { kind: 'placePointer' }>;
  /** Rows of arrays in registers, as their elements follow in memory. */
  readonly flatRows: Map<readonly Storage[], FlatRows>;
  /** What stands for an element of a local array after an index that is not known. */
  readonly openElements: WeakMap<Storage, Storage>;
  /** Of variables of a vector type that were assigned as a whole what one load read: that. */
  readonly loadedVectors: WeakMap<Storage, readonly Value[]>;
  /** What lay behind the members of a record that was read into a variable. */
  readonly padding: WeakMap<Storage, readonly Register[]>;
}

export function createContext(
  unit: UnitContext,
  kernel: string,
  inMemory: Set<string>,
  budget: LoweringBudget = defaultBudget,
  recursion = newRecursion(),
): Context {
  return {
    unit,
    builder: new ProgramBuilder(kernel, budget.instructions),
    budget,
    frame: {
      declaration: undefined,
      exitBlock: -1,
      result: { kind: 'void' },
      storage: undefined,
      address: undefined,
      undecided: [],

      value: undefined,
      returned: false,
      known: [],
      locals: 0,
      jumps: [],
      labels: new Map(),
    },
    scope: unit.scope,
    known: new KnownValues(),
    call: undefined,
    libraryCall: undefined,
    callPath: '',
    callDepth: 0,
    templateDepth: 0,
    active: new Map(),
    inMemory,
    demanded: false,
    callsItself: false,
    isForeseen: false,
    copied: 0,
    isInCopy: false,
    loops: { all: 0, atRunTime: 0, hasSplit: false },
    writtenOut: undefined,
    discarded: undefined,
    moves: false,
    sites: new Map(),
    lastSites: new Map(),
    globals: new Map(),
    enumerators: new Map(),
    variables: new Map(),
    symbols: new Map(),
    sharedObjects: new Map(),
    launches: [],
    launched: [],
    records: new Map(),
    notes: new Set(),
    aliases: new Map(),
    openAliases: new Map(),
    steps: 0,
    recursion,
    locals: [],
    temporaries: [],
    tries: [],
    caught: [],
    keepsMemory: false,
    arrayOf: new Map(),
    heldPointers: new Map(),
    flatRows: new Map(),
    openElements: new WeakMap(),
    loadedVectors: new WeakMap(),
    padding: new WeakMap(),
  };
}

export function placeOf(ctx: Context, node: Node): SourcePlace {
  const { first, last } = inUserText(ctx, node);
  const { statement } = ctx.builder;
  const line = firstOfLine(ctx.unit.tokens, first);
  const row = statement !== undefined && line > statement && first < LIBRARY_TOKENS ? line : undefined;
  return { first, last, call: ctx.call, statement, row };
}

/** Number of the first token of the library's text: no unit of the user is as long. */
export const LIBRARY_TOKENS = 2 ** 30;

/** The node itself, or the user's call by which the library's text that it is in was reached. */
export const inUserText = (ctx: Context, node: Node): Node =>
  node.first >= LIBRARY_TOKENS ? (ctx.libraryCall ?? node) : node;

/** Counts one step of work; false when the kernel's budget is spent: nothing more is lowered then. */
export function step(ctx: Context): boolean {
  const { budget } = ctx;
  if (++ctx.steps % POLLED_EACH === 0 && budget.cancelled?.()) ctx.steps = budget.steps + 1;
  if (ctx.steps <= budget.steps) return true;
  ctx.builder.cutOff();
  return false;
}

/** Variables made since `first` are out of reach: what is known of them is dropped, so that copies stay small. */
export function forgetSince(ctx: Context, first: Register): void {
  // temporaries of the host live on until their statement ends
  ctx.known.forgetSince(first, ctx.temporaries.length > 0);
}

/** Notes a construct that was not understood; what depends on it becomes unknown, nothing else. */
export function skip(ctx: Context, node: Node, reason: string, isMarked?: true, recursion?: SourcePlace): void {
  const key = `${inUserText(ctx, node).first}:${reason}`;
  if (ctx.notes.has(key) || !ctx.builder.reachable) return;
  ctx.notes.add(key);
  ctx.builder.skipped.push({ place: placeOf(ctx, node), reason, isMarked, recursion });
}

/**
 * A call that is not followed, which whoever does not come to it need not know: the end of a recursion, say, that goes no deeper.
 * @param recursion the function, where it is called within a call of itself
 */
export function skipCall(ctx: Context, node: Node, reason: string, recursion?: SourcePlace): void {
  const marks = ctx.budget.marksCalls ?? false;
  if (marks) ctx.builder.emit({ op: 'work', unit: 'other', count: 0, isNotFollowed: true });
  skip(ctx, node, reason, marks || undefined, recursion);
}

/**
 * Instructions that a trial makes behind the first array that asks for memory, to see which others do: arrays that are declared together are
 * mostly used together, and a try for each of them would cost more.
 */
const BEHIND_DEMAND = 500;
const PART_BEHIND_DEMAND = 0.25;

/** Asks for a local array to live in memory: the kernel is lowered again with it there. */
export function demandMemory(ctx: Context, owner: LocalDeclaration): void {
  if (ctx.inMemory.has(owner.key)) return;
  ctx.inMemory.add(owner.key);
  const { builder, budget } = ctx;
  if (budget.isTrial && !ctx.demanded)
    builder.stopWithin(BEHIND_DEMAND + Math.ceil(builder.instructionCount * PART_BEHIND_DEMAND));
  ctx.demanded = true;
}

/** Source text of a node, on one line. */
export function textOf(tokens: TokenStream, node: Node, limit = 120): string {
  let text = '';
  for (let i = node.first; i <= node.last && i < tokens.count; i++) {
    if (text.length > limit) return `${text}…`;
    const spaced = i > node.first && (tokens.flags[i] & 2) !== 0;
    text += (spaced ? ' ' : '') + tokens.text[i];
  }
  return text;
}

export type Bindings = ReadonlyMap<string, TemplateValue>;
