/** PTX to the IR: one kernel, everything it calls inlined. */

import type { MachineCode } from '../cubin/machine-access';
import { dominates } from '../program/control-flow';
import { heapAddress } from '../program/heap';
import type { Program } from '../program/program';
import { arithmetic, type Handler } from './arithmetic';
import { bits } from './bits';
import { assignedBy, assignmentsOf, type FlatEnd, type FlatGraph, flatGraph } from './blocks';
import { Context } from './context';
import { type FlatInstruction, type FlatKernel, flatten } from './flatten';
import { heldTypesOf } from './held-types';
import { MachineSites } from './machine-sites';
import { matrixHandlers } from './matrices';
import { accessSpace, memoryHandlers } from './memory';
import { Memory } from './memory-objects';
import type { PtxFunction, PtxModule } from './module';
import { isUserFile, Places } from './places';
import { rootsOf } from './roots';
import { type StagedKernel, stagedLoops } from './staged-loops';
import { type MachineOf, unrolledLoops } from './unrolled-loops';
import { KernelVariables } from './variables-of-kernel';
import { warp } from './warp';

export interface LowerOptions {
  /** Names of the kernel's parameters, for messages. */
  readonly parameterNames?: readonly (string | undefined)[];
  /** Whether a file is the user's: accesses are placed at the innermost line in such a file. */
  readonly isUserFile?: (file: string) => boolean;
  /** What the assembler made of the module, and the module's text, whose lines it names. */
  readonly machine?: { readonly code: MachineCode; readonly text: string };
}

/**
 * The program of an entry (its mangled name). Never throws: an instruction that is not understood makes what it assigns
 * unknown and stands in `skipped`; an entry that does not exist gives an empty program.
 */
export function lowerPtx(module: PtxModule, entryName: string, options: LowerOptions = {}): Program {
  const entry = module.functions.find((f) => f.name === entryName && f.body !== undefined);
  if (!entry) return emptyProgram(entryName, `no entry '${entryName}'`);
  try {
    return lowerEntry(module, entry, options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return emptyProgram(entryName, `the PTX of this kernel could not be read: ${reason}`);
  }
}

function emptyProgram(kernel: string, reason: string): Program {
  return {
    kernel,
    registers: [],
    blocks: [{ instructions: [], terminator: { kind: 'exit' } }],
    inputs: [],
    objects: [],
    accesses: [],
    branches: [],
    skipped: [{ place: { first: -1, last: -1 }, reason }],
  };
}

/** By the first part of an opcode. */
type Handlers = ReadonlyMap<string, Handler>;

const allocate: Handler = (ctx, { operands: [to, size] }) =>
  ctx.write(to, heapAddress(ctx.builder, ctx.read(size, 'i64')));

/** What touches no memory is the same for all kernels. */
const computations: Handlers = new Map(Object.entries({ ...arithmetic, ...bits, ...warp, malloc: allocate }));

function lowerEntry(module: PtxModule, entry: PtxFunction, options: LowerOptions): Program {
  const places = new Places(module, options.isUserFile ?? isUserFile);
  const accesses = options.machine?.code.get(entry.name);
  const machine = options.machine && accesses && new MachineSites(accesses, options.machine.text, places);
  const { kernel, graph, passes } = assembledGraph(flatten(module, entry), machine);
  const count = kernel.registers.length;
  const variables = new KernelVariables(module, kernel, places);
  const memory = new Memory(variables, rootsOf(count, graph), entry.parameters, options.parameterNames ?? []);
  const ctx: Context = new Context(
    kernel,
    assignmentsOf(count, graph),
    places,
    machine,
    heldTypesOf(kernel.registers, graph),
    (name, frame) => variables.addressOf(ctx.builder, name, frame),
  );
  const handlers = new Map(Object.entries({ ...memoryHandlers(memory), ...matrixHandlers(memory) }));
  for (const { location, reason } of kernel.skipped) ctx.builder.skipped.push({ place: places.of(location), reason });
  lowerBlocks(ctx, graph, passes, handlers);
  memory.addPointees(ctx);
  memory.addContents(ctx);
  return ctx.builder.finish();
}

/** The blocks of a kernel, with the loops that the assembler wrote out where its code is known. */
function assembledGraph(kernel: FlatKernel, machine: MachineSites | undefined): StagedKernel {
  const graph = flatGraph(kernel);
  if (!machine) return { kernel, graph, passes: new Map() };
  const machineOf: MachineOf = ({ at, opcode }) =>
    machine.of(at, opcode.base === 'ld' ? 'load' : 'store', accessSpace(opcode.parts));
  const staged = stagedLoops(kernel, graph, machineOf);
  return { ...staged, passes: new Map([...unrolledLoops(staged.graph, machineOf), ...staged.passes]) };
}

function lowerBlocks(ctx: Context, graph: FlatGraph, passes: ReadonlyMap<number, number>, handlers: Handlers): void {
  const { builder } = ctx;
  for (let block = 1; block < graph.blocks.length; block++) builder.newBlock();
  for (const block of graph.flow.order) {
    builder.use(block);
    ctx.startBlock();
    // Equal expressions are shared within a block, and with the entry, which dominates all.
    if (block !== 0) builder.enterRegion();
    const { instructions } = graph.blocks[block];
    for (let pass = passes.get(block) ?? 1; pass > 0; pass--) {
      for (const instruction of instructions) lowerInstruction(ctx, instruction, handlers);
      if (pass > 1) ctx.nextPass(instructions.flatMap(assignedBy));
    }
    lowerEnd(ctx, graph, block);
    if (block !== 0) builder.leaveRegion();
  }
  if (builder.overBudget) builder.skipped.push({ place: { first: -1, last: -1 }, reason: 'the kernel is too long' });
}

function lowerInstruction(ctx: Context, instruction: FlatInstruction, handlers: Handlers): void {
  ctx.current = instruction;
  const { opcode, operands } = instruction;
  const handler = handlers.get(opcode.base) ?? computations.get(opcode.base);
  if (handler) {
    handler(ctx, instruction);
    return;
  }
  ctx.skip(`${opcode.text.slice(0, 80)} is not understood`);
  ctx.writeUnknown(operands[0], `${opcode.text.slice(0, 80)} is not understood`);
}

function lowerEnd(ctx: Context, graph: FlatGraph, block: number): void {
  const { builder } = ctx;
  const end: FlatEnd = graph.blocks[block].end;
  if (end.kind === 'exit') {
    builder.exit();
  } else if (end.kind === 'jump') {
    builder.jump(end.target);
  } else {
    ctx.current = { ...end.instruction, guard: undefined };
    const value = ctx.valueOf(end.register);
    const condition =
      end.equals === undefined
        ? ctx.coerce(value, 'pred')
        : builder.compare('eq', 'i32', ctx.coerce(value, 'i32'), ctx.constant('i32', end.equals));
    const { dominator } = graph.flow;
    const isBack = dominates(dominator, end.ifTrue, block) || dominates(dominator, end.ifFalse, block);
    const kind = end.equals !== undefined ? 'switch' : isBack ? 'loop' : 'if';
    builder.branch(condition, end.ifTrue, end.ifFalse, { place: ctx.place, kind });
  }
}
