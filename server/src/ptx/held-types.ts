/** How each PTX register is held: by its declaration, or, for untyped bits, as the floats they are used as. */

import type { ScalarType } from '../program/program';
import { assignedBy, type FlatGraph, registersIn } from './blocks';
import type { PtxRegister } from './module';
import { heldType, typeOf } from './types';

const floatOf: Readonly<Record<string, ScalarType>> = { b32: 'f32', b64: 'f64' };

/** Instructions that only move bits: they do not say what the bits are. */
const neutral = new Set(['mov', 'ld', 'st', 'ldu', 'selp', 'shfl', 'slct']);

/**
 * NVVM of CUDA 13 declares floats as `.b32` too. A register that all arithmetic takes as a float is held as one, so
 * that its bits need not be converted back and forth.
 */
export function heldTypesOf(registers: readonly PtxRegister[], graph: FlatGraph): ScalarType[] {
  const asFloat = new Uint8Array(registers.length);
  const asInteger = new Uint8Array(registers.length);
  for (const block of graph.flow.order) {
    const { instructions, end } = graph.blocks[block];
    for (const instruction of instructions) {
      const { base, parts } = instruction.opcode;
      const type = typeOf(parts) ?? '';
      const isFloat = type === 'f32' || type === 'f64';
      if (neutral.has(base) && !isFloat) continue;
      const marks = isFloat && base !== 'setp' && base !== 'cvt' && base !== 'set' ? asFloat : undefined;
      const results = assignedBy(instruction);
      for (const register of results) (marks ?? asInteger)[register] = 1;
      for (const operand of instruction.operands.slice(results.length > 0 ? 1 : 0)) {
        const isAddress = operand.kind === 'address';
        for (const register of registersIn(operand)) (isFloat && !isAddress ? asFloat : asInteger)[register] = 1;
      }
      if (base === 'cvt' && results.length === 1) {
        const to = parts.find((part, index) => index > 0 && (part === 'f32' || part === 'f64'));
        const first = parts.filter((part) => /^[busf]\d+$/.test(part))[0];
        if (to !== undefined && first === to) {
          asFloat[results[0]] = 1;
          asInteger[results[0]] = 0;
        }
      }
    }
    if (end.kind === 'branch') asInteger[end.register] = 1;
  }
  return registers.map((register, index) => {
    const float = asFloat[index] === 1 && asInteger[index] === 0 ? floatOf[register.type] : undefined;
    return float ?? heldType(register.type);
  });
}
