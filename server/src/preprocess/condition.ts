/**
 * Evaluates the expression of `#if`. All operators of C, 64-bit integers. Without recursion: two stacks, of values and of
 * operators. A subexpression that has no value (a division by zero) is a problem only if it decides the result.
 */

import type { Lexeme } from './macro';
import { Fixed, type Spellings } from './spellings';
import { TokenKind } from './token';

interface Value {
  readonly bits: bigint;
  readonly unsigned: boolean;
  readonly problem?: string;
}

interface Operator {
  readonly precedence: number;
  readonly operands: 1 | 2 | 3;
  readonly apply: (a: Value, b: Value, c: Value) => Value;
}

/** Value of the expression after macro expansion; a string says why it has none. */
export function evaluateCondition(tokens: readonly Lexeme[], spellings: Spellings): bigint | string {
  const value = new ConditionParser(tokens, spellings).run();
  return value.problem ?? value.bits;
}

const signed = (bits: bigint): Value => ({ bits: BigInt.asIntN(64, bits), unsigned: false });
const truth = (value: boolean): Value => (value ? one : zero);
const failed = (problem: string): Value => ({ bits: 0n, unsigned: false, problem });
const zero = signed(0n);
const one = signed(1n);
const sized = (bits: bigint, unsigned: boolean): Value =>
  unsigned ? { bits: BigInt.asUintN(64, bits), unsigned } : signed(bits);

/** An operator whose operands are brought to one type; its result has that type. */
function arithmetic(compute: (a: bigint, b: bigint) => bigint | undefined) {
  return (a: Value, b: Value): Value => {
    if (a.problem !== undefined) return a;
    if (b.problem !== undefined) return b;
    const unsigned = a.unsigned || b.unsigned;
    const result = compute(sized(a.bits, unsigned).bits, sized(b.bits, unsigned).bits);
    return result === undefined ? failed('it divides by zero') : sized(result, unsigned);
  };
}

function comparison(compare: (a: bigint, b: bigint) => boolean) {
  const compute = arithmetic((a, b) => (compare(a, b) ? 1n : 0n));
  return (a: Value, b: Value): Value => {
    const result = compute(a, b);
    return result.problem === undefined ? truth(result.bits !== 0n) : result;
  };
}

function shift(a: Value, by: Value, left: boolean): Value {
  if (a.problem !== undefined) return a;
  if (by.problem !== undefined) return by;
  const backwards = !by.unsigned && by.bits < 0n;
  const distance = backwards ? -by.bits : by.bits;
  const amount = distance > 64n ? 64n : distance;
  return sized(left !== backwards ? a.bits << amount : a.bits >> amount, a.unsigned);
}

function unary(compute: (a: Value) => Value) {
  return (a: Value): Value => (a.problem === undefined ? compute(a) : a);
}

function binaryOperator(precedence: number, apply: (a: Value, b: Value) => Value): Operator {
  return { precedence, operands: 2, apply };
}

const unaryPrecedence = 20;
const ternaryPrecedence = 2;

const negation: Operator = { precedence: unaryPrecedence, operands: 1, apply: unary((a) => truth(a.bits === 0n)) };
const complement: Operator = {
  precedence: unaryPrecedence,
  operands: 1,
  apply: unary((a) => sized(~a.bits, a.unsigned)),
};
const unaryOperators: ReadonlyMap<string, Operator> = new Map([
  ['!', negation],
  ['not', negation],
  ['~', complement],
  ['compl', complement],
  ['-', { precedence: unaryPrecedence, operands: 1, apply: unary((a) => sized(-a.bits, a.unsigned)) }],
  ['+', { precedence: unaryPrecedence, operands: 1, apply: unary((a) => a) }],
]);

const logicalOr = binaryOperator(3, (a, b) => {
  if (a.problem !== undefined || a.bits !== 0n) return a.problem === undefined ? one : a;
  return b.problem === undefined ? truth(b.bits !== 0n) : b;
});
const logicalAnd = binaryOperator(4, (a, b) => {
  if (a.problem !== undefined || a.bits === 0n) return a.problem === undefined ? zero : a;
  return b.problem === undefined ? truth(b.bits !== 0n) : b;
});
const bitOr = binaryOperator(
  5,
  arithmetic((a, b) => a | b),
);
const bitXor = binaryOperator(
  6,
  arithmetic((a, b) => a ^ b),
);
const bitAnd = binaryOperator(
  7,
  arithmetic((a, b) => a & b),
);
const notEqual = binaryOperator(
  8,
  comparison((a, b) => a !== b),
);

