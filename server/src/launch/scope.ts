/** Scopes of host code and the index of what a translation unit declares. */
import type {
  AliasDeclaration,
  Declaration,
  EnumDeclaration,
  FunctionDeclaration,
  NamespaceDeclaration,
  QualifiedName,
  RecordDeclaration,
  TemplateArgument,
  VariableDeclaration,
} from '../parse/ast';
import type { HostType, RecordType } from './host-type';
import type { Cell } from './value';

export interface Scope {
  readonly parent?: Scope;
  /** variables, parameters, value template parameters */
  readonly values: Map<string, Cell>;
  /** local types and type template parameters */
  readonly types: Map<string, HostType>;
  /** of namespaces and records */
  readonly symbols?: Map<string, HostSymbol[]>;
  /** of a namespace: its name, '' for the global one and anonymous ones */
  readonly namespace?: string;
  usings?: QualifiedName[];
  /** the object a method runs on */
  readonly self?: Cell;
  readonly record?: RecordType;
  /** of a block: what its using-declarations and aliases of namespaces name */
  brought?: Map<string, UsingSymbol>;
  /** Values that a caller of evaluateConstant supplies. */
  readonly outside?: (name: string) => Cell | undefined;
}

export type HostSymbol =
  | { readonly kind: 'function'; readonly declaration: FunctionDeclaration; readonly scope: Scope }
  | VariableSymbol
  /** alias: what a record without a name is known by, `typedef struct { … } Block;` */
  | {
      readonly kind: 'record';
      readonly declaration: RecordDeclaration;
      readonly scope: Scope;
      readonly alias?: string;
    }
  | EnumSymbol
  | { readonly kind: 'enumerator'; readonly of: EnumSymbol; readonly index: number }
  | { readonly kind: 'alias'; readonly declaration: AliasDeclaration; readonly scope: Scope }
  | { readonly kind: 'namespace'; readonly scope: Scope }
  | UsingSymbol;

export interface UsingSymbol {
  readonly kind: 'using';
  readonly name: QualifiedName;
  readonly scope: Scope;
}

export interface VariableSymbol {
  readonly kind: 'variable';
  readonly declaration: VariableDeclaration;
  readonly scope: Scope;
  /** Made at the first use. */
  cell?: Cell;
  evaluating?: boolean;
}

export interface EnumSymbol {
  readonly kind: 'enum';
  readonly declaration: EnumDeclaration;
  readonly scope: Scope;
  values?: readonly (number | undefined)[];
}

/** Definitions that stand outside of their record: `void A::f() {}`, `const int A::n = 4;`, by `A::f`. */
export interface OutOfClass {
  readonly functions: Map<string, { declaration: FunctionDeclaration; scope: Scope }[]>;
  readonly variables: Map<string, VariableDeclaration>;
}

export interface HostIndex {
  readonly root: Scope;
  readonly outOfClass: OutOfClass;
  /** Names of functions that the classes of arguments may bring: those of named namespaces, and friends. */
  readonly associated: ReadonlySet<string>;
  /** Every function with a body, methods too, in the order of the text. */
  readonly functions: readonly IndexedFunction[];
  /** `template void run<float, 4>(…);` */
  readonly instantiations: readonly { readonly name: string; readonly arguments: readonly TemplateArgument[] }[];
}

export interface IndexedFunction {
  readonly declaration: FunctionDeclaration;
  readonly scope: Scope;
  /** of a method defined inside its record */
  readonly record?: RecordDeclaration;
}

/** A scope whose maps are made when something is put into them: most blocks declare nothing. */
class LocalScope implements Scope {
  private ownValues?: Map<string, Cell>;
  private ownTypes?: Map<string, HostType>;
  readonly symbols?: Map<string, HostSymbol[]>;
  readonly namespace?: string;
  usings?: QualifiedName[];
  readonly self?: Cell;
  readonly record?: RecordType;
  brought?: Map<string, UsingSymbol>;
  readonly outside?: (name: string) => Cell | undefined;

  constructor(
    readonly parent: Scope,
    extra: Partial<Scope> | undefined,
  ) {
    this.ownValues = extra?.values;
    this.ownTypes = extra?.types;
    this.symbols = extra?.symbols;
    this.namespace = extra?.namespace;
    this.usings = extra?.usings;
    this.self = extra?.self;
    this.record = extra?.record;
    this.outside = extra?.outside;
  }

