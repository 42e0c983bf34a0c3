/** Names and what they mean: namespaces, records, functions and blocks, each with a link to the enclosing scope. */
import type {
  AliasDeclaration,
  Declaration,
  EnumDeclaration,
  FunctionDeclaration,
  QualifiedName,
  RecordDeclaration,
  UsingDeclaration,
  VariableDeclaration,
} from '../parse/ast';
import type { TemplateValue, Type } from './types';
import type { Value } from './values';

/** What one name stands for in one scope. */
export type Entity =
  | {
      readonly kind: 'functions';
      readonly declarations: FunctionDeclaration[];
      readonly scope: Scope;
      /** A class of the same name, which `struct` in front of it means: `struct stat`. */
      readonly hidden?: Entity & { readonly kind: 'record' };
    }
  /** A variable at namespace or class scope. */
  | {
      readonly kind: 'global';
      readonly declaration: VariableDeclaration;
      readonly scope: Scope;
      /** A static variable of a kernel or of a function that it calls: nobody else can name it. */
      readonly isOfFunction?: true;
      /** of a variable template */
      readonly specialisations?: VariableDeclaration[];
    }
  /** A local variable, parameter, capture: already lowered. */
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'type'; readonly type: Type }
  | { readonly kind: 'template'; readonly value: TemplateValue }
  | { readonly kind: 'record'; readonly declarations: RecordDeclaration[]; readonly scope: Scope }
  | { readonly kind: 'enum'; readonly declaration: EnumDeclaration; readonly scope: Scope }
  | {
      readonly kind: 'enumerator';
      readonly declaration: EnumDeclaration;
      readonly index: number;
      readonly scope: Scope;
    }
  | { readonly kind: 'alias'; readonly declaration: AliasDeclaration; readonly scope: Scope }
  | { readonly kind: 'namespace'; readonly scope: Scope }
  | { readonly kind: 'namespaceAlias'; readonly name: QualifiedName; readonly scope: Scope };

const none: readonly never[] = [];

/** Scopes are made for every pass of an unrolled loop: what most of them do not have is not allocated. */
export class Scope {
  private names: Map<string, Entity> | undefined;
  using: readonly Scope[] = none;
  usingNames: readonly QualifiedName[] = none;
  /** `using a::b;` declarations, by the name they bring in. */
  usingDeclarations: Map<string, QualifiedName> | undefined;
  /** The record whose members these are. */
  recordType?: Type;
  /** The object that unqualified members belong to, inside a method. */
  thisValue?: Value;

  constructor(
    readonly parent: Scope | undefined,
    readonly label: string,
  ) {}

  own(name: string): Entity | undefined {
    return this.names?.get(name);
  }

  define(name: string, entity: Entity): void {
    this.names ??= new Map();
    this.names.set(name, entity);
  }

  entries(): Iterable<[string, Entity]> {
    return this.names ?? none;
  }

  /** Names are found in it only where they were defined: it has no bases and uses no other scope. */
  get isPlain(): boolean {
    return (
      this.using.length === 0 &&
      this.usingNames.length === 0 &&
      this.usingDeclarations === undefined &&
      this.recordType === undefined
    );
  }
}

/** Puts declarations into a scope (names only; nothing is evaluated). Safe on any tree. */
export function declareAll(scope: Scope, declarations: readonly Declaration[]): void {
  for (const declaration of declarations) declare(scope, declaration);
}

function declare(scope: Scope, declaration: Declaration): void {
  switch (declaration.kind) {
    case 'function':
      declareFunction(scope, declaration);
      break;
    case 'variable':
      declareVariable(scope, declaration);
      declareInPlaceTypes(scope, declaration);
      break;
    case 'record':
      declareRecord(scope, declaration);
      break;
    case 'enum':
      declareEnum(scope, declaration);
      break;
    case 'alias':
      if (declaration.type.kind === 'record') declareRecord(scope, declaration.type.record);
      if (declaration.type.kind === 'enum') declareEnum(scope, declaration.type.enumeration);
      scope.define(declaration.name, { kind: 'alias', declaration, scope });
      break;
    case 'namespace':
      declareNamespace(scope, declaration);
      break;
    case 'using':
      scope.usingNames = [...scope.usingNames, declaration.name];
      if (!declaration.isDirective) {
        const last = declaration.name.parts[declaration.name.parts.length - 1];
        if (
          (declaration.name.parts.length > 1 || declaration.name.global) &&
          !scope.own(last.name) &&
          !inherits(declaration)
        ) {
          scope.usingDeclarations ??= new Map();
          scope.usingDeclarations.set(last.name, declaration.name);
        }
      }
      break;
    default:
      break;
  }
}

/** `using Base::Base;` brings constructors, which have no name (`inherited-constructors.ts`). */
const inherits = ({ name: { parts } }: UsingDeclaration): boolean => parts.at(-1)?.name === parts.at(-2)?.name;

function declareFunction(scope: Scope, declaration: FunctionDeclaration): void {
  const parts = declaration.name.parts;
  let target = scope;
  // an out-of-class or qualified definition belongs to the named scope where that is a namespace; methods are matched by record
  for (const part of parts.slice(0, -1)) {
    const entity = target.own(part.name);
    if (entity?.kind === 'namespace') target = entity.scope;
    else {
      outOfClass(target).push(declaration);
      return;
    }
  }
  const name = parts[parts.length - 1].name;
  const known = target.own(name);
  if (known?.kind === 'functions') known.declarations.push(declaration);
  else if (!known || known.kind === 'record')
    target.define(name, { kind: 'functions', declarations: [declaration], scope: target, hidden: known });
}

