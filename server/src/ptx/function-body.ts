/** The body of a function: declarations with their scopes, labels and instructions. */

import { literal } from './literals';
import type {
  Opcode,
  Operand,
  PtxFunction,
  PtxInstruction,
  PtxLabel,
  PtxRegister,
  PtxVariable,
  SourceLocation,
} from './module';
import type { Scanner } from './scanner';
import { readVariable } from './variables';

const opcodes = new Map<string, Opcode>();
const MOST_OPCODES = 10_000;

function opcodeOf(text: string): Opcode {
  let opcode = opcodes.get(text);
  if (!opcode) {
    const parts = text.split('.').filter((part) => part !== '');
    opcode = { text, base: parts[0] ?? '', parts };
    if (opcodes.size < MOST_OPCODES) opcodes.set(text, opcode);
  }
  return opcode;
}

type Body = Pick<PtxFunction, 'registers' | 'variables' | 'branchTargets' | 'location' | 'isCut'> & {
  readonly body: readonly (PtxInstruction | PtxLabel)[];
};

/** Names of one `{ … }`: registers by index, variables by the unique name they go under. */
interface Scope {
  readonly registers: Map<string, number>;
  /** `.reg .b32 %r<20>`: type by prefix. */
  readonly prefixes: Map<string, string>;
  readonly symbols: Map<string, string>;
}

export class FunctionParser {
  private readonly registers: PtxRegister[] = [];
  private readonly variables: PtxVariable[] = [];
  private readonly branchTargets = new Map<string, readonly string[]>();
  private readonly body: (PtxInstruction | PtxLabel)[] = [];
  private readonly scopes: Scope[] = [newScope()];
  private readonly locations = new Map<string, SourceLocation>();
  private location: SourceLocation | undefined;
  private firstLocation: SourceLocation | undefined;

  constructor(
    private readonly scanner: Scanner,
    private readonly problem: (message: string) => void,
    /** A number for the path of a file. */
    private readonly fileNamed: (path: string) => number,
  ) {}

  /** From behind the opening brace to behind the closing one. */
  parse(): Body {
    const { scanner } = this;
    while (!scanner.isAtEnd && this.scopes.length > 0) this.statement();
    const { registers, variables, branchTargets, body } = this;
    const isCut = this.scopes.length > 0;
    if (isCut) this.problem('the text ends within a function');
    return { registers, variables, branchTargets, body, location: this.firstLocation, isCut };
  }

  private statement(): void {
    const { scanner } = this;
    const code = scanner.peekCode();
    if (code === 123) {
      scanner.next();
      this.scopes.push(newScope());
    } else if (code === 125) {
      scanner.next();
      this.scopes.pop();
    } else if (code === 46) this.directive(scanner.next());
    else if (code === 59) scanner.next();
    else if (code === 64) this.guarded();
    else this.labelOrInstruction();
  }

  private directive(word: string): void {
    const { scanner } = this;
    switch (word) {
      case '.loc':
        this.loc();
        return;
      case '.reg':
        this.declareRegisters();
        return;
      case '.shared':
      case '.local':
      case '.param':
      case '.const':
      case '.global':
        this.declareVariables(word.slice(1));
        return;
      case '.branchtargets':
      case '.calltargets':
        this.targets();
        return;
      case '.section':
        scanner.next();
        if (scanner.take('{')) scanner.skipBraces();
        return;
      case '.file':
        scanner.restOfLine();
        return;
      default:
        scanner.skipStatement();
    }
  }