const binaryOperators: ReadonlyMap<string, Operator> = new Map([
  [',', binaryOperator(1, (_, b) => b)],
  ['||', logicalOr],
  ['or', logicalOr],
  ['&&', logicalAnd],
  ['and', logicalAnd],
  ['|', bitOr],
  ['bitor', bitOr],
  ['^', bitXor],
  ['xor', bitXor],
  ['&', bitAnd],
  ['bitand', bitAnd],
  [
    '==',
    binaryOperator(
      8,
      comparison((a, b) => a === b),
    ),
  ],
  ['!=', notEqual],
  ['not_eq', notEqual],
  [
    '<',
    binaryOperator(
      9,
      comparison((a, b) => a < b),
    ),
  ],
  [
    '>',
    binaryOperator(
      9,
      comparison((a, b) => a > b),
    ),
  ],
  [
    '<=',
    binaryOperator(
      9,
      comparison((a, b) => a <= b),
    ),
  ],
  [
    '>=',
    binaryOperator(
      9,
      comparison((a, b) => a >= b),
    ),
  ],
  ['<<', binaryOperator(10, (a, b) => shift(a, b, true))],
  ['>>', binaryOperator(10, (a, b) => shift(a, b, false))],
  [
    '+',
    binaryOperator(
      11,
      arithmetic((a, b) => a + b),
    ),
  ],
  [
    '-',
    binaryOperator(
      11,
      arithmetic((a, b) => a - b),
    ),
  ],
  [
    '*',
    binaryOperator(
      12,
      arithmetic((a, b) => a * b),
    ),
  ],
  [
    '/',
    binaryOperator(
      12,
      arithmetic((a, b) => (b === 0n ? undefined : a / b)),
    ),
  ],
  [
    '%',
    binaryOperator(
      12,
      arithmetic((a, b) => (b === 0n ? undefined : a % b)),
    ),
  ],
]);

/** Brackets: nothing reduces them but what closes them. */
const parenthesis: Operator = { precedence: 0, operands: 1, apply: (a) => a };
const question: Operator = { precedence: 0, operands: 1, apply: (a) => a };
const ternary: Operator = {
  precedence: ternaryPrecedence,
  operands: 3,
  apply: (condition, a, b) => {
    if (condition.problem !== undefined) return condition;
    const chosen = condition.bits !== 0n ? a : b;
    return chosen.problem === undefined ? sized(chosen.bits, a.unsigned || b.unsigned) : chosen;
  },
};

class ConditionParser {
  private readonly values: Value[] = [];
  private readonly operators: Operator[] = [];
  private index = 0;

  constructor(
    private readonly tokens: readonly Lexeme[],
    private readonly spellings: Spellings,
  ) {}

  run(): Value {
    if (this.tokens.length === 0) return failed('it is empty');
    let wantsOperand = true;
    while (this.index < this.tokens.length) {
      const token = this.tokens[this.index++];
      const text = this.spellings.texts[token.spelling];
      const next: boolean | undefined = wantsOperand ? this.operand(token, text) : this.operator(text);
      if (next === undefined) return failed(`"${text.slice(0, 40)}" does not belong there`);
      wantsOperand = next;
    }
    if (wantsOperand) return failed('it ends too early');
    this.reduce(ternaryPrecedence - 1);
    return this.operators.length === 0 ? this.values[0] : failed('a parenthesis or a ? is left open');
  }

  /** Takes a token where an operand begins; says whether one is still wanted, undefined if the token cannot stand here. */
  private operand(token: Lexeme, text: string): boolean | undefined {
    const prefix = unaryOperators.get(text);
    if (prefix !== undefined) this.operators.push(prefix);
    else if (token.spelling === Fixed.leftParenthesis) this.operators.push(parenthesis);
    else if (token.kind === TokenKind.number) return this.value(integerValue(text));
    else if (token.kind === TokenKind.character) return this.value(characterValue(text));
    else if (token.kind === TokenKind.identifier && !binaryOperators.has(text)) {
      this.skipCall();
      return this.value(text === 'true' ? one : zero);
    } else return undefined;
    return true;
  }

