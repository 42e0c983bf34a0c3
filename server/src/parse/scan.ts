/**
 * Looking ahead without building a tree: where a name with its template arguments ends, whether tokens form a type, whether
 * a statement is a declaration. Scanning steps over bracket groups in one step and remembers where template argument
 * lists end, so that deciding first and parsing afterwards stays linear.
 *
 * A `Cursor` is a token index times four plus the characters of that token already used (`>>` closing two lists).
 */
import { TokenKind } from '../preprocess/token';
import { isKnownClassTemplate, isKnownFunctionTemplate, isKnownType } from './known-names';
import { Name, type NameEntry } from './names';
import type { Parser } from './parser';
import { isDecltype, Word } from './words';

export type Cursor = number;

export function cursorAt(index: number): Cursor {
  return index * 4;
}

export function indexOf(cursor: Cursor): number {
  return cursor >> 2;
}

/** Spelling at a cursor: what is left of a partly used token. */
export function textAt(p: Parser, cursor: Cursor): string {
  const text = p.textAt(cursor >> 2);
  return cursor & 3 ? text.slice(cursor & 3) : text;
}

const bitsOfUnknown = new Map<string, number>();

/** What a name that nobody declared most likely is: by the usual libraries' names, else 0. */
function guessBits(p: Parser, name: string): number {
  let bits = bitsOfUnknown.get(name);
  if (bits === undefined) {
    bits = isKnownType(name) ? Name.type : 0;
    if (isKnownClassTemplate(name)) bits |= Name.type | Name.template;
    if (isKnownFunctionTemplate(name)) bits |= Name.value | Name.template;
    if (bitsOfUnknown.size < 10_000) bitsOfUnknown.set(name, bits);
  }
  return bits === 0 && p.typeEvidence.has(name) ? Name.type : bits;
}

/** Name bits of a name without qualification, from its declaration or from what the usual libraries call so. */
export function bitsOf(p: Parser, name: string, entry: NameEntry | undefined): number {
  return entry ? entry.bits : guessBits(p, name);
}

/** Whether a name is a variable or plain function: neither type nor template. */
export function isValueOnly(bits: number): boolean {
  return (bits & (Name.type | Name.value | Name.template)) === Name.value;
}

// ---- template argument lists ----------------------------------------------------------------------------------------

const maxAngleTokens = 20_000;
const neverInArguments = new Set(['=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>=', '<<<', ';']);

/**
 * Where the template argument list that opens at `open` ends, or -1 if the `<` is a comparison. `sure`: the name before it is
 * known to be a template, so that `&&` and `?` are parts of the arguments.
 */
export function angleEnd(p: Parser, open: number, sure: boolean): Cursor {
  const key = open * 2 + (sure ? 1 : 0);
  const known = p.angleEnds.get(key);
  if (known !== undefined && known >> 2 <= p.limit) return known;
  const end = searchAngleEnd(p, open, sure);
  p.angleEnds.set(key, end);
  return end;
}

interface OpenAngle {
  readonly index: number;
  readonly sure: boolean;
}

function searchAngleEnd(p: Parser, open: number, sure: boolean): Cursor {
  const stack: OpenAngle[] = [{ index: open, sure }];
  const fail = () => {
    for (const angle of stack) p.angleEnds.set(angle.index * 2 + (angle.sure ? 1 : 0), -1);
    return -1;
  };
  /** Closes the innermost list; true if it was the outermost. */
  const close = (cursor: Cursor) => {
    const angle = stack.pop();
    if (angle) p.angleEnds.set(angle.index * 2 + (angle.sure ? 1 : 0), cursor);
    return stack.length === 0;
  };
  const to = Math.min(p.limit, open + maxAngleTokens);
  for (let i = open + 1; i < to; i++) {
    const text = p.text[i];
    switch (text) {
      case '(':
      case '[':
      case '{':
        if (!p.brackets.matched[i]) return fail();
        i = p.brackets.end[i];
        break;
      case ')':
      case ']':
      case '}':
        return fail();
      case '<': {
        const inner = opensAngle(p, i);
        if (inner) stack.push(inner);
        break;
      }
      case '>':
      case '>>':
      case '>>>':
        for (let used = 1; used <= text.length; used++) {
          if (close(used === text.length ? cursorAt(i + 1) : cursorAt(i) + used)) {
            return used === text.length ? cursorAt(i + 1) : cursorAt(i) + used;
          }
        }
        break;
      case '&&':
      case '||':
      case '?':
        if (text === '&&' && endsArgument(p.textAt(i + 1))) break;
        if (text === '?' && callsWithNothing(p, i)) break;
        while (
          stack.length > 0 &&
          !stack[stack.length - 1].sure &&
          !looksLikeType(p, stack[stack.length - 1].index - 1)
        ) {
          const comparison = stack.pop();
          if (comparison) p.angleEnds.set(comparison.index * 2, -1);
        }
        if (stack.length === 0) return -1;
        break;
      default:
        if (neverInArguments.has(text) || p.classes[i] & Word.statement) return fail();
    }
  }
  return fail();
}

