/**
 * What a kernel's result depends on, as a key: the text of every declaration it can reach by name. Between two key presses
 * most kernels keep their key, so that their result is reused; only positions are shifted.
 */
import type { Declaration, FunctionDeclaration, TranslationUnit } from '../parse/ast';
import { Packing } from '../parse/packing';
import type { Pragma, TokenStream } from '../preprocess/token';

interface Piece {
  readonly first: number;
  readonly last: number;
  readonly names: readonly string[];
  /** runs on the host only: no kernel depends on it */
  readonly isHostOnly: boolean;
  /** last token of what host code may depend on: a device function's head, the whole of anything else */
  readonly hostLast: number;
  /** what a launch may hand to a template: its text is not the kernel's */
  readonly role: 'type' | 'function' | 'lambda' | 'other';
}

/** Stretches of tokens that a result refers to, in order; equal keys mean equal texts, so positions shift piecewise. */
export interface Fingerprint {
  readonly key: string;
  readonly pieces: readonly { readonly first: number; readonly last: number }[];
}

export class Fingerprints {
  private readonly pieces: Piece[] = [];
  private readonly byName = new Map<string, number[]>();
  private readonly hashes = new Map<number, string>();
  private readonly mentions = new Map<number, readonly string[]>();
  private named: readonly number[] | undefined;
  private host: Fingerprint | undefined;
  private readonly packing: Packing;

  constructor(
    unit: TranslationUnit,
    private readonly tokens: TokenStream,
    private readonly pragmas: readonly Pragma[] = [],
  ) {
    this.packing = new Packing(pragmas);
    this.collect(unit.declarations, 0);
    for (const { first, last } of this.pieces.filter((p) => p.isHostOnly)) this.collectLambdas(first, last);
  }

  private collect(declarations: readonly Declaration[], depth: number): void {
    for (const declaration of declarations) {
      if (declaration.kind === 'namespace' && depth < 50) this.collect(declaration.members, depth + 1);
      else this.add(declaration);
    }
  }

  private add(declaration: Declaration): void {
    const names = namesOf(declaration);
    const index = this.pieces.length;
    this.pieces.push({
      first: declaration.first,
      last: declaration.last,
      names,
      isHostOnly: declaration.kind === 'function' && isHostOnly(declaration),
      hostLast: hostEnd(declaration),
      role: roleOf(declaration),
    });
    for (const name of names) {
      const list = this.byName.get(name);
      if (list) list.push(index);
      else this.byName.set(name, [index]);
    }
  }

  /** Lambdas for the device in a function of the host: `[…] __device__ (…) { … }` */
  private collectLambdas(first: number, last: number): void {
    const { text } = this.tokens;
    for (let t = first + 1; t <= last; t++) {
      if (text[t - 1] !== ']' || !/^__(device|host)__$/.test(text[t])) continue;
      const end = endOfBraces(text, t, last);
      this.pieces.push({ first: t - 1, last: end, names: [], isHostOnly: false, hostLast: end, role: 'lambda' });
    }
  }

  /** Types, lambdas and functions without arguments that functions of the host mention: a template's launch may be for them. */
  private namedByHost(): readonly number[] {
    if (this.named) return this.named;
    const found = new Set<number>();
    for (const { isHostOnly, first, last } of this.pieces) {
      if (!isHostOnly) continue;
      for (let t = first; t <= last; t++) {
        if (this.tokens.kind[t] !== 1) continue;
        for (const index of this.byName.get(this.tokens.text[t]) ?? []) {
          const { role } = this.pieces[index];
          if (role === 'type' || (role === 'function' && this.tokens.text[t + 1] !== '(')) found.add(index);
        }
      }
    }
    this.pieces.forEach(({ role }, index) => {
      if (role === 'lambda') found.add(index);
    });
    this.named = [...found];
    return this.named;
  }

  /** Fingerprint of a kernel definition. */
  of(kernel: FunctionDeclaration): Fingerprint {
    const start = this.pieces.findIndex((p) => p.first === kernel.first && p.last === kernel.last);
    if (start < 0) return { key: this.hash({ first: kernel.first, last: kernel.last }), pieces: [kernel] };
    const queue = [start, ...(kernel.templateParameters ? this.namedByHost() : [])];
    const reached = new Set<number>(queue);
    while (queue.length > 0) {
      const index = queue.pop() as number;
      for (const name of this.mentionsOf(index)) {
        for (const target of this.byName.get(name) ?? []) {
          if (reached.has(target) || (this.pieces[target].isHostOnly && target !== start)) continue;
          reached.add(target);
          queue.push(target);
        }
      }
    }
    const order = [...reached].sort((a, b) => a - b);
    // specialisations and overloads reach one another: which of them it is of
    const key = `${order.map((i) => this.hashOf(i)).join('|')}@${order.indexOf(start)}`;
    return { key, pieces: order.map((i) => this.pieces[i]) };
  }

