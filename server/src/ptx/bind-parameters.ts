/**
 * PTX knows the parameters of a kernel by index and byte; a launch knows them by name. The source tier's program of the
 * same kernel has the names of all leaves in order, and their layout follows from their types.
 */

import { bytesOf, type Input, type Program, type ScalarType } from '../program/program';
import { bitsOf } from './types';

interface Leaf {
  readonly path: readonly string[];
  readonly name: string;
  readonly offset: number;
  readonly type: ScalarType;
  /** Name of the type it points to and its size, of a pointer. */
  readonly pointee?: { readonly elementType: string; readonly elementBytes: number };
}

/**
 * Gives inputs and objects of a program from PTX the names and paths that they have in the source tier's program of the
 * same kernel, so that launch values reach them. What the source tier does not know stays as it is.
 */
export function bindParameters(program: Program, source: Program): Program {
  const leaves = leavesOf(source);
  const bound = new Map<number, Leaf>();
  const inputs = program.inputs.map((input): Input => {
    if (input.source.kind !== 'parameter') return input;
    const { parameter, offset = 0 } = input.source;
    const leaf = leaves.get(parameter)?.find((each) => each.offset === offset);
    if (!leaf || bitsOf[leaf.type] !== bitsOf[program.registers[input.register].type]) return input;
    bound.set(input.register, leaf);
    return { ...input, name: leaf.name, source: { ...input.source, path: leaf.path } };
  });
  return {
    ...program,
    inputs,
    registers: program.registers.map((register, index) => {
      const leaf = bound.get(index);
      return leaf ? { ...register, name: leaf.name } : register;
    }),
    objects: program.objects.map((object) => {
      const leaf = bound.get(object.register);
      return leaf ? { ...object, name: leaf.name, ...leaf.pointee } : object;
    }),
    accesses: program.accesses.map((site) => {
      const object = site.object === undefined ? undefined : program.objects[site.object];
      const leaf = object && bound.get(object.register);
      return leaf && object ? { ...site, expression: site.expression.replace(object.name, leaf.name) } : site;
    }),
  };
}

/** By parameter: its scalar leaves with their bytes. */
function leavesOf(source: Program): Map<number, Leaf[]> {
  const byParameter = new Map<number, Input[]>();
  for (const input of source.inputs) {
    if (input.source.kind !== 'parameter') continue;
    const list = byParameter.get(input.source.parameter);
    if (list) list.push(input);
    else byParameter.set(input.source.parameter, [input]);
  }
  const result = new Map<number, Leaf[]>();
  for (const [parameter, inputs] of byParameter) {
    const leaves: Leaf[] = [];
    place(source, inputs, 1, 0, leaves);
    result.set(parameter, leaves);
  }
  return result;
}

/**
 * Lays out leaves whose paths agree up to `depth`, from a byte on: members one after the other, each aligned as its own
 * largest member (Itanium C++ ABI, without bit-fields and unions).
 */
function place(
  source: Program,
  inputs: readonly Input[],
  depth: number,
  start: number,
  leaves: Leaf[],
): { readonly end: number; readonly alignment: number } {
  const scalar = inputs.find((input) => pathOf(input).length === depth);
  if (scalar) {
    const { type } = source.registers[scalar.register];
    const size = bytesOf[type];
    const object = source.objects.find((each) => each.register === scalar.register);
    const pointee = object && { elementType: object.elementType, elementBytes: object.elementBytes };
    leaves.push({ path: pathOf(scalar), name: scalar.name, offset: start, type, pointee });
    return { end: start + size, alignment: size };
  }
  const members = new Map<string, Input[]>();
  for (const input of inputs) {
    const name = pathOf(input)[depth] ?? '';
    const list = members.get(name);
    if (list) list.push(input);
    else members.set(name, [input]);
  }
  let end = start;
  let alignment = 1;
  for (const member of members.values()) {
    const before = leaves.length;
    const placed = place(source, member, depth + 1, 0, leaves);
    const at = alignUp(end, placed.alignment);
    for (let i = before; i < leaves.length; i++) leaves[i] = { ...leaves[i], offset: leaves[i].offset + at };
    alignment = Math.max(alignment, placed.alignment);
    end = at + alignUp(placed.end, placed.alignment);
  }
  return { end, alignment };
}

function pathOf(input: Input): readonly string[] {
  return input.source.kind === 'parameter' ? input.source.path : [];
}

function alignUp(bytes: number, alignment: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}
