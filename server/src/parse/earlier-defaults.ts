/**
 * Default arguments that only another declaration has: `void run(int n, int block = 128);` with the definition further down, the
 * methods of a class defined outside it, `template <class T, int N = 4> struct Tile;` before its members. Definitions are what
 * the analysis works with, so they get them.
 */
import type {
  Declaration,
  FunctionDeclaration,
  Parameter,
  QualifiedName,
  RecordDeclaration,
  TemplateParameter,
} from './ast';
import { syntaxKey } from './syntax-key';

interface Known {
  readonly functions: Map<string, FunctionDeclaration[]>;
  readonly records: Map<string, RecordDeclaration[]>;
}

/** The declarations, those with a body with the defaults of those without. The list itself where nothing is to be done. */
export function withEarlierDefaults(declarations: readonly Declaration[]): readonly Declaration[] {
  const known: Known = { functions: new Map(), records: new Map() };
  collect(known, declarations, '');
  if (known.functions.size === 0 && known.records.size === 0) return declarations;
  return declarations.map((each) => completed(known, each, ''));
}

const pathOf = (scope: string, name: QualifiedName): string => scope + name.parts.map((part) => part.name).join('::');

const hasDefault = (parameters: readonly { readonly default?: unknown }[] | undefined): boolean =>
  parameters?.some((parameter) => parameter.default !== undefined) ?? false;

function put<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function collect(known: Known, declarations: readonly Declaration[], scope: string): void {
  for (const each of declarations) {
    if (each.kind === 'namespace') collect(known, each.members, `${scope}${each.name}::`);
    else if (each.kind === 'function') {
      if (!each.body && (hasDefault(each.parameters) || hasDefault(each.templateParameters)))
        put(known.functions, pathOf(scope, each.name), each);
    } else if (each.kind === 'record' && each.name) {
      if (each.members) collect(known, each.members, `${pathOf(scope, each.name)}::`);
      else if (hasDefault(each.templateParameters)) put(known.records, pathOf(scope, each.name), each);
    }
  }
}

function completed(known: Known, declaration: Declaration, scope: string): Declaration {
  if (declaration.kind === 'namespace') {
    const inner = `${scope}${declaration.name}::`;
    return { ...declaration, members: declaration.members.map((each) => completed(known, each, inner)) };
  }
  if (declaration.kind === 'function' && declaration.body) return completedFunction(known, declaration, scope);
  if (declaration.kind === 'record' && declaration.members && declaration.name)
    return completedRecord(known, declaration, scope);
  return declaration;
}

function completedFunction(known: Known, definition: FunctionDeclaration, scope: string): FunctionDeclaration {
  const others = known.functions.get(pathOf(scope, definition.name));
  const prototype = others && prototypeOf(others, definition);
  if (!prototype) return definition;
  const templateParameters = withDefaults(definition.templateParameters, prototype.templateParameters);
  const parameters = withDefaults(definition.parameters, prototype.parameters) ?? definition.parameters;
  return { ...definition, parameters, templateParameters };
}

function completedRecord(known: Known, record: RecordDeclaration, scope: string): RecordDeclaration {
  if (!record.name || record.name.parts.at(-1)?.templateArguments) return record;
  const [forward] = known.records.get(pathOf(scope, record.name)) ?? [];
  const templateParameters = forward && withDefaults(record.templateParameters, forward.templateParameters);
  return templateParameters ? { ...record, templateParameters } : record;
}

/** A parameter's own default stays: both may not have one. Lists of different lengths are of different things. */
function withDefaults<T extends Parameter | TemplateParameter>(
  own: readonly T[] | undefined,
  others: readonly T[] | undefined,
): readonly T[] | undefined {
  if (!own || !others || own.length !== others.length) return own;
  return own.map((parameter, i) =>
    parameter.default === undefined ? { ...parameter, default: others[i].default } : parameter,
  );
}

/** Of overloads the one of the same parameter types. A template may call its parameters otherwise: then the only one of as many. */
function prototypeOf(
  others: readonly FunctionDeclaration[],
  definition: FunctionDeclaration,
): FunctionDeclaration | undefined {
  const alike = others.filter((other) => other.parameters.length === definition.parameters.length);
  const wanted = typesOf(definition);
  const same = alike.find((other) => typesOf(other) === wanted);
  return same ?? (definition.templateParameters && alike.length === 1 ? alike[0] : undefined);
}

/** Where a thing stands does not belong to its type, and neither does a `const` of the parameter itself. */
function typesOf({ parameters }: FunctionDeclaration): string {
  return syntaxKey(parameters.map(({ type }) => ({ ...type, isConst: false })));
}