  /**
   * LLVM says where code was inlined in a comment only:
   * `.loc 3 547 10  // intrinsics.h:547:10 @[ atomics.hpp:112:10 @[ kernel.cu:40:9 ] ]`.
   */
  private commentedCalls(): SourceLocation | undefined {
    const comment = this.scanner.lineComment();
    if (comment === undefined || !comment.includes(' @[ ')) return undefined;
    let call: SourceLocation | undefined;
    for (const place of comment.split(' @[ ').slice(1).reverse()) {
      const found = /^(.+):(\d+):(\d+)[\s\]]*$/.exec(place);
      if (!found) return undefined;
      const [, path, line, column] = found;
      call = { file: this.fileNamed(path), line: Number(line), column: Number(column), inlinedAt: call };
    }
    return call;
  }

  /** `.loc 2 708 1, function_name $L__info_string0, inlined_at 1 15 9` */
  private loc(): void {
    const { scanner } = this;
    const [file, line, column] = [0, 0, 0].map(() => Number(scanner.next()));
    let inlinedAt = this.commentedCalls();
    while (!scanner.isAtLineEnd() && scanner.take(',')) {
      const word = scanner.next();
      if (word === 'function_name') {
        scanner.next();
        if (scanner.take('+')) scanner.next();
      } else if (word === 'inlined_at') {
        const [f, l, c] = [0, 0, 0].map(() => Number(scanner.next()));
        // The place itself may be inlined: then it was named before with its own chain.
        inlinedAt = this.locations.get(`${f}:${l}:${c}`) ?? { file: f, line: l, column: c };
      }
    }
    if (!Number.isFinite(file + line + column)) {
      scanner.restOfLine();
      return;
    }
    // Line 0 stands for code of several lines: it is charged to the line before (H200: bitonic_sort.cu:43, scan_blocks.cu:20).
    if (line === 0) return;
    this.location = { file, line, column, inlinedAt };
    this.firstLocation ??= this.location;
    this.locations.set(`${file}:${line}:${column}`, this.location);
  }

  private declareRegisters(): void {
    const { scanner } = this;
    const scope = this.scopes[this.scopes.length - 1];
    let type = 'b32';
    while (scanner.peekCode() === 46) {
      const word = scanner.next().slice(1);
      if (word !== 'v2' && word !== 'v4') type = word;
    }
    do {
      const name = scanner.next();
      if (scanner.take('<')) {
        scanner.next();
        scanner.take('>');
        scope.prefixes.set(name, type);
      } else scope.registers.set(name, this.newRegister(name, type));
    } while (scanner.take(','));
    if (!scanner.take(';')) scanner.skipStatement();
  }

  private newRegister(name: string, type: string): number {
    this.registers.push({ name, type });
    return this.registers.length - 1;
  }

  private declareVariables(space: string): void {
    const scope = this.scopes[this.scopes.length - 1];
    for (const variable of readVariable(this.scanner, space, false)) {
      // `param0` of one call is another variable than `param0` of the next.
      const isInner = this.scopes.length > 1;
      const unique = isInner ? `${variable.name}@${this.variables.length}` : variable.name;
      scope.symbols.set(variable.name, unique);
      this.variables.push({ ...variable, name: unique, location: this.location });
    }
    if (!this.scanner.take(';')) this.scanner.skipStatement();
  }

  private targets(): void {
    const names: string[] = [];
    do names.push(this.scanner.next());
    while (this.scanner.take(','));
    this.scanner.take(';');
    const label = this.body[this.body.length - 1];
    if (label?.kind === 'label') this.branchTargets.set(label.name, names);
  }

  private labelOrInstruction(): void {
    const { scanner } = this;
    const start = scanner.position;
    const word = scanner.opcode();
    if (word.endsWith(':')) {
      const name = word.slice(0, -1);
      this.body.push({ kind: 'label', name });
    } else if (scanner.peekCode() === 58) {
      scanner.next();
      this.body.push({ kind: 'label', name: word });
    } else this.instruction(word, start, undefined);
  }

  private guarded(): void {
    const { scanner } = this;
    scanner.next();
    const isNegated = scanner.take('!');
    const operand = this.word(scanner.next());
    const start = scanner.position;
    const opcode = scanner.opcode();
    const guard = operand.kind === 'register' ? { register: operand.register, isNegated } : undefined;
    if (!guard) this.problem('guard is no register');
    this.instruction(opcode, start, guard);
  }

  private instruction(opcode: string, start: number, guard: PtxInstruction['guard']): void {
    const { scanner } = this;
    const operands: Operand[] = [];
    while (scanner.peekCode() !== 59) {
      const operand = this.operand();
      if (!operand) {
        this.problem(`operands of '${opcode.slice(0, 60)}' are not understood`);
        scanner.skipStatement();
        break;
      }
      operands.push(operand);
      if (!scanner.take(',')) break;
    }
    const text = scanner.slice(start, scanner.position);
    if (!scanner.take(';') && operands.length > 0) {
      const before = scanner.position;
      scanner.skipStatement();
      if (scanner.position === before) scanner.next();
    }
    const { location } = this;
    this.body.push({
      kind: 'instruction',
      opcode: opcodeOf(opcode),
      operands,
      guard,
      location,
      text,
      at: start,
      frame: 0,
    });
  }

  private operand(): Operand | undefined {
    const first = this.simple();
    if (!first || !this.scanner.take('|')) return first;
    const second = this.simple();
    return second && { kind: 'pair', first, second };
  }

  private simple(): Operand | undefined {
    const { scanner } = this;
    const token = scanner.next();
    switch (token) {
      case '':
      case ';':
      case '}':
      case ')':
      case ']':
        return undefined;
      case '!': {
        const of = this.simple();
        return of && { kind: 'not', of };
      }
      case '-': {
        const value = literal(scanner.next());
        if (value === undefined) return undefined;
        return typeof value === 'bigint' ? { kind: 'integer', value: -value } : { kind: 'float', value: -value };
      }
      case '[':
        return this.address();
      case '{':
        return { kind: 'vector', elements: this.elements('}') };
      case '(':
        return { kind: 'list', elements: this.elements(')') };
      default:
        return this.withOffset(this.word(token));
    }
  }

  private elements(close: string): Operand[] {
    const { scanner } = this;
    const elements: Operand[] = [];
    while (!scanner.isAtEnd && !scanner.take(close)) {
      const element = this.operand();
      if (!element) break;
      elements.push(element);
      scanner.take(',');
    }
    return elements;
  }

  private address(): Operand | undefined {
    const { scanner } = this;
    const base = this.simple();
    if (!base) return undefined;
    let offset = 0;
    const more: Operand[] = [];
    for (;;) {
      if (scanner.take(']')) break;
      if (scanner.take('+')) offset += this.offset();
      else if (scanner.take(',')) {
        const next = this.operand();
        if (!next) return undefined;
        more.push(next);
      } else return undefined;
    }
    return { kind: 'address', base, offset, more };
  }

  private offset(): number {
    const isNegative = this.scanner.take('-');
    const value = Number(literal(this.scanner.next()) ?? 0);
    return isNegative ? -value : value;
  }

  /** `symbol+8` outside of brackets. */
  private withOffset(operand: Operand): Operand {
    if (operand.kind !== 'symbol' || !this.scanner.take('+')) return operand;
    return { ...operand, offset: this.offset() };
  }

  private word(token: string): Operand {
    if (token === '_') return { kind: 'sink' };
    const value = literal(token);
    if (value !== undefined) {
      return typeof value === 'bigint' ? { kind: 'integer', value } : { kind: 'float', value };
    }
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const scope = this.scopes[i];
      const known = scope.registers.get(token);
      if (known !== undefined) return { kind: 'register', register: known };
      const type = scope.prefixes.size > 0 ? scope.prefixes.get(prefixOf(token)) : undefined;
      if (type !== undefined) {
        const register = this.newRegister(token, type);
        scope.registers.set(token, register);
        return { kind: 'register', register };
      }
      const symbol = scope.symbols.get(token);
      if (symbol !== undefined) return { kind: 'symbol', name: symbol, offset: 0 };
    }
    if (token.startsWith('%') || token === 'WARP_SZ') return { kind: 'special', name: token };
    return { kind: 'symbol', name: token, offset: 0 };
  }
}

function newScope(): Scope {
  return { registers: new Map(), prefixes: new Map(), symbols: new Map() };
}

/** '%rd12' to '%rd'. */
function prefixOf(name: string): string {
  let end = name.length;
  while (end > 0 && name.charCodeAt(end - 1) >= 48 && name.charCodeAt(end - 1) <= 57) end--;
  return name.slice(0, end);
}
