/** From the interpreter's values to plain data. */
import type { Parameter, TypeNode } from '../parse/ast';
import { syntaxKey } from '../parse/syntax-key';
import { capturesOf } from './captures';
import { argumentName, type HostType, typeName, withoutReference } from './host-type';
import type { HostTemplateArgument, HostTriple, HostValue, UnknownHostValue } from './host-value';
import { sizeOf } from './layout';
import { toTypeNode } from './resolve-type';
import type { HostState } from './state';
import {
  type ArrayValue,
  type BoundArgument,
  type Buffer,
  type Cell,
  type ContainerValue,
  type LambdaValue,
  typeOf,
  type UnknownValue,
  type Value,
} from './value';

/** Exports the values of one launch: buffers that only share a name are told apart. */
export interface Exporter {
  readonly value: (value: Value) => HostValue;
  readonly templateArgument: (argument: BoundArgument, environment: readonly string[]) => HostTemplateArgument;
}

const longestArray = 4096;
const deepest = 8;

export function createExporter(state: HostState): Exporter {
  const names = new Map<Buffer, string>();
  const used = new Map<string, number>();

  function identity(buffer: Buffer): string {
    const known = names.get(buffer);
    if (known) return known;
    const count = (used.get(buffer.name) ?? 0) + 1;
    used.set(buffer.name, count);
    const name = count === 1 ? buffer.name : `${buffer.name}#${count}`;
    names.set(buffer, name);
    return name;
  }

  function exported(value: Value, depth = 0): HostValue {
    if (depth > deepest) return { kind: 'unknown', reason: 'nested too deeply' };
    switch (value.kind) {
      case 'number':
        return { kind: 'number', value: value.value, type: value.of };
      case 'pointer':
        return pointer(value.to, value.offset, typeName(value.element), value.unknownOffset);
      case 'struct':
        return struct(value.type, cells(value.fields, depth));
      case 'array':
        return array(value, depth);
      case 'container':
        if (value.type.kind === 'container' && value.type.name === 'array')
          return arrayObject(value, value.type, depth);
        return pointer(value.buffer, 0, typeName(value.element), undefined);
      case 'function':
        return {
          kind: 'function',
          name: value.name,
          templateArguments: value.templateArguments?.map((argument) => template(argument, [])),
        };
      case 'lambda':
        return lambda(value, depth);
      case 'string':
        return { kind: 'string', value: value.value };
      case 'pack':
        return { kind: 'array', elements: value.elements.map((cell) => exported(cell.value, depth + 1)) };
      default:
        return exportUnknown(value);
    }
  }

  function struct(type: HostType, fields: Map<string, HostValue>): HostValue {
    const isInstance = type.kind === 'record' && (type.arguments?.length ?? 0) > 0;
    return { kind: 'struct', type: typeName(type), instance: isInstance ? toTypeNode(type) : undefined, fields };
  }

  function lambda(value: LambdaValue, depth: number): HostValue {
    const captured = capturesOf(value);
    const types = new Map<string, TypeNode>();
    for (const [name, cell] of captured) {
      const type = cell.type && cell.type.kind !== 'auto' ? cell.type : typeOf(cell.value);
      if (type) types.set(name, toTypeNode(withoutReference(type)));
    }
    return { kind: 'lambda', expression: value.expression, captures: cells(captured, depth), types };
  }

  function cells(map: ReadonlyMap<string, Cell>, depth: number): Map<string, HostValue> {
    return new Map([...map].map(([name, cell]) => [name, exported(cell.value, depth + 1)]));
  }

  function pointer(buffer: Buffer, offset: number, elementType: string, doubt: UnknownValue | undefined): HostValue {
    if (!Number.isNaN(offset)) {
      return { kind: 'pointer', allocation: identity(buffer), offsetBytes: offset, elementType, bytes: buffer.bytes };
    }
    const reason = doubt?.reason ?? `where in ${buffer.name} it points is not known`;
    return { kind: 'unknown', reason, name: doubt?.name ?? buffer.name, roots: doubt?.roots };
  }

  /** std::array holds its elements: a record of one array, as `lower/library` has it. */
  function arrayObject(value: ContainerValue, type: HostType & { kind: 'container' }, depth: number): HostValue {
    const { buffer, element } = value;
    const elements = array({ kind: 'array', buffer, offset: 0, element, length: type.length }, depth + 1);
    return { kind: 'struct', type: typeName(type), fields: new Map([['elements', elements]]) };
  }

  function array(value: ArrayValue, depth: number): HostValue {
    const size = sizeOf(state, value.element);
    const length = value.length ?? 0;
    const scalars = length * scalarsOf(value.element);
    if (!size || Number.isNaN(scalars) || scalars > longestArray) {
      return { kind: 'unknown', reason: 'an array that is too long to follow' };
    }
    if (value.buffer.cells.size === 0 && value.buffer.rest !== 'zero') {
      return { kind: 'unknown', reason: `${value.buffer.name} is filled at run time` };
    }
    // Many launches may pass the same array: each pays for it.
    state.steps -= length >> 3;
    const elements = Array.from({ length }, (_, index): HostValue => {
      const offset = value.offset + index * size;
      if (value.element.kind === 'array') {
        return array({ ...value, offset, element: value.element.of, length: value.element.length }, depth + 1);
      }
      const cell = value.buffer.cells.get(offset);
      if (cell) return exported(cell.value, depth + 1);
      if (value.buffer.rest === 'zero') return { kind: 'number', value: 0, type: typeName(value.element) };
      return { kind: 'unknown', reason: `${value.buffer.name}[${index}] is not known` };
    });
    return { kind: 'array', elements };
  }

  function template(argument: BoundArgument, environment: readonly string[]): HostTemplateArgument {
    if (argument.kind === 'type') return { kind: 'type', type: toTypeNode(argument.type), environment };
    if (argument.kind === 'value') return { kind: 'value', value: exported(argument.value) };
    return { kind: 'value', value: { kind: 'unknown', reason: `a parameter pack ${argumentName(argument)}` } };
  }

  return { value: (value) => exported(value), templateArgument: template };
}