const definitions = new WeakMap<Scope, FunctionDeclaration[]>();

/** Definitions `T Record::method(…) {…}` that stand in this scope. */
export function outOfClass(scope: Scope): FunctionDeclaration[] {
  let list = definitions.get(scope);
  if (!list) definitions.set(scope, (list = []));
  return list;
}

const staticMembers = new WeakMap<Scope, VariableDeclaration[]>();

export function outOfClassVariables(scope: Scope): VariableDeclaration[] {
  let list = staticMembers.get(scope);
  if (!list) staticMembers.set(scope, (list = []));
  return list;
}

function declareVariable(scope: Scope, declaration: VariableDeclaration): void {
  const { name } = declaration;
  if (declaration.scope) declareStaticMember(scope, declaration);
  else if (declaration.templateArguments && name) {
    const primary = scope.own(name);
    if (primary?.kind === 'global') primary.specialisations?.push(declaration);
  } else if (name && !isKnownElsewhere(scope, declaration, name)) {
    const specialisations = declaration.templateParameters ? [] : undefined;
    scope.define(name, { kind: 'global', declaration, scope, specialisations });
  }
}

/** `extern int n;` behind the definition, and of what the library around the unit defines (`optind`): what is known of it stays. */
function isKnownElsewhere(scope: Scope, declaration: VariableDeclaration, name: string): boolean {
  if (!isOnlyDeclared(declaration)) return false;
  const known = scope.own(name) ?? (scope.parent?.label === LIBRARY ? scope.parent.own(name) : undefined);
  return known?.kind === 'global' && !isOnlyDeclared(known.declaration);
}

/** The label of the scope around a unit's own. */
export const LIBRARY = 'library';

/** Of a variable that is defined elsewhere, be it in the same file. */
export const isOnlyDeclared = ({ specifiers, initializer }: VariableDeclaration): boolean =>
  specifiers.isExtern && !specifiers.isShared && !initializer;

/** The variable of that name in a namespace around a scope: no local one, and none of a class. */
export function variableOfNamespace(from: Scope, name: string): Entity | undefined {
  for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
    const found = scope.own(name);
    if (found?.kind === 'global' && !found.isOfFunction && !found.scope.recordType) return found;
  }
  return undefined;
}

function declareStaticMember(scope: Scope, declaration: VariableDeclaration): void {
  let target = scope;
  for (const part of declaration.scope?.parts.slice(0, -1) ?? []) {
    const entity = target.own(part.name);
    if (entity?.kind !== 'namespace') break;
    target = entity.scope;
  }
  outOfClassVariables(target).push(declaration);
}

/** Whether definitions of members stand in this scope. */
export const hasOutOfClass = (scope: Scope): boolean =>
  (definitions.get(scope)?.length ?? 0) > 0 || (staticMembers.get(scope)?.length ?? 0) > 0;

/** The type that a variable's declaration defines: `struct Entry { … } stack[8];`. */
export function declareInPlaceTypes(scope: Scope, declaration: VariableDeclaration): void {
  let type = declaration.type;
  while (type.kind === 'array' || type.kind === 'pointer') type = type.kind === 'array' ? type.of : type.to;
  if (type.kind === 'record') declareRecord(scope, type.record);
  if (type.kind === 'enum') declareEnum(scope, type.enumeration);
}

function declareRecord(scope: Scope, declaration: RecordDeclaration): void {
  const parts = declaration.name?.parts;
  if (!parts) return;
  let target = scope;
  for (const part of parts.slice(0, -1)) {
    const entity = target.own(part.name);
    if (entity?.kind === 'namespace') target = entity.scope;
    else if (entity?.kind === 'record') {
      outOfClassRecords(target).push(declaration);
      return;
    }
  }
  addRecord(target, declaration);
}

/** Adds a record by the last part of its name, beside others of that name: declarations, specialisations. */
export function addRecord(scope: Scope, declaration: RecordDeclaration): void {
  const name = declaration.name?.parts.at(-1)?.name;
  if (name === undefined) return;
  const known = scope.own(name);
  if (known?.kind === 'record') known.declarations.push(declaration);
  else scope.define(name, { kind: 'record', declarations: [declaration], scope });
}

const memberRecords = new WeakMap<Scope, RecordDeclaration[]>();

/** Definitions `struct Record::Member { … };` that stand in this scope. */
export function outOfClassRecords(scope: Scope): RecordDeclaration[] {
  let list = memberRecords.get(scope);
  if (!list) memberRecords.set(scope, (list = []));
  return list;
}

function declareEnum(scope: Scope, declaration: EnumDeclaration): void {
  const parts = declaration.name?.parts;
  if (parts) scope.define(parts[parts.length - 1].name, { kind: 'enum', declaration, scope });
  if (declaration.isScoped) return;
  declaration.enumerators?.forEach((enumerator, index) => {
    scope.define(enumerator.name, { kind: 'enumerator', declaration, index, scope });
  });
}

function declareNamespace(scope: Scope, declaration: Declaration & { kind: 'namespace' }): void {
  if (declaration.alias) {
    scope.define(declaration.name, { kind: 'namespaceAlias', name: declaration.alias, scope });
    return;
  }
  const known = declaration.name ? scope.own(declaration.name) : undefined;
  const inner = known?.kind === 'namespace' ? known.scope : new Scope(scope, declaration.name);
  if (declaration.name) scope.define(declaration.name, { kind: 'namespace', scope: inner });
  if (!declaration.name || declaration.isInline) scope.using = [...scope.using, inner];
  declareAll(inner, declaration.members);
}
