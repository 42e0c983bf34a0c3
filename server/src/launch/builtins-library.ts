/** C and C++ library functions outside of mathematics: command line, text, process. */

import type { BuiltinTypeName } from '../parse/ast';
import type { Builtin } from './builtins';
import { forgetBehind } from './call';
import { exitFunctions } from './exits';
import { optionBuiltins } from './options';
import { bindArguments } from './resolve-type';
import { unknownOf } from './unknown-of';
import { number, typeOf, unknown, unknownFrom, type Value } from './value';

/** Characters that lie in an array as a text, as far as all of them are known. */
function asText(value: Value | undefined): Value | undefined {
  if (value?.kind !== 'array' && value?.kind !== 'pointer') return value;
  const { element, offset } = value;
  const buffer = value.kind === 'array' ? value.buffer : value.to;
  if (element.kind !== 'arithmetic' || element.name !== 'char' || Number.isNaN(offset)) return value;
  let text = '';
  for (let at = offset; text.length < LONGEST_TEXT; at++) {
    const character = buffer.cells.get(at)?.value;
    const isEnd = character ? character.kind === 'number' && character.value === 0 : buffer.rest === 'zero';
    if (isEnd) return { kind: 'string', value: text };
    if (character?.kind !== 'number') break;
    text += String.fromCharCode(character.value);
  }
  return unknown('text that is not known', { type: typeOf(value) });
}

const LONGEST_TEXT = 4096;

/** atoi and its kin, given a base or none: text that is not known gives a number the variable will name. Where it ends is not followed. */
function parsed(parse: (text: string, base: number) => number, of: BuiltinTypeName): Builtin {
  return ({ state, values }) => {
    const [given, end, base] = values;
    const text = asText(given);
    const type = { kind: 'arithmetic', name: of } as const;
    if (end) forgetBehind(state, end);
    if (text?.kind !== 'string' || (base && base.kind !== 'number'))
      return unknown('it is read from text at run time', { type });
    const value = parse(text.value, base?.kind === 'number' ? base.value : 10);
    return Number.isFinite(value) ? number(value, of) : unknown('text that is no number', { type });
  };
}

/** Of base 0 the text says itself which it is. */
function whole(text: string, base: number): number {
  const isOctal = base === 0 && /^\s*[-+]?0\d/.test(text);
  return Number.parseInt(text, isOctal ? 8 : base);
}

const exits: Builtin = ({ state }) => {
  state.leaving = 'exit';
  return unknown('the program ends');
};

/** strcmp and its kin, which may look at the first characters only, or at none's case. */
function comparison({ isCounted = false, ignoresCase = false }): Builtin {
  return ({ values }) => {
    const [a, b, count] = [asText(values[0]), asText(values[1]), values[2]];
    if (a?.kind !== 'string' || b?.kind !== 'string' || (isCounted && count?.kind !== 'number'))
      return unknownFrom(values, 'text that is not known', { kind: 'arithmetic', name: 'int' });
    const seen = (text: string) => {
      const part = count?.kind === 'number' ? text.slice(0, count.value) : text;
      return ignoresCase ? part.toLowerCase() : part;
    };
    const [x, y] = [seen(a.value), seen(b.value)];
    return number(x === y ? 0 : x < y ? -1 : 1);
  };
}

/** Reads into what it is given the address of. */
const reads: Builtin = ({ state, values }) => {
  for (const value of values) forgetBehind(state, value);
  return unknown('the number of items read', { type: { kind: 'arithmetic', name: 'int' } });
};

const prints: Builtin = () =>
  unknown('the number of characters printed', { type: { kind: 'arithmetic', name: 'int' } });

function always(value: Value): Builtin {
  return () => value;
}

const length: Builtin = ({ values }) => {
  const text = asText(values[0]);
  return text?.kind === 'string'
    ? number(text.value.length, 'unsigned long')
    : unknownFrom(values, 'text that is not known');
};

/** std::declval<T>(): asked for the types of what is made of it. */
const neverMade: Builtin = ({ state, call: { callee }, scope }) => {
  const written = callee.kind === 'name' ? callee.name.parts.at(-1)?.templateArguments : undefined;
  const [given] = bindArguments(state, written ?? [], scope);
  return given?.kind === 'type' ? unknownOf(state, given.type, 'declval', 'uninitialised') : undefined;
};

const named = (names: readonly string[], builtin: Builtin) => names.map((name): [string, Builtin] => [name, builtin]);

export const libraryBuiltins: readonly (readonly [string, Builtin])[] = [
  ...named(['atoi', 'stoi'], parsed(whole, 'int')),
  ...named(['atol', 'strtol', 'stol'], parsed(whole, 'long')),
  ...named(['atoll', 'strtoll', 'stoll'], parsed(whole, 'long long')),
  ...named(['strtoul', 'stoul', 'stoull', 'strtoull'], parsed(whole, 'unsigned long')),
  ...named(
    ['atof', 'strtod', 'stod'],
    parsed((text) => Number.parseFloat(text), 'double'),
  ),
  ...named(
    ['strtof', 'stof'],
    parsed((text) => Number.parseFloat(text), 'float'),
  ),
  ...named(exitFunctions, exits),
  ['strcmp', comparison({})],
  ['strncmp', comparison({ isCounted: true })],
  ['strcasecmp', comparison({ ignoresCase: true })],
  ['strncasecmp', comparison({ isCounted: true, ignoresCase: true })],
  ...named(['scanf', 'fscanf', 'sscanf', 'fread', 'fgets', 'read', 'gettimeofday', 'clock_gettime', 'time'], reads),
  ...named(['printf', 'fprintf', 'puts', 'fputs', 'perror', 'fflush', 'fclose', 'fwrite', 'assert'], prints),
  // The plainest run: no options on the command line, nothing in the environment.
  ...optionBuiltins,
  ...named(
    ['checkCmdLineFlag', 'getCmdLineArgumentString', 'getCmdLineArgumentInt', 'getCmdLineArgumentFloat'],
    always(number(0)),
  ),
  ['getenv', always(number(0, 'long'))],
  ['rand', always(unknown('a random number', { type: { kind: 'arithmetic', name: 'int' } }))],
  ['strlen', length],
  // `"abc"sv` is the text for all that is known of it
  ...named(['operator""sv', 'operator""s'], ({ values: [text] }) => text ?? unknown('a text')),
  ['declval', neverMade],
];
