/** `getopt` and its kin: the variables that they leave what they have found in, and what they change. */
import type { Declaration, TranslationUnit } from '../parse/ast';
import { parse } from '../parse/parse';
import { preprocess } from '../preprocess/preprocess';
import type { TokenStream } from '../preprocess/token';
import type { Builtin } from './builtins';
import { forgetBehind } from './call';
import { lookup } from './lookup';
import { forget, store } from './memory';
import type { HostState } from './state';
import { number, unknown, type Value } from './value';

const readers: readonly string[] = ['getopt', 'getopt_long', 'getopt_long_only'];

const text = `
char* optarg; int optind = 1; int opterr = 1; int optopt;
const int no_argument = 0; const int required_argument = 1; const int optional_argument = 2;
struct option { const char* name; int has_arg; int* flag; int val; };
`;

/** What a header that is not read declares beside the functions; nothing where no unit names one of them. */
export function optionVariables(units: readonly { readonly tokens: TokenStream }[]): readonly Declaration[] {
  return units.some(({ tokens }) => asksForOptions(tokens)) ? variables().declarations : [];
}

/** Launches of a unit are looked for many times, once a sample of sizes. */
const asking = new WeakMap<TokenStream, boolean>();

function asksForOptions(tokens: TokenStream): boolean {
  let known = asking.get(tokens);
  if (known === undefined) asking.set(tokens, (known = readers.some((name) => tokens.text.includes(name))));
  return known;
}

/** Made anew each time: what is found of a declaration is kept by it. */
function variables(): TranslationUnit {
  const { tokens, pragmas } = preprocess({ path: 'options', text, defines: new Map(), include: () => undefined });
  return parse(tokens, pragmas);
}

/** The plainest run has no options. Where the program holds a command line of its own, the run of its main reads it (host/run-main.ts). */
const option: Builtin = ({ state, values }) => {
  const [count, words, , longs, at] = values;
  if (count?.kind !== 'number' || count.value <= 1) {
    if (count) setVariable(state, 'optind', number(1));
    return number(-1);
  }
  for (const name of ['optarg', 'optind', 'optopt']) setVariable(state, name, undefined);
  for (const value of [words, at]) if (value) forgetBehind(state, value);
  if (longs) forgetFlags(state, longs);
  return unknown('an option that the program holds', { type: { kind: 'arithmetic', name: 'int' } });
};

function setVariable(state: HostState, name: string, value: Value | undefined): void {
  const found = lookup(state, name, state.index.root);
  if (found?.kind !== 'cell') return;
  if (value) store(state, found.cell, value);
  else forget(state, found.cell, `${name} is set by an option that the program holds`);
}

/** `{"fast", no_argument, &isFast, 1}`: such an option is set where its flag leads. */
function forgetFlags(state: HostState, longs: Value): void {
  const buffer = longs.kind === 'array' ? longs.buffer : longs.kind === 'pointer' ? longs.to : undefined;
  for (const { value } of buffer?.cells.values() ?? []) {
    const flag = value.kind === 'struct' ? value.fields.get('flag') : undefined;
    if (flag) forgetBehind(state, flag.value);
  }
}

export const optionBuiltins: readonly (readonly [string, Builtin])[] = readers.map((name) => [name, option]);