  private value(value: Value): false {
    this.values.push(value);
    return false;
  }

  /** A name with parentheses is a macro of a header that was not read, __GNUC_PREREQ(4, 8): its value is 0 too. */
  private skipCall(): void {
    let depth = 0;
    for (let at = this.index; at < this.tokens.length; at++) {
      const { spelling } = this.tokens[at];
      if (spelling === Fixed.leftParenthesis) depth++;
      else if (spelling === Fixed.rightParenthesis) depth--;
      if (depth > 0) continue;
      if (at > this.index) this.index = at + 1;
      return;
    }
  }

  /** Takes a token behind an operand; as `operand`. */
  private operator(text: string): boolean | undefined {
    if (text === ')') return this.close(parenthesis) ? false : undefined;
    if (text === '?') {
      this.reduce(ternaryPrecedence + 1);
      this.operators.push(question);
      return true;
    }
    if (text === ':') {
      if (!this.close(question)) return undefined;
      this.operators.push(ternary);
      return true;
    }
    const operator = binaryOperators.get(text);
    if (operator === undefined) return undefined;
    this.reduce(operator.precedence);
    this.operators.push(operator);
    return true;
  }

  /** Applies all down to the bracket and removes it; false if another bracket or none is there. */
  private close(bracket: Operator): boolean {
    this.reduce(1);
    return this.operators.pop() === bracket;
  }

  /** Applies the operators on the stack that bind at least so tightly. */
  private reduce(precedence: number): void {
    for (let top = this.operators.at(-1); top !== undefined; top = this.operators.at(-1)) {
      if (top.precedence < precedence || top.precedence === 0) return;
      this.operators.pop();
      const [a = zero, b = zero, c = zero] = this.values.splice(this.values.length - top.operands, top.operands);
      this.values.push(top.apply(a, b, c));
    }
  }
}

/** Longest integer literal that is read: 64 binary digits with separators and suffix. */
const longestInteger = 140;

function integerValue(text: string): Value {
  const match = /^(0x[\da-f]+|0b[01]+|\d+)([ulz]*)$/i.exec(text.replaceAll("'", ''));
  if (!match || text.length > longestInteger) return failed(`${text.slice(0, 40)} is no integer`);
  const [, digits, suffix] = match;
  const isOctal = /^0[0-7]+$/.test(digits);
  const bits = BigInt(isOctal ? `0o${digits.slice(1)}` : digits);
  return sized(bits, /u/i.test(suffix) || bits >= 1n << 63n);
}

const escapes: ReadonlyMap<string, number> = new Map(
  Object.entries({ n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11, e: 27 }),
);

/** Value of a character literal; several characters count as one number in base 256, as GCC has it. */
function characterValue(text: string): Value {
  const open = text.indexOf("'");
  const close = text.lastIndexOf("'");
  const content = text.slice(open + 1, close);
  if (content === '' || close <= open) return failed('a character literal is empty or not closed');
  let bits = 0n;
  let count = 0;
  for (const [part] of content.matchAll(/\\x[\da-fA-F]+|\\u[\da-fA-F]{4}|\\[0-7]{1,3}|\\.|./gsu)) {
    bits = BigInt.asUintN(32, (bits << 8n) | BigInt(characterCode(part)));
    if (++count > 16) break;
  }
  // a plain char is signed
  if (count === 1 && open === 0 && bits < 256n) return signed(BigInt.asIntN(8, bits));
  return signed(BigInt.asIntN(32, bits));
}

function characterCode(part: string): number {
  if (part[0] !== '\\') return part.codePointAt(0) ?? 0;
  if (part[1] === 'x' || part[1] === 'u') return Number.parseInt(part.slice(2, 10), 16) || 0;
  if (part[1] >= '0' && part[1] <= '7') return Number.parseInt(part.slice(1), 8);
  return escapes.get(part[1]) ?? part.codePointAt(1) ?? 0;
}
