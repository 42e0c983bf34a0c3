/** Library class templates that kernels use and whose headers we do not read. */
import type { QualifiedName } from '../parse/ast';
import type { Context } from './context';
import { lookupIn } from './lookup';
import { instantiateRecord } from './records';
import { evaluateArguments } from './resolve-type';
import type { Scope } from './scope';
import { type RecordInfo, type TemplateValue, type Type, types } from './types';

/** Cooperative groups: a group is its size and how it divides the block; the value is empty, the type says all. */
export interface GroupInfo extends RecordInfo {
  readonly group: 'block' | 'tile' | 'grid' | 'coalesced';
  /** lanes of a tile */
  readonly tileSize?: number;
}

export function groupType(group: GroupInfo['group'], tileSize?: number): Type {
  const record: GroupInfo = {
    name: tileSize ? `thread_block_tile<${tileSize}>` : `${group}_group`,
    isUnion: false,
    fields: [],
    bytes: 1,
    alignment: 1,
    isVector: false,
    methods: new Map(),
    group,
    tileSize,
  };
  return { kind: 'record', record };
}

export function groupOf(type: Type): GroupInfo | undefined {
  const t = type.kind === 'reference' ? type.to : type;
  return t.kind === 'record' && 'group' in t.record ? (t.record as GroupInfo) : undefined;
}

const traits: Partial<Record<string, (t: Type) => Type>> = {
  remove_const_t: (t) => ({ ...t, isConst: undefined }),
  remove_cv_t: (t) => ({ ...t, isConst: undefined, isVolatile: undefined }),
  remove_reference_t: (t) => (t.kind === 'reference' ? t.to : t),
  decay_t: (t) => (t.kind === 'reference' ? { ...t.to, isConst: undefined } : { ...t, isConst: undefined }),
  remove_pointer_t: (t) => (t.kind === 'pointer' ? t.to : t),
  add_const_t: (t) => ({ ...t, isConst: true }),
};

function integerSequence(ctx: Context, args: readonly TemplateValue[]): Type | undefined {
  const standard = ctx.unit.scope.parent?.own('std');
  const entity =
    standard?.kind === 'namespace' ? lookupIn(ctx, standard.scope, 'integer_sequence', new Set()) : undefined;
  return entity?.kind === 'record'
    ? instantiateRecord(ctx, entity.declarations[0], entity.scope, args, entity.declarations)
    : undefined;
}

/** A type by its library name, undefined when it is none of these. */
export function builtinTemplateType(ctx: Context, name: QualifiedName, scope: Scope): Type | undefined {
  const last = name.parts[name.parts.length - 1];
  const args = () => evaluateArguments(ctx, last.templateArguments ?? [], scope);
  switch (last.name) {
    case 'thread_block':
      return groupType('block');
    case 'grid_group':
      return groupType('grid');
    case 'coalesced_group':
      return groupType('coalesced');
    case 'thread_block_tile': {
      const size = args()[0];
      return groupType('tile', size?.kind === 'number' ? size.value : undefined);
    }
    case 'conditional_t': {
      const [condition, a, b] = args();
      const chosen = condition?.kind === 'number' ? (condition.value ? a : b) : undefined;
      return chosen?.kind === 'type' ? chosen.type : undefined;
    }
    case 'make_index_sequence':
    case 'make_integer_sequence': {
      const given = args();
      const count = given[given.length - 1];
      if (count?.kind !== 'number' || count.value > 256) return undefined;
      const element: TemplateValue = given.length > 1 ? given[0] : { kind: 'type', type: types.ulong };
      const numbers = Array.from(
        { length: count.value },
        (_, i): TemplateValue => ({ kind: 'number', value: i, type: types.ulong }),
      );
      return integerSequence(ctx, [element, ...numbers]);
    }
    default: {
      const trait = traits[last.name];
      const first = trait === undefined ? undefined : args()[0];
      return trait !== undefined && first?.kind === 'type'
        ? trait(first.type)
        : last.name === 'nullptr_t'
          ? { kind: 'pointer', to: types.void }
          : undefined;
    }
  }
}
