/** Arguments of a class template that host code leaves to be deduced: `Buffer b(host)`, `Pair{1, 2.f}`. */
import type { Parameter, RecordDeclaration, Specifiers, TemplateParameter, TypeNode } from '../parse/ast';
import { GUIDE } from '../parse/functions';
import type { HostType, RecordType } from './host-type';
import { instantiateRecord, resolveType } from './resolve-type';
import { childScope, lastName, type Scope } from './scope';
import type { HostState } from './state';
import { bindParameters, deduceFromCall } from './template-binding';
import type { Value } from './value';

/** Is it what the name of a class template without arguments stands for? Those follow from what an object is made of. */
export function isOpenClass(type: HostType): type is RecordType {
  if (type.kind !== 'record' || type.arguments?.length !== 0) return false;
  return (type.declaration.templateParameters ?? []).length > 0;
}

/** What is deduced from: a guide, a constructor or the fields of an aggregate. */
interface Source {
  readonly parameters: readonly Parameter[];
  readonly templateParameters: readonly TemplateParameter[];
  /** of a guide: the instance that it leads to */
  readonly result?: TypeNode;
}

/** The instance that the values mean; undefined where the class is not open, or nothing fits. */
export function deduceClass(state: HostState, type: RecordType, values: readonly Value[]): RecordType | undefined {
  const around = type.scope.parent?.parent;
  if (!around || values.length === 0 || !isOpenClass(type)) return undefined;
  const [first, second] = values;
  const of = first.kind === 'struct' && !second ? first.type : undefined;
  if (of?.kind === 'record' && of.declaration === type.declaration) return isOpenClass(of) ? undefined : of;
  for (const source of sourcesOf(type.declaration, around)) {
    const instance = fits(source, values.length) ? instanceBy(state, type, around, source, values) : undefined;
    if (instance && !isOpenClass(instance)) return instance;
  }
  return undefined;
}

/** Guides first; a parameter that is a template parameter by itself takes everything, and is tried last. */
function sourcesOf(record: RecordDeclaration, around: Scope): Source[] {
  const own = record.templateParameters ?? [];
  const name = record.name ? lastName(record.name) : '';
  const guides = (around.symbols?.get(GUIDE + name) ?? []).flatMap((symbol): Source[] =>
    symbol.kind === 'function' ? [{ ...asSource(symbol.declaration, []), result: symbol.declaration.result }] : [],
  );
  const members = record.members ?? [];
  const constructors = members.flatMap((member): Source[] =>
    member.kind === 'function' && lastName(member.name) === name ? [asSource(member, own)] : [],
  );
  const made = constructors.length > 0 ? constructors : [{ parameters: fieldsOf(record), templateParameters: own }];
  return [...guides, ...made.sort((a, b) => takingAll(a) - takingAll(b))];
}

const asSource = (
  declaration: {
    readonly parameters: readonly Parameter[];
    readonly templateParameters?: readonly TemplateParameter[];
  },
  own: readonly TemplateParameter[],
): Source => ({
  parameters: declaration.parameters,
  templateParameters: [...own, ...(declaration.templateParameters ?? [])],
});

function takingAll({ parameters, templateParameters }: Source): number {
  const names = new Set(templateParameters.map(({ name }) => name));
  return parameters.filter(({ type }) => {
    const plain = type.kind === 'reference' ? type.to : type;
    return plain.kind === 'named' && plain.name.parts.length === 1 && names.has(plain.name.parts[0].name);
  }).length;
}

/** The members of an aggregate, as if they were parameters. */
function fieldsOf(record: RecordDeclaration): Parameter[] {
  return (record.members ?? []).flatMap((member) =>
    member.kind === 'variable' && !member.specifiers.isStatic
      ? [{ ...member, specifiers: {} as Specifiers, default: member.initializer && noValue, pack: false }]
      : [],
  );
}

/** Stands for the initialiser of a field: that there is one is all that counts. */
const noValue = { kind: 'unknown', reason: 'an initialiser', first: 0, last: 0 } as const;

function fits({ parameters }: Source, count: number): boolean {
  const required = parameters.filter((parameter) => !parameter.default && !parameter.pack).length;
  return count >= required && (count <= parameters.length || parameters.some(({ pack }) => pack));
}

function instanceBy(
  state: HostState,
  type: RecordType,
  around: Scope,
  source: Source,
  values: readonly Value[],
): RecordType | undefined {
  const { templateParameters } = source;
  const found = deduceFromCall(state, source, values);
  const isMissing = ({ name = '', pack, default: given }: TemplateParameter) => !pack && !given && !found.has(name);
  if (templateParameters.some(isMissing)) return undefined;
  const scope = childScope(around);
  const list = bindParameters(state, templateParameters, [], scope, found);
  if (source.result) {
    const result = resolveType(state, source.result, scope);
    return result.kind === 'record' ? result : undefined;
  }
  const own = type.declaration.templateParameters ?? [];
  const given = own.at(-1)?.pack ? list : list.slice(0, own.length);
  return instantiateRecord(state, { kind: 'record', declaration: type.declaration, scope: around }, given);
}