  /** Fingerprint of everything that launches are evaluated from: all but the bodies of device functions. */
  ofHost(): Fingerprint {
    this.host ??= this.hashHost();
    return this.host;
  }

  private hashHost(): Fingerprint {
    const own = this.pieces.filter(({ role }) => role !== 'lambda');
    const pieces = own.map(({ first, hostLast }) => ({ first, last: hostLast }));
    return { key: pieces.map((p) => this.hash(p)).join('|'), pieces };
  }

  private mentionsOf(index: number): readonly string[] {
    const known = this.mentions.get(index);
    if (known) return known;
    const { first, last } = this.pieces[index];
    const names = new Set<string>();
    for (let t = first; t <= last; t++) if (this.tokens.kind[t] === 1) names.add(this.tokens.text[t]);
    const list = [...names];
    this.mentions.set(index, list);
    return list;
  }

  private hashOf(index: number): string {
    let hash = this.hashes.get(index);
    if (hash === undefined) this.hashes.set(index, (hash = this.hash(this.pieces[index])));
    return hash;
  }

  /** Two independent 32-bit FNV-1a hashes over the tokens' texts. */
  private hash({ first, last }: { first: number; last: number }): string {
    let a = 0x811c9dc5;
    let b = 0x1234567;
    for (let t = first; t <= last; t++) {
      const text = this.tokens.text[t];
      for (let i = 0; i < text.length; i++) {
        const c = text.charCodeAt(i);
        a = Math.imul(a ^ c, 0x01000193);
        b = Math.imul(b ^ c, 0x85ebca6b) + 0x9e3779b9;
      }
      a = Math.imul(a ^ 0x1f, 0x01000193);
      b = Math.imul(b ^ (this.tokens.flags[t] & 4), 0x01000193);
    }
    // Unrolling and packing are asked for by pragmas, which are no tokens.
    const largest = this.packing.at(first);
    let asked = largest === undefined ? '' : `.pack ${largest}`;
    for (const { beforeToken, text } of this.pragmas)
      if (beforeToken >= first && beforeToken <= last) asked += `.${beforeToken - first} ${text}`;
    return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}.${last - first}${asked}`;
  }
}

/** The brace that closes the first one from a token on. */
function endOfBraces(text: readonly string[], from: number, last: number): number {
  let depth = 0;
  for (let t = from; t <= last; t++) {
    if (text[t] === '{') depth++;
    else if (text[t] === '}' && --depth === 0) return t;
  }
  return last;
}

function roleOf(declaration: Declaration): Piece['role'] {
  if (declaration.kind === 'record' || declaration.kind === 'alias' || declaration.kind === 'using') return 'type';
  return declaration.kind === 'function' && declaration.specifiers.isDevice ? 'function' : 'other';
}

function isHostOnly(declaration: FunctionDeclaration): boolean {
  const s = declaration.specifiers;
  return !s.isDevice && !s.isConstexpr && !s.isGlobal;
}

/** Bodies of kernels and of functions for the device alone are no matter for the host. */
function hostEnd(declaration: Declaration): number {
  if (declaration.kind !== 'function' || !declaration.body) return declaration.last;
  const s = declaration.specifiers;
  const deviceOnly = s.isGlobal || (s.isDevice && !s.isHost && !s.isConstexpr);
  return deviceOnly ? declaration.body.first : declaration.last;
}

function namesOf(declaration: Declaration): string[] {
  switch (declaration.kind) {
    case 'function':
      return declaration.name.parts.map((p) => p.name);
    case 'variable':
      return [
        declaration.name,
        ...(declaration.bindings ?? []),
        ...(declaration.scope?.parts.map((p) => p.name) ?? []),
      ].filter((n) => n !== undefined);
    case 'record':
      return declaration.name?.parts.map((p) => p.name) ?? [];
    case 'enum':
      return [
        ...(declaration.name?.parts.map((p) => p.name) ?? []),
        ...(declaration.enumerators?.map((e) => e.name) ?? []),
      ];
    case 'alias':
      return [declaration.name];
    case 'using':
      return declaration.name.parts.map((p) => p.name);
    default:
      return [];
  }
}
