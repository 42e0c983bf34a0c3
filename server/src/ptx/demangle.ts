/**
 * Names of functions as the source writes them, from their mangled ones (Itanium C++ ABI, chapter 5.1): namespaces, template
 * arguments and parameter types, as far as kernels have them. Expressions (decltype, sizeof…) are not read.
 */

import { builtinTypes, operators, standardNames } from './demangle-tables';

export interface DemangledFunction {
  /** `void app::reduce<float, 256>(float const*, int)` */
  readonly full: string;
  /** `reduce` */
  readonly name: string;
  /** `app::reduce`, without template arguments */
  readonly qualified: string;
  /** `['float', '256']`; numbers without a type, `true`, names of types */
  readonly templateArguments: readonly string[];
  readonly parameters: readonly string[];
}

/** Undefined for names that are not mangled or use what is not read. */
export function demangle(symbol: string): DemangledFunction | undefined {
  if (!symbol.startsWith('_Z')) return undefined;
  try {
    return new Demangler(symbol.slice(2)).function();
  } catch (error) {
    if (error instanceof NotRead) return undefined;
    throw error;
  }
}

class NotRead extends Error {}

/** A template argument, or the elements of a pack. */
type Argument = string | readonly string[];

/** A name with the template arguments behind its last part. */
interface Name {
  readonly text: string;
  /** Without template arguments of the last part. */
  readonly plain: string;
  readonly last: string;
  readonly arguments?: readonly string[];
}

const MOST_DEPTH = 200;

class Demangler {
  private at = 0;
  private depth = 0;
  private readonly substitutions: string[] = [];
  private templateArguments: readonly Argument[] = [];
  /** The element of the packs that is being written out. */
  private packIndex = -1;
  private packLength = 0;

  constructor(private readonly text: string) {}

  function(): DemangledFunction {
    const name = this.name();
    const parameters: string[] = [];
    let result = '';
    const hasTypes = this.at < this.text.length && this.peek() !== '.' && this.peek() !== 'E';
    if (hasTypes) {
      if (name.arguments !== undefined) result = `${this.type()} `;
      while (this.at < this.text.length && this.peek() !== '.' && this.peek() !== 'E') parameters.push(this.type());
    }
    const listed = parameters.length === 1 && parameters[0] === 'void' ? [] : parameters.filter((p) => p !== '');
    return {
      full: hasTypes ? `${result}${name.text}(${listed.join(', ')})` : name.text,
      name: name.last,
      qualified: name.plain,
      templateArguments: (name.arguments ?? []).filter((each) => each !== ''),
      parameters: listed,
    };
  }

  private peek(): string {
    return this.text[this.at] ?? '';
  }

