/** The parser's table of names: which are types, templates, values or namespaces where the parser stands. */

/** What a name is; several bits for a class template (type and template) or a function template (value and template). */
export const Name = {
  type: 1,
  template: 2,
  value: 4,
  namespace: 8,
  /** A parameter pack, of values or types. */
  pack: 16,
  /** A concept: `Concept T` in a template header declares a type. */
  concept: 32,
} as const;

export interface NameEntry {
  bits: number;
  /** Members of a namespace or record. */
  scope?: Scope;
}

export class Scope {
  private names: Map<string, NameEntry> | undefined;
  /** Namespaces opened by using-directives, bases of a record, the record of an out-of-class definition. */
  opened: Scope[] | undefined;
  /** The record whose members these are, by its plain name: how constructors are told. */
  recordName: string | undefined;
  /** See `search`. */
  visited = 0;

  constructor(
    readonly parent: Scope | undefined,
    readonly kind: 'namespace' | 'record' | 'template' | 'block',
  ) {}

  /** Whether nothing is declared in it. */
  get isEmpty(): boolean {
    return this.names === undefined && this.opened === undefined;
  }

  own(name: string): NameEntry | undefined {
    return this.names?.get(name);
  }

  /** Adds a name to this scope; a second declaration adds to the first. */
  declare(name: string, bits: number, scope?: Scope): NameEntry {
    this.names ??= new Map();
    const known = this.names.get(name);
    if (known) {
      known.bits |= bits;
      known.scope ??= scope;
      return known;
    }
    const entry = { bits, scope };
    this.names.set(name, entry);
    return entry;
  }

  open(scope: Scope): void {
    if (scope === this || this.opened?.includes(scope)) return;
    this.opened ??= [];
    this.opened.push(scope);
  }

  /** A member: own names, then those of opened scopes (each looked at once, however they open each other). */
  member(name: string): NameEntry | undefined {
    const own = this.names?.get(name);
    if (own || !this.opened) return own;
    return memberOfOpened(this, name);
  }
}

/** Number of the search under way: scopes remember the last one that came by, so that none is searched twice. */
let search = 0;

function memberOfOpened(scope: Scope, name: string): NameEntry | undefined {
  scope.visited = ++search;
  return searchOpened(scope, name);
}

function searchOpened(scope: Scope, name: string): NameEntry | undefined {
  for (const opened of scope.opened ?? []) {
    if (opened.visited === search) continue;
    opened.visited = search;
    const found = opened.own(name) ?? (opened.opened ? searchOpened(opened, name) : undefined);
    if (found) return found;
  }
  return undefined;
}

/** Looks an unqualified name up from a scope outwards. */
export function lookup(from: Scope, name: string): NameEntry | undefined {
  for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
    const found = scope.member(name);
    if (found) return found;
  }
  return undefined;
}

/** The scope a declaration adds its name to: template parameters' scopes are none. */
export function declarationScope(from: Scope): Scope {
  let scope = from;
  while (scope.kind === 'template' && scope.parent) scope = scope.parent;
  return scope;
}
