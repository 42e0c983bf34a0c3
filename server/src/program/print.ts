/** The text form of a program, for tests and for looking at it. */

import type { Instruction, Program, Register, Terminator } from './program';

/** One line an instruction; constants are written as numbers, other registers by number and source name. */
export function printProgram(program: Program): string {
  const lines = [`kernel ${program.kernel}`];
  const name = (register: Register) => registerName(program, register);
  for (const input of program.inputs) {
    lines.push(`  input ${name(input.register)}: ${program.registers[input.register].type} = ${input.name}`);
  }
  program.objects.forEach((object, index) => {
    const size = object.isDynamic ? 'dynamic' : `${object.bytes ?? '?'} bytes`;
    lines.push(`  object ${index} ${object.name}: ${object.space}, ${size}, aligned to ${object.alignment}`);
  });
  program.blocks.forEach((block, index) => {
    lines.push(`b${index}:`);
    for (const instruction of block.instructions) lines.push(`  ${printInstruction(program, instruction, name)}`);
    lines.push(`  ${printTerminator(block.terminator, name)}`);
  });
  return `${lines.join('\n')}\n`;
}

function registerName(program: Program, register: Register): string {
  const info = program.registers[register];
  if (info === undefined) return `?${register}`;
  if (info.role === 'constant') return info.value === undefined ? '?' : String(info.value);
  const prefix = info.role === 'variable' ? '%' : info.role === 'input' ? '$' : '';
  return `${prefix}r${register}${info.name === undefined ? '' : `.${info.name}`}`;
}

type Naming = (register: Register) => string;

function printInstruction(program: Program, instruction: Instruction, name: Naming): string {
  const site = (access: number) =>
    ` ; ${program.accesses[access]?.space ?? '?'} ${program.accesses[access]?.expression}`;
  switch (instruction.op) {
    case 'unary':
      return `${name(instruction.dst)} = ${instruction.fn}.${instruction.type} ${name(instruction.a)}`;
    case 'convert':
      return `${name(instruction.dst)} = ${instruction.type}.${instruction.from} ${name(instruction.a)}`;
    case 'binary':
    case 'compare':
      return `${name(instruction.dst)} = ${instruction.fn}.${instruction.type} ${name(instruction.a)}, ${name(instruction.b)}`;
    case 'select':
      return `${name(instruction.dst)} = ${name(instruction.p)} ? ${name(instruction.a)} : ${name(instruction.b)}`;
    case 'fma':
      return `${name(instruction.dst)} = fma.${instruction.type} ${[instruction.a, instruction.b, instruction.c].map(name).join(', ')}`;
    case 'load':
      return `${instruction.dst.map(name).join(', ')} = load.${instruction.type} ${place(instruction, name)}${site(instruction.access)}`;
    case 'store':
      return `store.${instruction.type} ${place(instruction, name)}, ${instruction.values.map(name).join(', ')}${site(instruction.access)}`;
    case 'atomic': {
      const target = instruction.dst === undefined ? '' : `${name(instruction.dst)} = `;
      const compare = instruction.compare === undefined ? '' : `${name(instruction.compare)}, `;
      return `${target}atomic.${instruction.fn}.${instruction.type} ${place(instruction, name)}, ${compare}${name(instruction.value)}${site(instruction.access)}`;
    }
    case 'asyncCopy': {
      const read = instruction.read === undefined ? '' : `, ${name(instruction.read)}`;
      return `copy.${instruction.bytes} [${name(instruction.destination)}], [${name(instruction.source)}]${read}${site(instruction.loadAccess)}`;
    }
    case 'matrix':
      return `matrix.${instruction.direction}.x${instruction.matrices} ${instruction.dst.map(name).join(', ')}, [${name(instruction.address)}]${site(instruction.access)}`;
    case 'lane': {
      const operands = [instruction.a, instruction.b, instruction.width].flatMap((r) =>
        r === undefined ? [] : [name(r)],
      );
      return `${name(instruction.dst)} = ${instruction.fn}.${instruction.type} ${operands.join(', ')}`.trimEnd();
    }
    case 'barrier':
      return `barrier.${instruction.scope}`;
    case 'unknown':
      return `${name(instruction.dst)} = unknown ; ${instruction.reason}`;
    case 'host': {
      const result = instruction.dst === undefined ? '' : `${name(instruction.dst)} = `;
      const launch = instruction.launch === undefined ? '' : ` #${instruction.launch}`;
      return `${result}host.${instruction.fn}${launch} ${instruction.args.map(name).join(', ')}`.trimEnd();
    }
    case 'work':
      return `work.${instruction.unit} ${instruction.count}`;
  }
}

function place(instruction: { readonly address: Register; readonly offset: number }, name: Naming): string {
  const { offset } = instruction;
  const shift = offset === 0 ? '' : offset < 0 ? ` - ${-offset}` : ` + ${offset}`;
  return `[${name(instruction.address)}${shift}]`;
}

function printTerminator(terminator: Terminator, name: Naming): string {
  if (terminator.kind === 'exit') return 'exit';
  if (terminator.kind === 'jump') return `jump b${terminator.target}`;
  return `if ${name(terminator.condition)} b${terminator.ifTrue} else b${terminator.ifFalse}`;
}
