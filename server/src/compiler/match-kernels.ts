/** Which of the compiled kernels a kernel of the source is: by its name and its template arguments. */
import { demangle } from '../ptx/demangle';
import { contradicts, listed } from '../ptx/find-entry';

/** Spelled as the lowering spells a template argument: numbers plainly, truth values as numbers, no namespaces. */
export function comparableArgument(argument: string): string {
  const plain = argument
    .replace(/\b\w+::/g, '')
    // the source tier does not say what a pointer's data is const for
    .replace(/\bconst\b/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ ?([*&]) ?/g, '$1')
    .trim();
  if (plain === 'true') return '1';
  if (plain === 'false') return '0';
  return plain.replace(/^\(\w[\w ]*\)/, '').replace(/^(-?\d+)[uUlL]+$/, '$1');
}

/**
 * The compiled kernel of this name with these template arguments (as `argumentKey` spells them). A kernel that was
 * compiled once is it even when the arguments are spelled in another way; undefined when several might be meant.
 */
export function matchKernel<K extends { readonly mangled: string }>(
  compiled: readonly K[],
  name: string,
  templateArguments: readonly string[],
): K | undefined {
  const named = compiled.filter(({ mangled }) => (demangle(mangled)?.name ?? mangled) === name);
  if (named.length <= 1) {
    const [only] = named;
    return only && !contradicts(demangle(only.mangled)?.templateArguments ?? [], templateArguments) ? only : undefined;
  }
  const wanted = listed(templateArguments).map(comparableArgument).join(';');
  const equal = named.filter(({ mangled }) => {
    const its = demangle(mangled)?.templateArguments ?? [];
    return its.map(comparableArgument).join(';') === wanted;
  });
  return equal.length === 1 ? equal[0] : undefined;
}
