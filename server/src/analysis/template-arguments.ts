/** Template arguments of a kernel instance: the launch's, else the annotation's, an explicit instantiation's, or assumed. */
import type { Annotation } from '../launch/annotation';
import type { UnitContext } from '../lower/context';
import { createContext } from '../lower/context';
import { lookupName } from '../lower/lookup';
import { evaluateArguments, resolveNamedType, resolveType } from '../lower/resolve-type';
import { deduceArguments } from '../lower/templates';
import { namedTypes, type TemplateValue, types, vectorTypes } from '../lower/types';
import type { Declaration, TemplateParameter, TranslationUnit } from '../parse/ast';
import type { FoundKernel } from './kernels';

export interface InstanceArguments {
  readonly values: readonly TemplateValue[];
  /** e.g. T = float, which nobody says; figures then rest on it */
  readonly assumed: readonly string[];
}

/**
 * What an explicit specialisation is for: of `k<float>` the type float, of `template <> k(float *)` what its parameters say to the template; of anything
 * else nothing.
 */
export function specialisedArguments(
  unit: UnitContext,
  kernel: FoundKernel,
  candidates: readonly FoundKernel[] = [],
): readonly TemplateValue[] {
  const own = kernel.declaration.name.parts.at(-1)?.templateArguments;
  const ctx = createContext(unit, kernel.name, new Set());
  if (own?.length) return evaluateArguments(ctx, own, kernel.scope);
  const { parameters, templateParameters } = kernel.declaration;
  const template = candidates.find(
    ({ declaration }) => declaration.templateParameters?.length && declaration.parameters.length === parameters.length,
  );
  if (templateParameters?.length !== 0 || !template) return [];
  const given = parameters.map(({ type }) => resolveType(ctx, type, kernel.scope));
  return deduceArguments(ctx, template.declaration, [], given, template.scope);
}

/** A launch within a template that nobody instantiates leaves types open: they are assumed, as without a launch. */
export function withAssumedTypes(kernel: FoundKernel, values: readonly TemplateValue[]): InstanceArguments {
  const assumed: string[] = [];
  const parameters = kernel.declaration.templateParameters ?? [];
  const complete = values.map((value, i): TemplateValue => {
    const parameter = parameters[i];
    const isOpen = value.kind === 'unknown' || (value.kind === 'type' && value.type.kind === 'unknown');
    if (!isOpen || parameter?.kind !== 'type' || parameter.pack) return value;
    assumed.push(`${parameter.name ?? 'T'} = float`);
    return { kind: 'type', type: types.float };
  });
  return { values: complete, assumed };
}

/** Arguments for a template kernel that no launch instantiates. */
export function argumentsWithoutLaunch(
  unit: UnitContext,
  tree: TranslationUnit,
  kernel: FoundKernel,
  annotation: Annotation | undefined,
): InstanceArguments {
  const parameters = kernel.declaration.templateParameters ?? [];
  if (parameters.length === 0) return { values: specialisedArguments(unit, kernel), assumed: [] };
  const ctx = createContext(unit, kernel.name, new Set());
  const explicit = explicitInstantiation(tree.declarations, kernel.name, 0);
  if (explicit) return { values: evaluateArguments(ctx, explicit, kernel.scope), assumed: [] };
  const values: TemplateValue[] = [];
  const assumed: string[] = [];
  for (const parameter of parameters) {
    const given = annotated(ctx, kernel, parameter, annotation);
    if (given) values.push(given);
    else if (parameter.default || parameter.pack) break;
    else if (parameter.kind === 'type') {
      values.push({ kind: 'type', type: types.float });
      assumed.push(`${parameter.name ?? 'T'} = float`);
    } else
      values.push({
        kind: 'unknown',
        reason: `template argument ${parameter.name ?? ''} is not known: no launch of ${kernel.name} was found`,
      });
  }
  return { values, assumed };
}

function annotated(
  ctx: ReturnType<typeof createContext>,
  kernel: FoundKernel,
  parameter: TemplateParameter,
  annotation: Annotation | undefined,
): TemplateValue | undefined {
  if (!parameter.name || !annotation) return undefined;
  const number = annotation.values.get(parameter.name);
  if (number !== undefined) return { kind: 'number', value: number, type: types.int };
  const spelled = annotation.types.get(parameter.name);
  if (!spelled) return undefined;
  const known = namedTypes.get(spelled) ?? vectorTypes.get(spelled);
  if (known) return { kind: 'type', type: known };
  const entity = lookupName(ctx, kernel.scope, spelled);
  const type = entity && resolveNamedType(ctx, kernel.scope, entity, { name: spelled });
  return type && { kind: 'type', type };
}

/** `template __global__ void k<float, 4>(…);` */
function explicitInstantiation(
  declarations: readonly Declaration[],
  name: string,
  depth: number,
): NonNullable<ReturnType<typeof lastArguments>> | undefined {
  for (const declaration of declarations) {
    if (declaration.kind === 'namespace' && depth < 20) {
      const inner = explicitInstantiation(declaration.members, name, depth + 1);
      if (inner) return inner;
    }
    if (declaration.kind !== 'instantiation' || declaration.declaration.kind !== 'function') continue;
    const part = declaration.declaration.name.parts.at(-1);
    if (part?.name === name && part.templateArguments) return part.templateArguments;
  }
  return undefined;
}

const lastArguments = (d: Declaration & { kind: 'function' }) => d.name.parts.at(-1)?.templateArguments;