/** Whether the next `>` behind `index` stands before `()`, where no operand of a comparison could: `f<n == 3 ? 1 : 2>()`. */
function callsWithNothing(p: Parser, index: number): boolean {
  for (let i = index + 1; i < p.limit; i++) {
    const text = p.text[i];
    if (text === '>') return p.textAt(i + 1) === '(' && p.textAt(i + 2) === ')';
    if (text === '(' || text === '[' || text === '{') i = p.afterGroup(i) - 1;
    else if (text === '<' || neverInArguments.has(text)) return false;
  }
  return false;
}

/** Spelled as types usually are: `CamelCase`. Decides only about undeclared names. */
function looksLikeType(p: Parser, index: number): boolean {
  return /^[A-Z]\w*[a-z]/.test(p.text[index]);
}

/** Whether the token closes template argument lists; `>=` does not. */
export function closesAngles(spelling: string): boolean {
  return spelling === '>' || spelling === '>>' || spelling === '>>>';
}

/** Whether a template argument ends before the token. */
export function endsArgument(spelling: string): boolean {
  return spelling === ',' || spelling === '...' || closesAngles(spelling);
}

/** `p.x < static_cast<int>(n)` compares: the `>` is the cast's. */
const casts = new Set(['static_cast', 'reinterpret_cast', 'const_cast', 'dynamic_cast']);

/** Whether a `<` inside a template argument list opens another one; undefined if it compares. */
function opensAngle(p: Parser, index: number): OpenAngle | undefined {
  const before = index - 1;
  if (casts.has(p.text[before])) return { index, sure: true };
  if (p.text[before] === '__launch_bounds__' || !(p.classes[before] & Word.name)) return undefined;
  const qualifier = p.text[before - 1];
  if (qualifier === 'template') return { index, sure: true };
  const name = p.text[before];
  if (qualifier === '.' || qualifier === '->') return { index, sure: false };
  const bits = qualifier === '::' ? guessBits(p, name) : bitsOf(p, name, p.lookup(name));
  if (isValueOnly(bits)) return undefined;
  return { index, sure: isTemplate(p, before, bits) };
}

/** Whether the name at `at`, a `<` behind it, is a template's for certain. */
function isTemplate(p: Parser, at: number, bits: number): boolean {
  return (bits & (Name.template | Name.type)) !== 0 || isStandard(p, at) || holdsTypeFirst(p, at + 1);
}

/** `name<T, …`: a type alone is no operand of a comparison. */
function holdsTypeFirst(p: Parser, index: number): boolean {
  if (p.textAt(index + 2) !== ',') return false;
  if (p.wordAt(index + 1) & Word.typeWord) return true;
  const entry = p.isName(index + 1) ? p.lookup(p.text[index + 1]) : undefined;
  return entry !== undefined && (entry.bits & (Name.type | Name.value)) === Name.type;
}

/** `std::name`, or a name that ends as the library's type and value aliases do. */
function isStandard(p: Parser, index: number): boolean {
  const name = p.text[index];
  if (name.endsWith('_t') || name.endsWith('_v')) return true;
  return p.text[index - 1] === '::' && (p.text[index - 2] === 'std' || p.text[index - 2] === 'thrust');
}

// ---- names ----------------------------------------------------------------------------------------------------------

export interface ScannedName {
  end: Cursor;
  bits: number;
  /** Whether the name is a single identifier without template arguments. */
  plain: boolean;
}

/** What an undeclared name before `<` is: certainly a template, rather one, only if what follows proves it, hardly ever. */
export type AngleMode = 'sureType' | 'type' | 'expression' | 'member';

/**
 * Steps over `a::b<c>::d` from `index`; end -1 if there is no name. Names of operators and destructors are not
 * stepped over: the scan ends before them. `isMember`: what the name is a member of stands before `index`.
 */
export function scanName(p: Parser, index: number, mode: AngleMode, isMember = false): ScannedName {
  let cursor = cursorAt(index);
  let entry: NameEntry | undefined;
  let bits = 0;
  let qualified = isMember;
  let plain = true;
  if (textAt(p, cursor) === '::') {
    cursor = cursorAt(index + 1);
    entry = { bits: Name.namespace, scope: p.globalScope };
    qualified = true;
    plain = false;
  }
  let end = -1;
  for (;;) {
    let at = indexOf(cursor);
    const forced = p.textAt(at) === 'template';
    if (forced) at++;
    if (!p.isName(at)) break;
    const name = p.text[at];
    entry = qualified ? entry?.scope?.member(name) : p.lookup(name);
    bits = bitsOf(p, name, entry);
    qualified = true;
    cursor = cursorAt(at + 1);
    if (p.textAt(at + 1) === '<') {
      const after = templateListEnd(p, at, bits, forced, mode);
      if (after >= 0) {
        cursor = after;
        plain = false;
      }
    }
    end = cursor;
    if (cursor & 3 || p.textAt(indexOf(cursor)) !== '::') break;
    plain = false;
    cursor += 4;
  }
  return { end, bits, plain };
}