/** Number of scalars in a (nested) array element; NaN when a length is not known. */
function scalarsOf(type: HostType): number {
  return type.kind === 'array' ? (type.length ?? Number.NaN) * scalarsOf(type.of) : 1;
}

function exportUnknown(value: UnknownValue): UnknownHostValue {
  return { kind: 'unknown', reason: value.reason, name: value.name, roots: value.roots };
}

/** x, y and z of a launch dimension. A value of unknown kind counts as a number when it is one by type or by custom. */
export function exportTriple(exporter: Exporter, value: Value): HostTriple {
  const one: HostValue = { kind: 'number', value: 1, type: 'unsigned int' };
  if (value.kind === 'struct') {
    const part = (name: string): HostValue => {
      const cell = value.fields.get(name);
      return cell ? exporter.value(cell.value) : one;
    };
    return [part('x'), part('y'), part('z')];
  }
  if (value.kind === 'unknown') {
    const type = typeOf(value);
    const isVector = type !== undefined && type.kind !== 'arithmetic' && type.kind !== 'enum';
    const whole = exportUnknown(value);
    return isVector ? [whole, whole, whole] : [whole, one, one];
  }
  return [exporter.value(value), one, one];
}

/** A key that is equal for launches that pass the same. */
export function launchKey(values: readonly HostValue[]): string {
  return values.map(valueKey).join('|');
}

const argumentKey = (argument: HostTemplateArgument): string =>
  argument.kind === 'value' ? valueKey(argument.value) : syntaxKey(argument.type);

function valueKey(value: HostValue): string {
  switch (value.kind) {
    case 'number':
      return `${value.value}`;
    case 'pointer':
      return `${value.allocation}+${value.offsetBytes}`;
    case 'struct':
      return `{${[...value.fields.values()].map(valueKey).join(',')}}`;
    case 'array':
      return `[${value.elements.map(valueKey).join(',')}]`;
    case 'function':
      return `${value.name}<${(value.templateArguments ?? []).map(argumentKey).join(',')}>`;
    case 'lambda':
      // what it captures may be of other classes where the values are alike, or not known
      return `\\${value.expression.first}{${[...value.captures.values()].map(valueKey).join(',')}:${[...value.types.values()].map(syntaxKey).join(',')}}`;
    case 'string':
      return value.value;
    default:
      return `?${value.name ?? value.reason}`;
  }
}

/** Name of a parameter for unknown values that have none. */
export function withParameterName(value: HostValue, parameter: Parameter | undefined): HostValue {
  if (value.kind !== 'unknown' || value.name || !parameter?.name) return value;
  return { ...value, name: parameter.name };
}
