/**
 * What a launch leaves of the host's memory: what a kernel may write and the host reads without a copy (managed and mapped memory) is not known behind
 * it. What lies in the memory of the device alone holds nothing that the host has put there element by element.
 */
import type { FunctionDeclaration, Parameter, TypeNode } from '../parse/ast';
import { smudge } from './memory';
import type { HostState } from './state';
import type { Buffer, Value } from './value';
import { writtenParameters } from './written-parameters';

/** @param kernel undefined where it is not known which one starts: then it may write all it is given */
export function forgetWritten(
  state: HostState,
  kernel: FunctionDeclaration | undefined,
  passed: readonly Value[],
): void {
  const written = kernel && writtenParameters(kernel);
  passed.forEach((value, index) => {
    const { name = '', type } = parameterFor(kernel, index) ?? {};
    const isWritten = (field: string): boolean => !written || written.has(name) || written.has(name + field);
    if (value.kind === 'struct')
      for (const [field, cell] of value.fields) forgetBehind(state, cell.value, isWritten(`.${field}`), new Set());
    else forgetBehind(state, value, isWritten('') && !pointsToConst(type), new Set());
  });
}

/** The last one, where it is a pack, is that of all the rest. */
function parameterFor(kernel: FunctionDeclaration | undefined, index: number): Parameter | undefined {
  const last = kernel?.parameters.at(-1);
  return kernel?.parameters[index] ?? (last?.pack ? last : undefined);
}

function pointsToConst(type: TypeNode | undefined): boolean {
  return (type?.kind === 'pointer' || type?.kind === 'reference') && type.to.isConst;
}

/** What a pointer leads to further is written where the kernel has it. */
function forgetBehind(state: HostState, value: Value, isWritten: boolean, seen: Set<Buffer>): void {
  if (value.kind === 'struct')
    for (const { value: field } of value.fields.values()) forgetBehind(state, field, true, seen);
  const buffer = value.kind === 'pointer' ? value.to : value.kind === 'array' ? value.buffer : undefined;
  if (!buffer || seen.has(buffer)) return;
  seen.add(buffer);
  if (value.kind === 'pointer' && value.element.kind !== 'arithmetic')
    for (const { value: held } of buffer.cells.values()) forgetBehind(state, held, true, seen);
  if (isWritten && (buffer.cells.size > 0 || buffer.rest === 'zero')) smudge(state, buffer);
}
