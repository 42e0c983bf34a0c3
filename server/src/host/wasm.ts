/** WebAssembly as bytes: what the programs of the host need of it (https://webassembly.github.io/spec/core/binary/). */

export enum Kind {
  i32 = 0x7f,
  i64 = 0x7e,
  f32 = 0x7d,
  f64 = 0x7c,
}

/** Opcodes by their names in the specification. */
export const op = {
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  return: 0x0f,
  call: 0x10,
  select: 0x1b,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  i32Load: 0x28,
  i64Load: 0x29,
  f32Load: 0x2a,
  f64Load: 0x2b,
  i32Load8S: 0x2c,
  i32Load8U: 0x2d,
  i32Load16S: 0x2e,
  i32Load16U: 0x2f,
  i32Store: 0x36,
  i64Store: 0x37,
  f32Store: 0x38,
  f64Store: 0x39,
  i32Store8: 0x3a,
  i32Store16: 0x3b,
  i32Const: 0x41,
  i64Const: 0x42,
  f32Const: 0x43,
  f64Const: 0x44,
  i32Eqz: 0x45,
  i32Eq: 0x46,
  i32Ne: 0x47,
  i32LtS: 0x48,
  i32LtU: 0x49,
  i32GtS: 0x4a,
  i32GtU: 0x4b,
  i32LeS: 0x4c,
  i32LeU: 0x4d,
  i32GeS: 0x4e,
  i32GeU: 0x4f,
  i64Eqz: 0x50,
  i64Eq: 0x51,
  i64Ne: 0x52,
  i64LtS: 0x53,
  i64LtU: 0x54,
  i64GtS: 0x55,
  i64GtU: 0x56,
  i64LeS: 0x57,
  i64LeU: 0x58,
  i64GeS: 0x59,
  i64GeU: 0x5a,
  f32Eq: 0x5b,
  f32Ne: 0x5c,
  f32Lt: 0x5d,
  f32Gt: 0x5e,
  f32Le: 0x5f,
  f32Ge: 0x60,
  f64Eq: 0x61,
  f64Ne: 0x62,
  f64Lt: 0x63,
  f64Gt: 0x64,
  f64Le: 0x65,
  f64Ge: 0x66,
  i32Clz: 0x67,
  i32Ctz: 0x68,
  i32Popcnt: 0x69,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32Mul: 0x6c,
  i32DivS: 0x6d,
  i32DivU: 0x6e,
  i32RemS: 0x6f,
  i32RemU: 0x70,
  i32And: 0x71,
  i32Or: 0x72,
  i32Xor: 0x73,
  i32Shl: 0x74,
  i32ShrS: 0x75,
  i32ShrU: 0x76,
  i64Clz: 0x79,
  i64Ctz: 0x7a,
  i64Popcnt: 0x7b,
  i64Add: 0x7c,
  i64Sub: 0x7d,
  i64Mul: 0x7e,
  i64DivS: 0x7f,
  i64DivU: 0x80,
  i64RemS: 0x81,
  i64RemU: 0x82,
  i64And: 0x83,
  i64Or: 0x84,
  i64Xor: 0x85,
  i64Shl: 0x86,
  i64ShrS: 0x87,
  i64ShrU: 0x88,
  f32Abs: 0x8b,
  f32Neg: 0x8c,
  f32Ceil: 0x8d,
  f32Floor: 0x8e,
  f32Trunc: 0x8f,
  f32Nearest: 0x90,
  f32Sqrt: 0x91,
  f32Add: 0x92,
  f32Sub: 0x93,
  f32Mul: 0x94,
  f32Div: 0x95,
  f32Min: 0x96,
  f32Max: 0x97,
  f32Copysign: 0x98,
  f64Abs: 0x99,
  f64Neg: 0x9a,
  f64Ceil: 0x9b,
  f64Floor: 0x9c,
  f64Trunc: 0x9d,
  f64Nearest: 0x9e,
  f64Sqrt: 0x9f,
  f64Add: 0xa0,
  f64Sub: 0xa1,
  f64Mul: 0xa2,
  f64Div: 0xa3,
  f64Min: 0xa4,
  f64Max: 0xa5,
  f64Copysign: 0xa6,
  i32WrapI64: 0xa7,
  i64ExtendI32S: 0xac,
  i64ExtendI32U: 0xad,
  f32ConvertI32S: 0xb2,
  f32ConvertI32U: 0xb3,
  f32ConvertI64S: 0xb4,
  f32ConvertI64U: 0xb5,
  f32DemoteF64: 0xb6,
  f64ConvertI32S: 0xb7,
  f64ConvertI32U: 0xb8,
  f64ConvertI64S: 0xb9,
  f64ConvertI64U: 0xba,
  f64PromoteF32: 0xbb,
  i32ReinterpretF32: 0xbc,
  i64ReinterpretF64: 0xbd,
  f32ReinterpretI32: 0xbe,
  f64ReinterpretI64: 0xbf,
  i32Extend8S: 0xc0,
  i32Extend16S: 0xc1,
} as const;

/** The saturating conversions, behind the prefix 0xfc. */
export const truncate = {
  i32F32S: 0,
  i32F32U: 1,
  i32F64S: 2,
  i32F64U: 3,
  i64F32S: 4,
  i64F32U: 5,
  i64F64S: 6,
  i64F64U: 7,
} as const;

const EMPTY = 0x40;
const scratch = new DataView(new ArrayBuffer(8));

/** A growing row of bytes. */
export class Code {
  private bytes = new Uint8Array(1 << 12);
  length = 0;