  get values(): Map<string, Cell> {
    this.ownValues ??= new Map();
    return this.ownValues;
  }

  get types(): Map<string, HostType> {
    this.ownTypes ??= new Map();
    return this.ownTypes;
  }

  ownValue(name: string): Cell | undefined {
    return this.ownValues?.get(name);
  }

  ownType(name: string): HostType | undefined {
    return this.ownTypes?.get(name);
  }
}

export function childScope(parent: Scope, extra?: Partial<Scope>): Scope {
  return new LocalScope(parent, extra);
}

/** `using part::name;`, `namespace name = part::other;` in a block */
export function bring(scope: Scope, name: string, of: QualifiedName): void {
  scope.brought ??= new Map();
  scope.brought.set(name, { kind: 'using', name: of, scope });
}

/** The variable of that name in this scope itself. */
export function ownValue(scope: Scope, name: string): Cell | undefined {
  return scope instanceof LocalScope ? scope.ownValue(name) : scope.values.get(name);
}

/** The local type of that name in this scope itself. */
export function ownType(scope: Scope, name: string): HostType | undefined {
  return scope instanceof LocalScope ? scope.ownType(name) : scope.types.get(name);
}

/** The local variable of that name, as long as nothing but plain blocks stands between; undefined asks for the full lookup. */
export function localVariable(scope: Scope, name: string): Cell | undefined {
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    if (at.outside) return undefined;
    const cell = ownValue(at, name);
    if (cell) return cell;
    if (at.symbols || at.self || at.record || ownType(at, name) || at.brought?.has(name)) return undefined;
  }
  return undefined;
}

/** Sorts a unit's declarations by name. */
export function indexUnit(declarations: readonly Declaration[]): HostIndex {
  const functions: IndexedFunction[] = [];
  const root: Scope = { values: new Map(), types: new Map(), symbols: new Map(), namespace: '', usings: [] };
  const index = {
    root,
    outOfClass: { functions: new Map(), variables: new Map() },
    functions,
    associated: new Set<string>(),
    instantiations: [] as { name: string; arguments: readonly TemplateArgument[] }[],
  };
  addDeclarations(index, declarations, root);
  return index;
}

type IndexInProgress = HostIndex & {
  associated: Set<string>;
  functions: IndexedFunction[];
  instantiations: HostIndex['instantiations'][number][];
};

function addDeclarations(index: IndexInProgress, declarations: readonly Declaration[], scope: Scope): void {
  for (const declaration of declarations) addDeclaration(index, declaration, scope);
}

function addDeclaration(index: IndexInProgress, declaration: Declaration, scope: Scope): void {
  switch (declaration.kind) {
    case 'function':
      addFunction(index, declaration, scope);
      break;
    case 'namespace':
      addNamespace(index, declaration, scope);
      break;
    case 'record':
      addSymbol(scope, declaration, index);
      for (const member of declaration.members ?? []) {
        if (member.kind !== 'function') continue;
        if (member.isFriend) index.associated.add(lastName(member.name));
        if (member.body) {
          index.functions.push({ declaration: member, scope, record: declaration });
        }
      }
      break;
    case 'instantiation':
      addInstantiation(index, declaration.declaration);
      break;
    default:
      addSymbol(scope, declaration, index);
  }
}

function addFunction(index: IndexInProgress, declaration: FunctionDeclaration, scope: Scope): void {
  if (declaration.body) index.functions.push({ declaration, scope });
  const parts = declaration.name.parts;
  if (parts.length > 1) {
    const key = `${parts[parts.length - 2].name}::${parts[parts.length - 1].name}`;
    append(index.outOfClass.functions, key, { declaration, scope });
    return;
  }
  if (scope.namespace) index.associated.add(parts[0].name);
  addSymbol(scope, declaration, index);
}

function addInstantiation(index: IndexInProgress, declaration: Declaration): void {
  if (declaration.kind !== 'function') return;
  const part = declaration.name.parts.at(-1);
  if (part?.templateArguments) index.instantiations.push({ name: part.name, arguments: part.templateArguments });
}

