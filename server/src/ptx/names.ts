/** Names of files and of variables as the source writes them: the part that matters of a mangled name (Itanium C++ ABI). */

/** Whether a path names PTX. */
export const isPtxFile = (path: string): boolean => /\.ptx$/i.test(path);

/**
 * The last source name in a mangled one: `tile` of `_ZZ9transposePfE4tile`, `table` of `_ZN3app5tableE`. Names that are
 * not mangled stay as they are.
 */
export function demangledName(symbol: string): string {
  const bare = symbol.replace(/@\d+$/, '');
  if (!bare.startsWith('_Z')) return bare;
  // The name behind the last `E` of a local entity, else the last of a nested name.
  const local = bare.lastIndexOf('E');
  const tail = bare.startsWith('_ZZ') && local > 0 ? bare.slice(local + 1) : bare.slice(2);
  let name = '';
  for (let at = 0; at < tail.length; ) {
    const digits = /^\d+/.exec(tail.slice(at));
    if (!digits) {
      at++;
      if (name !== '' && tail[at - 1] === 'I') break;
      continue;
    }
    const start = at + digits[0].length;
    const length = Number(digits[0]);
    if (length === 0 || start + length > tail.length) break;
    name = tail.slice(start, start + length);
    at = start + length;
  }
  return name === '' ? bare : name;
}
