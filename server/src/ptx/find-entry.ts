/** The PTX entry that is a kernel of the source: by its name and, of templates, by its arguments. */

import { headerTypes } from '../parse/header-types';
import { type DemangledFunction, demangle } from './demangle';
import type { PtxFunction, PtxModule } from './module';
import { entriesOf } from './parse';

/**
 * @param name the kernel's own name, without namespaces
 * @param templateArguments as the source tier writes them: numbers, names of types
 * @returns undefined when no entry, or more than one, fits
 */
export function findEntry(
  module: PtxModule,
  name: string,
  templateArguments: readonly string[],
): PtxFunction | undefined {
  const named = entriesNamed(module, name);
  if (named.length <= 1) {
    const [only] = named;
    return only && !contradicts(only.demangled?.templateArguments ?? [], templateArguments) ? only.entry : undefined;
  }
  const wanted = listed(templateArguments).map(normalised);
  const scored = named.map(({ entry, demangled }) => {
    const given = (demangled?.templateArguments ?? []).map(normalised);
    const isEqual = given.length === wanted.length && given.every((each, index) => isSame(each, wanted[index]));
    return { entry, isEqual };
  });
  const equal = scored.filter(({ isEqual }) => isEqual);
  return equal.length === 1 ? equal[0].entry : undefined;
}

interface NamedEntry {
  readonly entry: PtxFunction;
  readonly demangled: DemangledFunction | undefined;
}

const namesOf = new WeakMap<PtxModule, ReadonlyMap<string, readonly NamedEntry[]>>();

/** The entries of a kernel's name, in order: those of a template are its instances. */
export function entriesNamed(module: PtxModule, name: string): readonly NamedEntry[] {
  let names = namesOf.get(module);
  if (!names) namesOf.set(module, (names = namedEntries(module)));
  return names.get(name) ?? [];
}

function namedEntries(module: PtxModule): Map<string, NamedEntry[]> {
  const names = new Map<string, NamedEntry[]>();
  for (const entry of entriesOf(module)) {
    const demangled = demangle(entry.name);
    const name = demangled ? demangled.name : entry.name;
    const known = names.get(name);
    if (known) known.push({ entry, demangled });
    else names.set(name, [{ entry, demangled }]);
  }
  return names;
}

/**
 * Whether two lists of template arguments cannot be of one instance: numbers or built-in types that differ. What is only spelled
 * in another way (names of the user's types, deduced arguments) contradicts nothing.
 */
export function contradicts(given: readonly string[], wanted: readonly string[]): boolean {
  const [a, b] = [given.map(normalised), listed(wanted).map(normalised)];
  return a.some((each, index) => each !== b[index] && plain.test(each) && plain.test(b[index] ?? ''));
}

/**
 * Arguments as an instance's name lists them: those of a pack one by one (the source tier writes a pack as one, an empty one as nothing), and of a
 * template that is an argument (`Op<?>`) its name.
 */
export function listed(templateArguments: readonly string[]): string[] {
  return templateArguments.flatMap((argument) => {
    const parts: string[] = [];
    let depth = 0;
    let part = '';
    for (const character of argument.replace(/<\?>$/, '')) {
      if (/[<([{]/.test(character)) depth++;
      else if (/[>)\]}]/.test(character)) depth--;
      if (character === ',' && depth === 0) {
        parts.push(part);
        part = '';
      } else part += character;
    }
    return [...parts, part].filter((each) => each.trim() !== '');
  });
}

/** Numbers and built-in types, as `normalised` writes them. */
const plain = /^(?:-?\d+|(?:unsigned|signed)?(?:char|short|int|long|longlong)|bool|float|double|__half2?)$/;

const spellings: ReadonlyMap<string, string> = new Map([
  ['true', '1'],
  ['false', '0'],
  ['unsigned', 'unsignedint'],
  ['uchar', 'unsignedchar'],
  ['half', '__half'],
  ['half2', '__half2'],
  ...[...headerTypes].map(([name, type]): [string, string] => [name, type.replaceAll(' ', '')]),
]);

function normalised(argument: string): string {
  const bare = argument.replace(/^\(\w[\w ]*\)|\bconst\b|\s+/g, '').replace(/(?<=\b\d+)u?l*\b/gi, '');
  return bare.replace(/[A-Za-z_]\w*/g, (word) => spellings.get(word) ?? word);
}

/** Equal, or equal but for namespaces. */
function isSame(a: string, b: string): boolean {
  return a === b || a.replace(/\w+::/g, '') === b.replace(/\w+::/g, '');
}
