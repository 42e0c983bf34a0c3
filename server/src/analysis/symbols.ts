/** Tables in constant memory that the host fills before a launch. */
import type { HostValue } from '../launch/host-value';
import { namedTypes, scalarOf } from '../lower/types';
import type { MemoryObject, Program } from '../program/program';

/** Elements of one table that are followed. */
const MAX_ELEMENTS = 16384;

/** The program with the contents of its constant tables, as far as the host's numbers are known. */
export function withSymbolTables(program: Program, symbols: ReadonlyMap<string, HostValue>): Program {
  if (symbols.size === 0 || !program.objects.some((o) => tableOf(o, symbols))) return program;
  return {
    ...program,
    objects: program.objects.map((o) => {
      const contents = tableOf(o, symbols);
      return contents ? { ...o, contents } : o;
    }),
  };
}

/** Whether the host's numbers are known for an object. */
export const isSymbolTable = (object: MemoryObject | undefined, symbols: ReadonlyMap<string, HostValue>): boolean =>
  object !== undefined && tableOf(object, symbols) !== undefined;

function tableOf(object: MemoryObject, symbols: ReadonlyMap<string, HostValue>): MemoryObject['contents'] {
  const value = object.space === 'constant' ? symbols.get(object.name) : undefined;
  if (!value) return undefined;
  const values: number[] = [];
  const type = object.contents?.type ?? scalarOf(namedTypes.get(object.elementType) ?? { kind: 'void' });
  return type && collect(value, values) ? { type, values } : undefined;
}

function collect(value: HostValue, into: number[]): boolean {
  if (value.kind === 'array') return value.elements.every((element) => collect(element, into));
  if (value.kind !== 'number' || into.length >= MAX_ELEMENTS) return false;
  into.push(value.value);
  return true;
}
