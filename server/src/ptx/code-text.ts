/**
 * What a compiler made of kernels, as a text: equal texts, equal programs at equal places. Says nothing of what changes when other code
 * of the file does: numbers of labels and files, lines as such, names that the compiler makes from the whole text.
 */
import type { MachineCode } from '../cubin/machine-access';
import type { Operand, PtxFunction, PtxInstruction, PtxModule, PtxVariable, SourceLocation } from './module';

export interface CodeTextOptions {
  /** A line of a file, in words that move with the code. */
  readonly place: (file: string, line: number) => string;
  /** What the assembler made of the module, and the module's text, whose lines it names. */
  readonly machine?: { readonly code: MachineCode; readonly text: string };
}

/** The text of entries of a module and of all that they reach in it. */
export function codeText(module: PtxModule, entries: readonly PtxFunction[], options: CodeTextOptions): string {
  const writer = new CodeWriter(module, options);
  for (const entry of entries) writer.entry(entry);
  return writer.text();
}

/** `_GLOBAL__N__5db1e46c_4_t_cu`: nvcc tells files apart by a number made from their text. */
const madeFromText = /(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}_/g;

class CodeWriter {
  private readonly lines: string[] = [];
  private readonly functions: ReadonlyMap<string, PtxFunction>;
  private readonly variables: ReadonlyMap<string, PtxVariable>;
  private readonly places = new Map<SourceLocation, string>();
  /** Functions and variables that were come to, in that order. */
  private readonly reached = new Set<string>();

  constructor(
    private readonly module: PtxModule,
    private readonly options: CodeTextOptions,
  ) {
    this.functions = new Map(module.functions.filter((f) => f.body !== undefined).map((f) => [f.name, f]));
    this.variables = new Map(module.variables.map((v) => [v.name, v]));
  }

  text(): string {
    // what is reached reaches more
    for (const name of this.reached) {
      const variable = this.variables.get(name);
      const callee = this.functions.get(name);
      if (variable) this.variable(variable);
      if (callee) this.function(callee);
    }
    const { version, target } = this.module;
    return [version, target, ...this.lines].join('\n').replace(madeFromText, '$1');
  }

  entry(entry: PtxFunction): void {
    this.function(entry);
    const { machine } = this.options;
    if (!machine || entry.at === undefined) return;
    const first = lineOf(machine.text, entry.at);
    for (const { ptxLine, operation, space, bytes, isPredicated, lines } of machine.code.get(entry.name) ?? []) {
      const places = lines.map(({ file, line }) => this.options.place(file, line)).join(' < ');
      this.lines.push(`${ptxLine - first} ${operation} ${space} ${bytes} ${isPredicated} ${places}`);
    }
  }

  private function(each: PtxFunction): void {
    const { name, parameters, returns, registers, variables, branchTargets, body = [], directives, location } = each;
    const isCut = each.isCut ? 'cut' : '';
    this.lines.push(`${name} ${this.place(location)} ${isCut} ${JSON.stringify([...directives])}`);
    for (const variable of [...parameters, ...returns, ...variables]) this.variable(variable);
    this.lines.push(registers.map(({ name, type }) => `${name} ${type}`).join());
    const labels = new Map<string, number>();
    for (const item of body) if (item.kind === 'label') labels.set(item.name, labels.size);
    for (const [list, targets] of branchTargets)
      this.lines.push(`${labels.get(list)}: ${targets.map((target) => labels.get(target) ?? target).join()}`);
    let at: SourceLocation | undefined;
    for (const item of body) {
      if (item.kind === 'label') {
        this.lines.push(`:${labels.get(item.name)}`);
        continue;
      }
      if (item.location !== at) this.lines.push(this.place((at = item.location)));
      this.instruction(item, labels);
    }
  }

  private instruction({ opcode, operands, guard, text }: PtxInstruction, labels: ReadonlyMap<string, number>): void {
    if (guard) this.lines.push(`${guard.isNegated ? '@!' : '@'}${guard.register}`);
    let jumps = '';
    for (const operand of operands) {
      for (const name of symbolsOf(operand)) {
        const label = labels.get(name);
        if (label !== undefined) jumps += ` ${label}`;
        else if (this.functions.has(name) || this.variables.has(name)) this.reached.add(name);
      }
    }
    this.lines.push(jumps === '' ? text : `${opcode.text}${registersOf(operands)}${jumps}`);
  }

  private variable(variable: PtxVariable): void {
    const { initial, location, name, space, type, alignment, bytes, isExtern, dimensions, isPointer } = variable;
    this.lines.push([name, space, type, alignment, bytes, isExtern, dimensions, isPointer, initial].join());
    this.lines.push(this.place(location));
  }

  private place(location: SourceLocation | undefined): string {
    if (!location) return '';
    let place = this.places.get(location);
    if (place === undefined) {
      const { file, line, column, inlinedAt } = location;
      const own = `${this.options.place(this.module.files.get(file) ?? '', line)}:${column}`;
      place = inlinedAt ? `${own} < ${this.place(inlinedAt)}` : own;
      this.places.set(location, place);
    }
    return place;
  }
}

/** Names of what is no register. */
function symbolsOf(operand: Operand): readonly string[] {
  switch (operand.kind) {
    case 'symbol':
      return [operand.name];
    case 'address':
      return operand.base.kind === 'symbol' ? [operand.base.name] : none;
    case 'vector':
    case 'list':
      return operand.elements.flatMap(symbolsOf);
    default:
      return none;
  }
}

const none: readonly string[] = [];

/** Of a branch: the index into its targets. */
function registersOf(operands: readonly Operand[]): string {
  return operands.map((operand) => (operand.kind === 'register' ? ` %${operand.register}` : '')).join('');
}

/** Line (from 1) of an offset. */
function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
