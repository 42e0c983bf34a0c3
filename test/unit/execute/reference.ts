/** An independent definition of execution: one thread after the other, no masks, no sharing, no shortcuts. */

import { conversion, heldForm } from '../../../server/src/execute/conversion';
import { binaryOperation, comparison, fmaOperation, unaryOperation } from '../../../server/src/execute/operations';
import type { MemoryModel } from '../../../server/src/hardware/memory-model';
import { addressWindows } from '../../../server/src/program/addresses';
import type { Instruction, Program } from '../../../server/src/program/program';

export interface Reference {
  /** By block of the program: times executed by a thread. */
  readonly lanes: number[];
  /** By access: executions by a thread, and the sum of the remainders of the addresses modulo 256. */
  readonly accesses: { count: number; sum: number }[];
}

/** Counts, as sectors, the sum of the lanes' addresses modulo 256: a figure that every wrong address changes. */
export const checksumModel: MemoryModel = {
  count(_shape, addresses, active, first, lanes, out) {
    out.sectors = 0;
    out.lanes = 0;
    for (let lane = first; lane < first + lanes; lane++) {
      if (active[lane] === 0) continue;
      out.lanes++;
      out.sectors += addresses[lane] % 256;
    }
    out.idealSectors = 1;
    out.wavefronts = out.idealWavefronts = out.leastWavefronts = out.transactions = 0;
  },
};

/** Executes threads of one one-dimensional block; undefined when a thread takes more than `limit` blocks. */
export function reference(
  program: Program,
  threads: number,
  values: ReadonlyMap<number, number>,
  limit: number,
): Reference | undefined {
  const lanes = program.blocks.map(() => 0);
  const accesses = program.accesses.map(() => ({ count: 0, sum: 0 }));
  for (let thread = 0; thread < threads; thread++) {
    const registers = program.registers.map((info) =>
      info.role === 'constant' ? heldForm(info.type, info.value ?? 0) : 0,
    );
    program.inputs.forEach((input, index) => {
      if (input.source.kind === 'threadIdx') registers[input.register] = input.source.axis === 0 ? thread : 0;
      else if (input.source.kind === 'object') registers[input.register] = addressWindows.shared;
      else registers[input.register] = values.get(index) ?? addressWindows.global * (index + 1);
    });
    let block = 0;
    for (let step = 0; block >= 0; step++) {
      if (step > limit) return undefined;
      lanes[block]++;
      const { instructions, terminator } = program.blocks[block];
      for (const instruction of instructions) perform(instruction, registers, accesses);
      if (terminator.kind === 'exit') block = -1;
      else if (terminator.kind === 'jump') block = terminator.target;
      else block = registers[terminator.condition] !== 0 ? terminator.ifTrue : terminator.ifFalse;
    }
  }
  return { lanes, accesses };
}

function perform(instruction: Instruction, r: number[], accesses: { count: number; sum: number }[]): void {
  switch (instruction.op) {
    case 'unary':
      r[instruction.dst] = unaryOperation(instruction.fn, instruction.type, instruction.type).scalar(r[instruction.a]);
      break;
    case 'convert':
      r[instruction.dst] = conversion(instruction.from, instruction.type).scalar(r[instruction.a]);
      break;
    case 'binary':
      r[instruction.dst] = binaryOperation(instruction.fn, instruction.type).scalar(r[instruction.a], r[instruction.b]);
      break;
    case 'compare': {
      const { operation, isSwapped } = comparison(instruction.fn, instruction.type);
      const [a, b] = isSwapped ? [instruction.b, instruction.a] : [instruction.a, instruction.b];
      r[instruction.dst] = operation.scalar(r[a], r[b]);
      break;
    }
    case 'select':
      r[instruction.dst] = r[instruction.p] !== 0 ? r[instruction.a] : r[instruction.b];
      break;
    case 'fma':
      r[instruction.dst] = fmaOperation(instruction.type).scalar(r[instruction.a], r[instruction.b], r[instruction.c]);
      break;
    case 'load':
    case 'store':
      accesses[instruction.access].count++;
      accesses[instruction.access].sum += (r[instruction.address] + instruction.offset) % 256;
      break;
    default:
      throw new Error(`the reference does not know ${instruction.op}`);
  }
}
