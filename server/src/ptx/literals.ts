/** Number literals of PTX. */

const view = new DataView(new ArrayBuffer(8));

/** An integer (bigint) or floating-point (number) literal; undefined when it is none. */
export function literal(word: string): bigint | number | undefined {
  const c = word.charCodeAt(0);
  if (!(c >= 48 && c <= 57)) return undefined;
  if (word.length === 10 && (word.startsWith('0f') || word.startsWith('0F'))) {
    view.setUint32(0, Number.parseInt(word.slice(2), 16) >>> 0);
    return view.getFloat32(0);
  }
  if (word.length === 18 && (word.startsWith('0d') || word.startsWith('0D'))) {
    view.setUint32(0, Number.parseInt(word.slice(2, 10), 16) >>> 0);
    view.setUint32(4, Number.parseInt(word.slice(10), 16) >>> 0);
    return view.getFloat64(0);
  }
  if (/^(\d+|0[xX][\da-fA-F]+|0[bB][01]+)U?$/.test(word)) {
    const digits = word.endsWith('U') ? word.slice(0, -1) : word;
    const isOctal = digits.length > 1 && /^0[0-7]+$/.test(digits);
    return BigInt(isOctal ? `0o${digits.slice(1)}` : digits);
  }
  const value = Number(word);
  return Number.isNaN(value) ? undefined : value;
}
