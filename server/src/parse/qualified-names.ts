/** Qualified names with their template arguments. */
import type { NamePart, QualifiedName, TypeNode } from './ast';
import { Name, type NameEntry } from './names';
import type { Parser } from './parser';
import { type AngleMode, bitsOf, templateListEnd } from './scan';
import { parseTemplateArguments } from './template-arguments';
import { parseConversionType } from './types';

/** A name and what is known about it. */
export interface ParsedName {
  readonly name: QualifiedName;
  /** Name bits of its last part; 0 if nothing is known about it. */
  readonly bits: number;
  /** Token of the last part. */
  readonly lastPart: number;
  /** The type of a conversion operator. */
  readonly conversion?: TypeNode;
}

/** Whether a name (also `~T`, `operator+`, `::x`) begins at the parser's place. */
export function atQualifiedName(p: Parser): boolean {
  if (p.atName || p.at('operator')) return true;
  if (p.at('::')) return p.isName(p.pos + 1) || p.peek(1) === 'operator' || p.peek(1) === 'template';
  return p.at('~') && p.isName(p.pos + 1);
}

/**
 * Reads a name. `mode` says whether an undeclared name before `<` is rather a template (where a type is wanted) or must
 * prove it. The parser must stand at a name. `isMember`: what it is a member of has been read before.
 */
export function parseQualifiedName(p: Parser, mode: AngleMode, isMember = mode === 'member'): ParsedName {
  const first = p.pos;
  if (p.atName && !nameGoesOn.has(p.peek(1))) return parsePlainName(p, isMember);
  const parts: NamePart[] = [];
  let bits = 0;
  let entry: NameEntry | undefined;
  let qualified = isMember;
  const global = p.eat('::');
  if (global) {
    entry = { bits: Name.namespace, scope: p.globalScope };
    qualified = true;
  }
  let lastPart = p.pos;
  let conversion: ParsedName['conversion'];
  for (;;) {
    const forced = p.eat('template');
    lastPart = p.pos;
    if (p.at('operator')) {
      const operator = parseOperatorName(p);
      conversion = operator.conversion;
      bits = Name.value;
      // operator< <T>(…) names an instance
      const list = p.at('<') && templateListEnd(p, p.pos - 1, Name.template, true, mode) >= 0;
      parts.push(
        list ? { name: operator.name, templateArguments: parseTemplateArguments(p) } : { name: operator.name },
      );
      break;
    }
    if (p.at('~') || p.at('!')) {
      p.next();
      const name = `~${p.tok}`;
      p.next();
      const list = p.at('<') && templateListEnd(p, p.pos - 1, Name.type, true, mode) >= 0;
      parts.push(list ? { name, templateArguments: parseTemplateArguments(p) } : { name });
      bits = Name.value;
      break;
    }
    if (!p.atName) break;
    const name = p.tok;
    entry = qualified ? entry?.scope?.member(name) : p.lookup(name);
    bits = bitsOf(p, name, entry);
    qualified = true;
    p.next();
    if (p.at('<') && templateListEnd(p, p.pos - 1, bits, forced, mode) >= 0) {
      parts.push({ name, templateArguments: parseTemplateArguments(p) });
    } else parts.push({ name });
    if (!p.at('::') || !nameFollows(p)) break;
    p.next();
  }
  return { name: { first, last: Math.max(first, p.last), global, parts }, bits, lastPart, conversion };
}

/** What may make more of an identifier than a plain name. */
const nameGoesOn = new Set(['::', '<']);

function parsePlainName(p: Parser, isMember: boolean): ParsedName {
  const at = p.pos;
  const name: QualifiedName = { first: at, last: at, global: false, parts: p.plainParts(p.tok) };
  const bits = isMember ? 0 : bitsOf(p, p.tok, p.lookup(p.tok));
  p.next();
  return { name, bits, lastPart: at, conversion: undefined };
}

function nameFollows(p: Parser): boolean {
  const next = p.peek(1);
  return p.isName(p.pos + 1) || next === 'operator' || next === '~' || next === 'template';
}

/** `operator+`, `operator()`, `operator new[]`, `operator""_x`, `operator float`. */
function parseOperatorName(p: Parser): { name: string; conversion?: TypeNode } {
  p.next();
  const symbol = p.tok;
  if (symbol === '(' || symbol === '[') {
    p.skipGroup();
    return { name: symbol === '(' ? 'operator()' : 'operator[]' };
  }
  if (symbol === 'new' || symbol === 'delete') {
    p.next();
    const array = p.at('[') && p.peek(1) === ']';
    if (array) p.skipGroup();
    return { name: `operator ${symbol}${array ? '[]' : ''}` };
  }
  if (symbol.startsWith('"')) {
    p.next();
    const suffix = p.atName ? p.tok : '';
    if (suffix) p.next();
    return { name: `operator""${suffix || symbol.slice(2)}` };
  }
  if (/^[-+*/%^&|~!=<>,]/.test(symbol)) {
    p.next();
    return { name: `operator${symbol}` };
  }
  const first = p.pos;
  const conversion = parseConversionType(p);
  return { name: `operator ${p.text.slice(first, p.pos).join(' ')}`, conversion };
}