function addNamespace(index: IndexInProgress, declaration: NamespaceDeclaration, scope: Scope): void {
  if (declaration.alias) {
    append(scope.symbols, declaration.name, { kind: 'using', name: declaration.alias, scope });
    return;
  }
  // The names of anonymous and inline namespaces are those of the namespace around them.
  if (declaration.name === '' || declaration.isInline) {
    addDeclarations(index, declaration.members, scope);
    return;
  }
  const known = scope.symbols?.get(declaration.name)?.find((symbol) => symbol.kind === 'namespace');
  const inner =
    known?.kind === 'namespace'
      ? known.scope
      : childScope(scope, { symbols: new Map(), namespace: declaration.name, usings: [] });
  if (!known) append(scope.symbols, declaration.name, { kind: 'namespace', scope: inner });
  addDeclarations(index, declaration.members, inner);
}

/** Adds one declaration to the symbols of a namespace or record scope. */
export function addSymbol(scope: Scope, declaration: Declaration, index?: HostIndex): void {
  const symbols = scope.symbols;
  if (!symbols) return;
  switch (declaration.kind) {
    case 'function':
      append(symbols, lastName(declaration.name), { kind: 'function', declaration, scope });
      break;
    case 'variable':
      addVariable(scope, declaration, index);
      break;
    case 'record':
      if (declaration.name) append(symbols, lastName(declaration.name), { kind: 'record', declaration, scope });
      break;
    case 'enum':
      addEnum(scope, declaration);
      break;
    case 'alias':
      append(symbols, declaration.name, { kind: 'alias', declaration, scope });
      addInlineType(scope, declaration.type);
      break;
    case 'using':
      if (declaration.isDirective) scope.usings?.push(declaration.name);
      else if (!scope.record || !namesConstructors(declaration.name))
        append(symbols, lastName(declaration.name), { kind: 'using', name: declaration.name, scope });
      break;
    default:
  }
}

/** `using Base<T>::Base;` in a record: its constructors are taken over, and the name goes on to mean the base. */
const namesConstructors = ({ parts }: QualifiedName): boolean => parts.at(-1)?.name === parts.at(-2)?.name;

function addVariable(scope: Scope, declaration: VariableDeclaration, index: HostIndex | undefined): void {
  const scoped = declaration.scope;
  addInlineType(scope, declaration.type);
  if (scoped && declaration.name && index) {
    const owner = scoped.parts.filter((part) => part.name !== declaration.name).at(-1)?.name ?? '';
    index.outOfClass.variables.set(`${owner}::${declaration.name}`, declaration);
    return;
  }
  if (declaration.name) append(scope.symbols, declaration.name, { kind: 'variable', declaration, scope });
}

/** `enum { N = 4 } x;` and `typedef enum { A } T;` declare their enumerators too. */
function addInlineType(scope: Scope, type: VariableDeclaration['type']): void {
  if (type.kind === 'enum') addEnum(scope, type.enumeration);
  if (type.kind === 'record' && type.record.name) {
    append(scope.symbols, lastName(type.record.name), { kind: 'record', declaration: type.record, scope });
  }
}

function addEnum(scope: Scope, declaration: EnumDeclaration): void {
  const symbol: EnumSymbol = { kind: 'enum', declaration, scope };
  if (declaration.name) append(scope.symbols, lastName(declaration.name), symbol);
  if (declaration.isScoped) return;
  for (const [index, enumerator] of (declaration.enumerators ?? []).entries()) {
    append(scope.symbols, enumerator.name, { kind: 'enumerator', of: symbol, index });
  }
}

function append<T>(map: Map<string, T[]> | undefined, key: string, value: T): void {
  const list = map?.get(key);
  if (list) list.push(value);
  else map?.set(key, [value]);
}

export function lastName(name: QualifiedName): string {
  return name.parts.at(-1)?.name ?? '';
}

/** `a::b::c` */
export function spelledName(name: QualifiedName): string {
  return name.parts.map((part) => part.name).join('::');
}

/** The namespaces around a scope, outermost first. */
export function namespacePath(scope: Scope): string[] {
  const path: string[] = [];
  for (let at: Scope | undefined = scope; at; at = at.parent) if (at.namespace) path.unshift(at.namespace);
  return path;
}
