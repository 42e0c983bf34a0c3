/** PTX text to a module. Never throws: what it does not understand is named in `problems` and left out. */

import { FunctionParser } from './function-body';
import { literal } from './literals';
import type { Operand, PtxFunction, PtxModule, PtxVariable } from './module';
import { Scanner } from './scanner';
import { readVariable, stateSpaces } from './variables';

/**
 * Parses the PTX of one compilation (what `nvcc -ptx` writes, also with inline assembly, and PTX of other compilers).
 * Source: PTX ISA 9.0, chapters 4 to 6 and 11.
 */
export function parsePtx(text: string): PtxModule {
  return new ModuleParser(text).parse();
}

const MOST_PROBLEMS = 100;

class ModuleParser {
  private readonly scanner: Scanner;
  private readonly files = new Map<number, string>();
  private readonly paths = new Map<string, number>();
  private readonly variables: PtxVariable[] = [];
  private readonly functions: PtxFunction[] = [];
  private readonly problems: { line: number; message: string }[] = [];
  private version = '';
  private target = '';

  constructor(text: string) {
    this.scanner = new Scanner(text);
  }

  parse(): PtxModule {
    while (!this.scanner.isAtEnd) this.directive();
    const { version, target, files, variables, functions, problems } = this;
    return { version, target, files, variables, functions, problems };
  }

  private problem(message: string): void {
    if (this.problems.length < MOST_PROBLEMS) this.problems.push({ line: this.scanner.line(), message });
  }

  private directive(): void {
    const { scanner } = this;
    const linkage = { isExtern: false };
    let word = scanner.next();
    while (
      word === '.visible' ||
      word === '.extern' ||
      word === '.weak' ||
      word === '.common' ||
      word === '.FORCE_INLINE'
    ) {
      if (word === '.extern') linkage.isExtern = true;
      word = scanner.next();
    }
    switch (word) {
      case '.version':
        this.version = scanner.next();
        return;
      case '.target':
        this.target = scanner.next();
        while (scanner.take(',')) scanner.next();
        return;
      case '.address_size':
        scanner.next();
        return;
      case '.file':
        this.file();
        return;
      case '.entry':
      case '.func':
        this.function(word === '.entry');
        return;
      case '.section':
        this.section();
        return;
      case '.loc':
        scanner.restOfLine();
        return;
      case '.pragma':
      case '.alias':
        scanner.skipStatement();
        return;
      case ';':
        return;
    }
    if (stateSpaces.has(word.slice(1))) {
      this.variable(word, linkage.isExtern);
      return;
    }
    this.problem(`'${word.slice(0, 40)}' is not understood`);
    scanner.skipStatement();
    if (scanner.take('{')) scanner.skipBraces();
    else scanner.take('}');
  }

  private file(): void {
    const number = Number(this.scanner.next());
    const name = this.scanner.next();
    if (Number.isInteger(number) && name.startsWith('"')) this.files.set(number, name.slice(1, -1));
    while (this.scanner.take(',')) this.scanner.next();
  }

  /** A number for a file that is named by its path, before or without a `.file`: negative, so that it is nobody else's. */
  private fileNamed(path: string): number {
    let number = this.paths.get(path);
    if (number === undefined) {
      this.paths.set(path, (number = -1 - this.paths.size));
      this.files.set(number, path);
    }
    return number;
  }

  private section(): void {
    this.scanner.next();
    if (this.scanner.take('{')) this.scanner.skipBraces();
  }

  private variable(space: string, isExtern: boolean): void {
    for (const variable of readVariable(this.scanner, space.slice(1), isExtern)) this.variables.push(variable);
    if (!this.scanner.take(';')) {
      this.problem('declaration is not understood');
      this.scanner.skipStatement();
      if (this.scanner.take('{')) this.scanner.skipBraces();
    }
  }

  private function(isEntry: boolean): void {
    const { scanner } = this;
    const returns = scanner.peek() === '(' ? this.parameters() : [];
    const at = scanner.position;
    const name = scanner.next();
    const parameters = scanner.peek() === '(' ? this.parameters() : [];
    const directives = new Map<string, readonly number[]>();
    while (scanner.peek().startsWith('.')) {
      const directive = scanner.next().slice(1);
      directives.set(directive, this.numbers());
      scanner.take(';');
    }
    if (scanner.take(';')) {
      const none = { registers: [], variables: [], branchTargets: new Map(), directives };
      this.functions.push({ name, isEntry, parameters, returns, ...none });
      return;
    }
    if (!scanner.take('{')) {
      this.problem(`function '${name.slice(0, 60)}' has no body`);
      scanner.skipStatement();
      return;
    }
    const body = new FunctionParser(
      scanner,
      (message) => this.problem(message),
      (path) => this.fileNamed(path),
    ).parse();
    this.functions.push({ name, isEntry, parameters, returns, directives, at, ...body });
  }

  private numbers(): number[] {
    const numbers: number[] = [];
    const take = () => {
      if (!/^\d/.test(this.scanner.peek())) return false;
      numbers.push(Number(literal(this.scanner.next()) ?? 0));
      return true;
    };
    if (take()) while (this.scanner.take(',')) take();
    else if (this.scanner.peekCode() === 34) this.scanner.next();
    return numbers;
  }

  private parameters(): PtxVariable[] {
    const { scanner } = this;
    const parameters: PtxVariable[] = [];
    scanner.take('(');
    while (!scanner.isAtEnd && !scanner.take(')')) {
      const space = scanner.next();
      if (space === '.param' || space === '.reg')
        parameters.push(...readVariable(scanner, space.slice(1), false, true));
      else if (space !== ',') this.problem(`parameter '${space.slice(0, 40)}' is not understood`);
    }
    return parameters;
  }
}

/** Kernels that a module defines, in order. */
export function entriesOf(module: PtxModule): readonly PtxFunction[] {
  return module.functions.filter((f) => f.isEntry && f.body !== undefined);
}

/** The register an operand names, -1 for none. */
export function registerOf(operand: Operand | undefined): number {
  return operand?.kind === 'register' ? operand.register : -1;
}