/** End of the template argument list behind the name at `at`, or -1 if there is none there. */
export function templateListEnd(p: Parser, at: number, bits: number, forced: boolean, mode: AngleMode): Cursor {
  if (mode === 'member' && !forced) {
    const end = angleEnd(p, at + 1, false);
    return end >= 0 && textAt(p, end) === '(' ? end : -1;
  }
  if (isValueOnly(bits) && !forced) return -1;
  const sure = forced || mode === 'sureType' || isTemplate(p, at, bits);
  const end = angleEnd(p, at + 1, sure);
  if (end < 0 || sure || mode === 'type') return end;
  return behindTemplate.has(textAt(p, end)) ? end : -1;
}

/** What may stand behind the `>` of an undeclared template in an expression: nothing that begins an operand, but `(`. */
const behindTemplate = new Set([
  ...['(', '::', '{', '<<<', '<<', ')', ',', ';', '>', '>>', '>>>', '}', ']', '...', ''],
  ...['==', '!=', '&&', '||', '?', ':', '<=', '>=', '/', '%', '|', '^', '.', '->'],
]);

// ---- types ----------------------------------------------------------------------------------------------------------

export interface ScannedType {
  /** Behind the type; -1 if the tokens are none. */
  end: Cursor;
  /** false: a name nobody declared, alone or with pointers. */
  sure: boolean;
  /** The type is one undeclared name and nothing else. */
  bareName: boolean;
}

const noType: ScannedType = { end: -1, sure: false, bareName: false };

/** Steps over a type specifier (`unsigned long`, `const a::b<c>`, `struct S`) without declarator. */
export function scanTypeSpecifier(p: Parser, index: number): ScannedType {
  let i = index;
  let sure = false;
  while (p.wordAt(i) & Word.qualifier) {
    sure = true;
    i++;
  }
  if (p.textAt(i) === 'typename' && isDecltype(p.textAt(i + 1))) i++;
  const word = p.wordAt(i);
  const text = p.textAt(i);
  let end: Cursor = -1;
  let bare = false;
  if (word & Word.typeWord) {
    while (p.wordAt(i) & (Word.typeWord | Word.qualifier)) i++;
    end = cursorAt(i);
    sure = true;
  } else if (isDecltype(text)) {
    if (p.textAt(i + 1) !== '(') return noType;
    i = p.afterGroup(i + 1);
    end = cursorAt(i);
    if (p.textAt(i) === '::') {
      const member = scanName(p, i + 1, 'type', true);
      if (member.end >= 0) end = member.end;
    }
    // the type of x, or a member of it that may be a value: `decltype(x)::value`
    sure = end === cursorAt(i) || p.textAt(index) === 'typename';
    bare = !sure;
  } else if (text === 'auto') {
    end = cursorAt(i + 1);
    sure = true;
  } else {
    if (text === 'typename' || word & Word.recordKey) {
      sure = true;
      i++;
    }
    const name = scanName(p, i, 'type');
    if (name.end < 0) return noType;
    // `Concept auto`
    if (!(name.end & 3) && p.textAt(indexOf(name.end)) === 'auto')
      return { end: name.end + 4, sure: true, bareName: false };
    if (!sure && (name.bits & (Name.type | Name.value)) === Name.value) return noType;
    if (!sure && name.bits & Name.namespace && name.plain) return noType;
    bare = !sure && name.bits === 0;
    sure ||= (name.bits & Name.type) !== 0;
    end = name.end;
  }
  while (!(end & 3) && p.wordAt(indexOf(end)) & Word.qualifier) {
    sure = true;
    bare = false;
    end += 4;
  }
  return { end, sure, bareName: bare };
}

/**
 * Steps over a whole type with an abstract declarator: `const T* const&`, `int (*)(float)`, `T[4]`. In template arguments
 * `void(Name)` is rather a function's type than a cast.
 */
