/** WebAssembly as bytes: what the programs of the host need of it. */
import { Kind, op } from '../wasm/opcodes';

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
