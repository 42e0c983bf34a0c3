/** Structural invariants of programs: what every step after lowering relies on. */

import { controlFlow, dominates } from './control-flow';
import { accessesOf, addressesOf, readsOf, writesOf } from './operands';
import type { Instruction, Program, Register } from './program';

/** Violations in plain words, empty for a sound program. */
export function verifyProgram(program: Program): string[] {
  const problems: string[] = [];
  checkIndices(program, problems);
  // The other checks follow indices.
  if (problems.length > 0) return problems;
  checkRoles(program, problems);
  checkTypes(program, problems);
  checkTemporaries(program, problems);
  return problems;
}

function checkIndices(program: Program, problems: string[]): void {
  const isIndex = (n: number, length: number) => Number.isInteger(n) && n >= 0 && n < length;
  const expect = (condition: boolean, text: string) => {
    if (!condition) problems.push(text);
  };
  expect(program.blocks.length > 0, 'no blocks');
  program.blocks.forEach((block, index) => {
    const at = `block ${index}`;
    for (const instruction of block.instructions) {
      for (const register of [...readsOf(instruction), ...writesOf(instruction)]) {
        expect(isIndex(register, program.registers.length), `${at}: ${instruction.op} names register ${register}`);
      }
      for (const access of accessesOf(instruction)) {
        expect(isIndex(access, program.accesses.length), `${at}: ${instruction.op} names access ${access}`);
      }
    }
    const { terminator } = block;
    if (terminator.kind === 'exit') return;
    const targets = terminator.kind === 'jump' ? [terminator.target] : [terminator.ifTrue, terminator.ifFalse];
    for (const target of targets) expect(isIndex(target, program.blocks.length), `${at}: goes to block ${target}`);
    if (terminator.kind !== 'branch') return;
    expect(isIndex(terminator.condition, program.registers.length), `${at}: condition ${terminator.condition}`);
    expect(isIndex(terminator.branch, program.branches.length), `${at}: branch ${terminator.branch}`);
  });
  program.inputs.forEach((input, index) => {
    expect(isIndex(input.register, program.registers.length), `input ${index}: register ${input.register}`);
    if (input.source.kind !== 'object') return;
    expect(isIndex(input.source.object, program.objects.length), `input ${index}: object ${input.source.object}`);
  });
  program.accesses.forEach((site, index) => {
    if (site.object === undefined) return;
    expect(isIndex(site.object, program.objects.length), `access ${index}: object ${site.object}`);
  });
}

function checkRoles(program: Program, problems: string[]): void {
  const assignments = new Int32Array(program.registers.length);
  for (const block of program.blocks) {
    for (const instruction of block.instructions) for (const register of writesOf(instruction)) assignments[register]++;
  }
  const inputs = new Set(program.inputs.map((input) => input.register));
  program.registers.forEach((info, register) => {
    const count = assignments[register];
    if (info.role === 'temporary' && count > 1) problems.push(`temporary ${register} is assigned ${count} times`);
    if ((info.role === 'constant' || info.role === 'input') && count > 0) {
      problems.push(`${info.role} ${register} is assigned`);
    }
    if (info.role === 'input' && !inputs.has(register)) problems.push(`input register ${register} is no input`);
    if (info.role !== 'input' && inputs.has(register))
      problems.push(`register ${register} is an input but ${info.role}`);
  });
}

const isAddressType = new Set(['u64', 'i64']);

function checkTypes(program: Program, problems: string[]): void {
  const typeOf = (register: Register) => program.registers[register].type;
  const check = (instruction: Instruction, index: number) => {
    for (const register of addressesOf(instruction)) {
      if (isAddressType.has(typeOf(register))) continue;
      problems.push(`block ${index}: ${instruction.op} has an address of type ${typeOf(register)}`);
    }
    if (instruction.op === 'compare' && typeOf(instruction.dst) !== 'pred') {
      problems.push(`block ${index}: comparison gives ${typeOf(instruction.dst)}`);
    }
    const result = resultType(instruction);
    if (result === undefined) return;
    for (const register of writesOf(instruction)) {
      if (typeOf(register) !== result)
        problems.push(`block ${index}: ${instruction.op} of ${result} into ${typeOf(register)}`);
    }
  };
  program.blocks.forEach((block, index) => {
    for (const instruction of block.instructions) check(instruction, index);
    if (block.terminator.kind === 'branch' && typeOf(block.terminator.condition) !== 'pred') {
      problems.push(`block ${index}: branches on ${typeOf(block.terminator.condition)}`);
    }
  });
}

/** The type of an instruction's result where the instruction says it. */
function resultType(instruction: Instruction): string | undefined {
  switch (instruction.op) {
    case 'convert':
    case 'binary':
    case 'select':
    case 'fma':
    case 'load':
    case 'atomic':
      return instruction.type;
    default:
      return undefined;
  }
}

/** Every use of a temporary is after its assignment in the same block, or in a block that this one dominates. */
function checkTemporaries(program: Program, problems: string[]): void {
  const flow = controlFlow(program);
  const home = new Int32Array(program.registers.length).fill(-1);
  for (const block of flow.order) {
    for (const instruction of program.blocks[block].instructions) {
      for (const register of writesOf(instruction)) home[register] = block;
    }
  }
  for (const block of flow.order) {
    const assigned = new Set<Register>();
    const check = (register: Register) => {
      if (program.registers[register].role !== 'temporary' || assigned.has(register)) return;
      if (home[register] < 0) problems.push(`temporary ${register} is never assigned, used in block ${block}`);
      else if (home[register] === block)
        problems.push(`temporary ${register} is used before its assignment in block ${block}`);
      else if (!dominates(flow.dominator, home[register], block)) {
        problems.push(
          `temporary ${register} of block ${home[register]} is used in block ${block}, which it does not dominate`,
        );
      }
    };
    for (const instruction of program.blocks[block].instructions) {
      readsOf(instruction).forEach(check);
      for (const register of writesOf(instruction)) assigned.add(register);
    }
    const { terminator } = program.blocks[block];
    if (terminator.kind === 'branch') check(terminator.condition);
  }
}
