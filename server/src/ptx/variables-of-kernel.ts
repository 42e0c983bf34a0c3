/** Arrays and variables that a kernel uses, as objects of the IR. */

import { addressWindows } from '../program/addresses';
import type { ProgramBuilder } from '../program/builder';
import {
  bytesOf,
  type MemoryObject,
  type MemorySpace,
  type Register,
  type ScalarType,
  type SourcePlace,
} from '../program/program';
import type { FlatKernel } from './flatten';
import type { PtxModule, PtxVariable } from './module';
import { demangledName } from './names';
import type { Places } from './places';
import { irType } from './types';
import { sizeOf } from './variables';

/** Where addresses of a space start in the IR; PTX counts them from 0 within shared, local and constant memory. */
export const windowOf: Readonly<Record<string, number>> = {
  shared: addressWindows.shared,
  local: addressWindows.local,
  const: addressWindows.constant,
  global: 0,
};

const irSpaces: Readonly<Record<string, MemorySpace>> = {
  shared: 'shared',
  local: 'local',
  const: 'constant',
  global: 'global',
};

interface Found {
  readonly index: number;
  readonly variable: PtxVariable;
}

export class KernelVariables {
  private readonly found = new Map<string, Found>();
  private readonly declared: ReadonlyMap<string, PtxVariable>;
  /** By object: the type it is read as, for its contents. */
  private readonly readAs = new Map<number, ScalarType>();

  constructor(
    module: PtxModule,
    private readonly kernel: FlatKernel,
    private readonly places: Places,
  ) {
    this.declared = new Map(module.variables.map((variable) => [variable.name, variable]));
  }

  /** The object of a symbol as seen from a frame; undefined for functions, labels and unknown names. */
  objectOf(builder: ProgramBuilder, name: string, frame: number): Found | undefined {
    const own = this.kernel.frames[frame].function.variables.find((variable) => variable.name === name);
    const variable = own ?? this.declared.get(name);
    if (!variable || irSpaces[variable.space] === undefined) return undefined;
    // Local memory is every call's own; a shared array of a function is one for all.
    const key = variable.space === 'local' ? `${frame}:${name}` : name;
    let found = this.found.get(key);
    if (!found) {
      found = { index: builder.object(this.makeObject(variable)), variable };
      this.found.set(key, found);
    }
    return found;
  }

  /** The address of a symbol within its space. */
  addressOf(builder: ProgramBuilder, name: string, frame: number): Register | undefined {
    const found = this.objectOf(builder, name, frame);
    if (!found) return undefined;
    const { register } = builder.objects[found.index];
    const window = windowOf[found.variable.space];
    return window === 0 ? register : builder.binary('sub', 'i64', register, builder.constant('i64', window));
  }

  noteRead(object: number, type: ScalarType): void {
    if (!this.readAs.has(object)) this.readAs.set(object, type);
  }

  private makeObject(variable: PtxVariable): Omit<MemoryObject, 'register'> {
    const place: SourcePlace = this.places.of(variable.location);
    return {
      name: demangledName(variable.name),
      space: irSpaces[variable.space],
      bytes: variable.bytes,
      alignment: variable.alignment,
      isDynamic: variable.space === 'shared' && variable.bytes === 0,
      dimensions: variable.dimensions,
      elementBytes: sizeOf(variable.type) || 1,
      elementType: variable.type,
      place,
    };
  }

  /** Contents of tables: constant memory, and device memory that the kernel only reads. */
  addContents(builder: ProgramBuilder, isWritten: (object: number) => boolean): void {
    for (const { index, variable } of this.found.values()) {
      const isTable = variable.space === 'const' || (variable.space === 'global' && !isWritten(index));
      const type = this.readAs.get(index);
      if (!isTable || !variable.initial || type === undefined) continue;
      const values = contentsAs(variable, type);
      if (values) builder.objects[index] = { ...builder.objects[index], contents: { type, values } };
    }
  }
}

/** Elements of an initialiser, regrouped as the type that they are read as. Absent ones at the end are zero. */
function contentsAs(variable: PtxVariable, type: ScalarType): number[] | undefined {
  const from = sizeOf(variable.type);
  const bytes = new Uint8Array(Math.max(variable.bytes, from));
  const view = new DataView(bytes.buffer);
  if (from === 0 || bytes.length % bytesOf[type] !== 0) return undefined;
  for (const [index, value] of (variable.initial ?? []).entries()) {
    if (value === undefined || (index + 1) * from > bytes.length) return undefined;
    writeElement(view, index * from, from, value, variable.type.startsWith('f'));
  }
  const size = bytesOf[type];
  return Array.from({ length: bytes.length / size }, (_, index) => readElement(view, index * size, type));
}

function writeElement(view: DataView, at: number, size: number, value: bigint | number, isFloat: boolean): void {
  if (isFloat || typeof value === 'number') {
    if (size === 8) view.setFloat64(at, Number(value), true);
    else if (size === 4) view.setFloat32(at, Number(value), true);
    return;
  }
  const bits = BigInt.asUintN(8 * size, value);
  for (let i = 0; i < size; i++) view.setUint8(at + i, Number((bits >> BigInt(8 * i)) & 255n));
}

function readElement(view: DataView, at: number, type: ScalarType): number {
  switch (type) {
    case 'f32':
      return view.getFloat32(at, true);
    case 'f64':
      return view.getFloat64(at, true);
    case 'i64':
    case 'u64':
      return Number(view.getBigInt64(at, true));
    case 'u32':
      return view.getUint32(at, true);
    case 'i32':
      return view.getInt32(at, true);
    case 'i16':
      return view.getInt16(at, true);
    case 'i8':
      return view.getInt8(at);
    default:
      return bytesOf[type] === 2 ? view.getUint16(at, true) : view.getUint8(at);
  }
}

/** Type of a scalar variable, undefined for arrays. */
export function scalarType(variable: PtxVariable): ScalarType | undefined {
  return variable.dimensions.length === 0 ? irType(variable.type) : undefined;
}