  byte(value: number): void {
    if (this.length === this.bytes.length) {
      const more = new Uint8Array(2 * this.length);
      more.set(this.bytes);
      this.bytes = more;
    }
    this.bytes[this.length++] = value;
  }

  append(other: Code): void {
    for (let i = 0; i < other.length; i++) this.byte(other.bytes[i]);
  }

  unsigned(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    this.byte(rest);
  }

  signed(value: bigint): void {
    let rest = value;
    for (;;) {
      const low = Number(rest & 127n);
      rest >>= 7n;
      const isLast = (rest === 0n && low < 64) || (rest === -1n && low >= 64);
      this.byte(isLast ? low : low | 128);
      if (isLast) return;
    }
  }

  op(...codes: readonly number[]): void {
    for (const code of codes) this.byte(code);
  }

  local(code: number, index: number): void {
    this.byte(code);
    this.unsigned(index);
  }

  i32(value: number): void {
    this.byte(op.i32Const);
    this.signed(BigInt(value | 0));
  }

  i64(value: bigint): void {
    this.byte(op.i64Const);
    this.signed(BigInt.asIntN(64, value));
  }

  f32(value: number): void {
    this.byte(op.f32Const);
    scratch.setFloat32(0, value, true);
    for (let i = 0; i < 4; i++) this.byte(scratch.getUint8(i));
  }

  f64(value: number): void {
    this.byte(op.f64Const);
    scratch.setFloat64(0, value, true);
    for (let i = 0; i < 8; i++) this.byte(scratch.getUint8(i));
  }

  /** A load or store at the address on the stack plus an offset; nothing is promised of its alignment. */
  memory(code: number, offset: number): void {
    this.byte(code);
    this.byte(0);
    this.unsigned(offset);
  }

  truncate(code: number): void {
    this.byte(0xfc);
    this.unsigned(code);
  }

  call(index: number): void {
    this.byte(op.call);
    this.unsigned(index);
  }

  open(code: number): void {
    this.byte(code);
    this.byte(EMPTY);
  }

  branch(depth: number): void {
    this.byte(op.br);
    this.unsigned(depth);
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length);
  }
}

export interface FunctionType {
  readonly parameters: readonly Kind[];
  readonly results: readonly Kind[];
}

export interface Import extends FunctionType {
  readonly name: string;
}

/** Index of the first variable of the module that is not imported. */
export const FIRST_GLOBAL = 1;

const zeroOf: Readonly<Record<Kind, (code: Code) => void>> = {
  [Kind.i32]: (code) => code.i32(0),
  [Kind.i64]: (code) => code.i64(0n),
  [Kind.f32]: (code) => code.f32(0),
  [Kind.f64]: (code) => code.f64(0),
};

const section = (into: Code, id: number, fill: (code: Code) => void): void => {
  const body = new Code();
  fill(body);
  into.byte(id);
  into.unsigned(body.length);
  into.append(body);
};

const text = (into: Code, value: string): void => {
  into.unsigned(value.length);
  for (let i = 0; i < value.length; i++) into.byte(value.charCodeAt(i));
};

/** A function without parameters and results. */
export interface ModuleFunction {
  /** Kinds of its variables, by index. */
  readonly locals: readonly Kind[];
  readonly code: Code;
}

/**
 * A module over an imported memory `env.memory` and a variable `env.high`; the first function is exported as `run`.
 * @param globals kinds of the module's own variables, which are zero at first; the first has the index `FIRST_GLOBAL`
 */
export function moduleOf(
  imports: readonly Import[],
  functions: readonly ModuleFunction[],
  globals: readonly Kind[],
  pages: number,
): Uint8Array<ArrayBuffer> {
  const out = new Code();
  out.op(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);
  section(out, 1, (code) => {
    code.unsigned(imports.length + 1);
    for (const { parameters, results } of [...imports, { parameters: [], results: [] }]) {
      code.byte(0x60);
      code.unsigned(parameters.length);
      code.op(...parameters);
      code.unsigned(results.length);
      code.op(...results);
    }
  });
  section(out, 2, (code) => {
    code.unsigned(imports.length + 2);
    imports.forEach(({ name }, type) => {
      text(code, 'env');
      text(code, name);
      code.byte(0x00);
      code.unsigned(type);
    });
    text(code, 'env');
    text(code, 'memory');
    code.op(0x02, 0x00);
    code.unsigned(pages);
    text(code, 'env');
    text(code, 'high');
    // a global, i32, that changes
    code.op(0x03, Kind.i32, 0x01);
  });
  section(out, 3, (code) => {
    code.unsigned(functions.length);
    for (let k = 0; k < functions.length; k++) code.unsigned(imports.length);
  });
  section(out, 6, (code) => {
    code.unsigned(globals.length);
    for (const kind of globals) {
      code.op(kind, 0x01);
      zeroOf[kind](code);
      code.byte(op.end);
    }
  });
  section(out, 7, (code) => {
    code.unsigned(1);
    text(code, 'run');
    code.byte(0x00);
    code.unsigned(imports.length);
  });
  section(out, 10, (code) => {
    code.unsigned(functions.length);
    for (const { locals, code: body } of functions) {
      const one = new Code();
      one.unsigned(locals.length);
      for (const kind of locals) {
        one.unsigned(1);
        one.byte(kind);
      }
      one.append(body);
      one.byte(op.end);
      code.unsigned(one.length);
      code.append(one);
    }
  });
  return out.toBytes();
}