export function scanType(p: Parser, index: number, inTemplateArguments = false): ScannedType {
  const specifier = scanTypeSpecifier(p, index);
  if (specifier.end < 0) return noType;
  let { end, bareName } = specifier;
  const { sure } = specifier;
  for (;;) {
    const text = textAt(p, end);
    const at = indexOf(end);
    if (end & 3) break;
    if (text === '*' || text === '&' || text === '&&' || p.wordAt(at) & Word.qualifier) {
      end += 4;
      bareName = false;
    } else if (text === '(' && isAbstractGroup(p, at, sure, inTemplateArguments)) {
      end = cursorAt(p.afterGroup(at));
      bareName = false;
      // auto(T) -> R
      if (textAt(p, end) === '->') return { ...scanType(p, indexOf(end) + 1, inTemplateArguments), sure, bareName };
    } else if (text === '[' && p.brackets.matched[at]) {
      end = cursorAt(p.afterGroup(at));
      bareName = false;
    } else if (p.isName(at) && memberPointerEnd(p, at) > at) {
      end = cursorAt(memberPointerEnd(p, at));
      bareName = false;
    } else break;
  }
  return { end, sure, bareName };
}

/** Behind the `*` of `C::*` or `a::C::*`; `index` if there is none. */
export function memberPointerEnd(p: Parser, index: number): number {
  let i = index;
  while (p.isName(i) && p.textAt(i + 1) === '::') i += 2;
  return i > index && p.textAt(i) === '*' ? i + 1 : index;
}

/** `(*)`, `(&)`, `(C::*)`, `((*)[n])` or a parameter list within an abstract declarator. */
function isAbstractGroup(p: Parser, open: number, sure: boolean, inTemplateArguments: boolean): boolean {
  const inside = p.textAt(open + 1);
  if (inside === '*' || inside === '&' || inside === '&&') return true;
  if (memberPointerEnd(p, open + 1) > open + 1) return true;
  if (!sure) return false;
  // `char((*)[16])`
  if (inside === '(' && /^(?:\*|&&?)$/.test(p.textAt(open + 2)) && p.textAt(open + 3) === ')') return true;
  if (inside === ')') return /^(?:,|>+)$/.test(p.textAt(open + 2));
  return looksLikeParameters(p, open, inTemplateArguments);
}

// ---- parameters or arguments ----------------------------------------------------------------------------------------

/**
 * Whether a parenthesis behind a declared name holds parameters (`void f(int a)`) rather than a variable's arguments
 * (`dim3 grid(n, m)`). `favourParameters`: what to think of undeclared names, which are types rather than values
 * outside functions.
 */
export function looksLikeParameters(p: Parser, open: number, favourParameters: boolean): boolean {
  const outer = p.limit;
  p.limit = Math.min(outer, p.brackets.end[open]);
  const result = firstLooksLikeParameter(p, open + 1, favourParameters);
  p.limit = outer;
  return result;
}

function firstLooksLikeParameter(p: Parser, index: number, favourParameters: boolean): boolean {
  const text = p.textAt(index);
  if (text === '' || text === '...') return true;
  if (text === '[' && p.textAt(index + 1) === '[') return true;
  const word = p.wordAt(index);
  if (word & (Word.specifier | Word.qualifier | Word.recordKey)) return true;
  if (text === 'auto') return true;
  const type = scanTypeSpecifier(p, index);
  if (text === 'typename' && type.end < 0) return true;
  if (type.end < 0) {
    // an undeclared macro before a parameter: `MACRO const float* a`
    return p.isName(index) && (p.wordAt(index + 1) & (Word.qualifier | Word.typeWord)) !== 0;
  }
  let end = type.end;
  let pointers = 0;
  while (!(end & 3) && (/^(?:\*|&&?)$/.test(textAt(p, end)) || p.wordAt(indexOf(end)) & Word.qualifier)) {
    pointers++;
    end += 4;
  }
  const at = indexOf(end);
  const next = textAt(p, end);
  if (next === '{') return false;
  if (next === '(') return (type.sure || favourParameters) && /^(?:\*|&&?)$/.test(p.textAt(at + 1));
  if (next === '' || next === ',' || next === '...' || next === '=' || next === '[') {
    if (next === '=' && !type.sure) return favourParameters && !type.bareName;
    if (next === '[' && p.textAt(at + 1) === ']') return true;
    if (next === '[' && pointers === 0) return false;
    return type.sure || favourParameters;
  }
  if (p.wordAt(at) & (Word.typeWord | Word.specifier)) return true;
  if (!p.isName(at)) return false;
  if (pointers === 0 || type.sure || favourParameters) return true;
  // undeclared `a * b`: a product if b is a value
  return (
    bitsOf(p, p.text[at], p.lookup(p.text[at])) === 0 &&
    /^(?:,|=|\[|)$/.test(p.textAt(at + 1)) &&
    p.textAt(at + 1) !== ''
  );
}

/** Whether an index holds a literal. */
export function isLiteral(p: Parser, index: number): boolean {
  const kind = p.kindAt(index);
  return kind === TokenKind.number || kind === TokenKind.string || kind === TokenKind.character;
}