  private take(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) throw new NotRead();
  }

  private nested<T>(read: () => T): T {
    if (++this.depth > MOST_DEPTH) throw new NotRead();
    const value = read();
    this.depth--;
    return value;
  }

  private name(): Name {
    if (this.peek() === 'N') return this.nested(() => this.nestedName());
    if (this.peek() === 'Z') return this.nested(() => this.localName());
    let plain: string;
    let last: string;
    if (this.take('St')) {
      last = this.unqualified();
      plain = `std::${last}`;
    } else if (this.peek() === 'S') {
      plain = this.substitution();
      last = plain;
    } else {
      last = this.unqualified();
      plain = last;
    }
    if (this.peek() !== 'I') return { text: plain, plain, last };
    if (!this.substitutions.includes(plain)) this.substitutions.push(plain);
    const found = this.listOfArguments();
    return { text: `${plain}<${joined(found)}>`, plain, last, arguments: found };
  }

  private nestedName(): Name {
    this.expect('N');
    while (this.take('r') || this.take('V') || this.take('K'));
    let text = '';
    let plain = '';
    let last = '';
    let found: readonly string[] | undefined;
    while (!this.take('E')) {
      if (this.peek() === 'I') {
        found = this.listOfArguments();
        text = `${text}<${joined(found)}>`;
      } else {
        let part: string;
        if (this.peek() === 'S' && !this.text.startsWith('St', this.at)) {
          part = this.substitution();
          text = part;
          plain = part;
          last = part;
          found = undefined;
          continue;
        }
        if (this.take('St')) part = 'std';
        else if (this.peek() === 'T') part = this.templateParameter();
        else part = this.unqualified(last);
        plain = text === '' ? part : `${text}::${part}`;
        text = plain;
        last = part;
        found = undefined;
        if (part === 'std') continue;
      }
      if (this.peek() !== 'E') this.substitutions.push(text);
    }
    return { text, plain, last, arguments: found };
  }

  /** An entity within a function: `_ZZ4mainE3box`. */
  private localName(): Name {
    this.expect('Z');
    const outer = new Demangler('');
    Object.assign(outer, { text: this.text, at: this.at, substitutions: this.substitutions, depth: this.depth });
    const around = outer.function();
    this.at = outer.at;
    this.expect('E');
    if (this.take('s')) return { text: `${around.full}::string`, plain: 'string', last: 'string' };
    const inner = this.name();
    this.discriminator();
    return { ...inner, text: `${around.full}::${inner.text}`, plain: `${around.full}::${inner.plain}` };
  }

  private discriminator(): void {
    if (!this.take('_')) return;
    this.take('_');
    while (/\d/.test(this.peek())) this.at++;
    this.take('_');
  }

  private unqualified(around = ''): string {
    this.take('L');
    const c = this.peek();
    if (/\d/.test(c)) return this.tagged(this.sourceName());
    if (c === 'C' && /[CD][0-5I]/.test(this.text.slice(this.at, this.at + 2))) {
      this.at += 2;
      return around;
    }
    if (c === 'D' && /D[0-5]/.test(this.text.slice(this.at, this.at + 2))) {
      this.at += 2;
      return `~${around}`;
    }
    if (this.take('Ut')) return `{unnamed type#${this.ordinal()}}`;
    if (this.take('Ul')) {
      const parameters: string[] = [];
      while (!this.take('E')) parameters.push(this.type());
      const listed = parameters.filter((each) => each !== 'void').join(', ');
      return `{lambda(${listed})#${this.ordinal()}}`;
    }
    if (this.take('cv')) return `operator ${this.type()}`;
    const operator = operators.get(this.text.slice(this.at, this.at + 2));
    if (operator === undefined) throw new NotRead();
    this.at += 2;
    return this.tagged(`operator${operator}`);
  }

  private tagged(name: string): string {
    let result = name;
    while (this.take('B')) result += `[abi:${this.sourceName()}]`;
    return result;
  }

  /** `_` is the first, `0_` the second. */
  private ordinal(): number {
    const digits = this.digits();
    this.expect('_');
    return digits === '' ? 1 : Number(digits) + 2;
  }

  private digits(): string {
    const start = this.at;
    while (/\d/.test(this.peek())) this.at++;
    return this.text.slice(start, this.at);
  }

  private sourceName(): string {
    const length = Number(this.digits());
    if (!(length > 0) || this.at + length > this.text.length) throw new NotRead();
    const name = this.text.slice(this.at, this.at + length);
    this.at += length;
    return name.startsWith('_GLOBAL__N') || name.startsWith('_INTERNAL') ? '(anonymous namespace)' : name;
  }

  private substitution(): string {
    this.expect('S');
    const standard = standardNames.get(this.peek());
    if (standard !== undefined) {
      this.at++;
      return standard;
    }
    const found = this.substitutions[this.sequence()];
    if (found === undefined) throw new NotRead();
    return found;
  }

  /** A number of base 36: `_` 0, `0_` 1, `1_` 2. */
  private sequence(): number {
    const start = this.at;
    while (/[0-9A-Z]/.test(this.peek())) this.at++;
    const digits = this.text.slice(start, this.at);
    this.expect('_');
    return digits === '' ? 0 : Number.parseInt(digits, 36) + 1;
  }

  private templateParameter(): string {
    this.expect('T');
    const found = this.templateArguments[this.sequence()];
    if (found === undefined) throw new NotRead();
    if (typeof found === 'string') return found;
    this.packLength = found.length;
    return this.packIndex < 0 ? found.join(', ') : (found[this.packIndex] ?? '');
  }

  private listOfArguments(): string[] {
    this.expect('I');
    const found: Argument[] = [];
    while (!this.take('E')) found.push(this.nested(() => this.argument()));
    this.templateArguments = found;
    return found.flat();
  }

  private argument(): Argument {
    if (this.take('J')) {
      const pack: string[] = [];
      while (!this.take('E')) pack.push(...[this.nested(() => this.argument())].flat());
      return pack;
    }
    if (this.peek() === 'L') return this.literal();
    if (!this.take('X')) return this.type();
    if (this.peek() !== 'T') throw new NotRead();
    const parameter = this.templateParameter();
    this.expect('E');
    return parameter;
  }

  /** Dp: the pattern once for every element of the pack in it. */
  private expansion(): string {
    const start = this.at;
    const before = this.substitutions.length;
    this.packLength = 0;
    this.packIndex = 0;
    const parts = [this.type()];
    const end = this.at;
    const length = this.packLength;
    for (this.packIndex = 1; this.packIndex < length; this.packIndex++) {
      this.at = start;
      const known = this.substitutions.length;
      parts.push(this.type());
      this.substitutions.length = known;
    }
    this.at = end;
    this.packIndex = -1;
    if (this.substitutions.length === before) this.substitutions.push(parts.join(', '));
    return length === 0 ? '' : parts.join(', ');
  }

  /** `Li32E`, `Lb1E`, `L_Z4gateE` */
  private literal(): string {
    this.expect('L');
    if (this.take('_Z')) {
      const name = this.name();
      while (!this.take('E')) this.type();
      return name.text;
    }
    const type = this.type();
    const isNegative = this.take('n');
    const start = this.at;
    while (this.peek() !== 'E' && this.at < this.text.length) this.at++;
    const digits = this.text.slice(start, this.at);
    this.expect('E');
    if (type === 'bool') return digits === '0' ? 'false' : 'true';
    return `${isNegative ? '-' : ''}${digits}`;
  }

  private type(): string {
    return this.nested(() => this.typeOfNext());
  }

  private typeOfNext(): string {
    const c = this.peek();
    const builtin = builtinTypes.get(c);
    if (builtin !== undefined) {
      this.at++;
      return builtin;
    }
    switch (c) {
      case 'P':
        return this.compound((inner) => (inner.endsWith(')') ? inner.replace('(', '(*') : `${inner}*`));
      case 'R':
        return this.compound((inner) => (inner.endsWith('&') ? inner : `${inner}&`));
      case 'O':
        return this.compound((inner) => (inner.endsWith('&') ? inner : `${inner}&&`));
      case 'K':
        return this.compound((inner) => `${inner} const`);
      case 'V':
        return this.compound((inner) => `${inner} volatile`);
      case 'r':
        return this.compound((inner) => `${inner} __restrict__`);
      case 'T':
        return this.parameterType();
      case 'A':
        return this.arrayType();
      case 'F':
        return this.functionType();
      case 'D':
        return this.longBuiltin();
      case 'S':
        return this.substitutedType();
      case 'u':
        this.at++;
        return this.remember(this.sourceName());
      default:
        return this.remember(this.name().text);
    }
  }

  private remember(type: string): string {
    this.substitutions.push(type);
    return type;
  }

  private compound(make: (inner: string) => string): string {
    this.at++;
    return this.remember(make(this.type()));
  }

  private parameterType(): string {
    const found = this.remember(this.templateParameter());
    if (this.peek() !== 'I') return found;
    return this.remember(`${found}<${joined(this.listOfArguments())}>`);
  }

  private arrayType(): string {
    this.expect('A');
    const length = this.digits();
    this.expect('_');
    const element = this.type();
    return this.remember(`${element} [${length}]`);
  }

  private functionType(): string {
    this.expect('F');
    this.take('Y');
    const result = this.type();
    const parameters: string[] = [];
    while (!this.take('E')) parameters.push(this.type());
    return this.remember(`${result} (${parameters.filter((each) => each !== 'void').join(', ')})`);
  }

  private longBuiltin(): string {
    const builtin = builtinTypes.get(this.text.slice(this.at, this.at + 2));
    if (builtin !== undefined) {
      this.at += 2;
      return builtin;
    }
    if (this.take('Dp')) return this.expansion();
    throw new NotRead();
  }

  private substitutedType(): string {
    if (this.text.startsWith('St', this.at)) return this.remember(this.name().text);
    const found = this.substitution();
    if (this.peek() !== 'I') return found;
    const before = this.templateArguments;
    const type = `${found}<${joined(this.listOfArguments())}>`;
    this.templateArguments = before;
    return this.remember(type);
  }
}

function joined(found: readonly string[]): string {
  return found.filter((each) => each !== '').join(', ');
}
