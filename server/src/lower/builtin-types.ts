/** Library class templates that kernels use and whose headers we do not read. */
import type { QualifiedName } from '../parse/ast';
import type { Context } from './context';
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
    // `template <unsigned N, class Parent> f(cg::thread_block_tile<N, Parent> tile)`
    templateArguments: tileSize ? [{ kind: 'number', value: tileSize, type: types.uint }, PARENT] : undefined,
  };
  return { kind: 'record', record };
}

/** What tiles are parts of. */
const PARENT: TemplateValue = { kind: 'type', type: groupType('block') };

/** A group of lanes that are not the same everywhere carries their mask. */
export const COALESCED: Type = coalescedType();

function coalescedType(): Type {
  const { record } = groupType('coalesced') as Type & { kind: 'record' };
  const mask = { name: '__mask', type: types.uint, offset: 0 };
  return { kind: 'record', record: { ...record, fields: [mask], bytes: 4, alignment: 4 } };
}

export function groupOf(type: Type): GroupInfo | undefined {
  const t = type.kind === 'reference' ? type.to : type;
  return t.kind === 'record' && 'group' in t.record ? (t.record as GroupInfo) : undefined;
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
      return COALESCED;
    case 'thread_block_tile': {
      const size = args()[0];
      return groupType('tile', size?.kind === 'number' ? size.value : undefined);
    }
    case 'function':
    case 'move_only_function': {
      const of = ctx.unit.isHost ? args()[0] : undefined;
      return of?.kind === 'type' && of.type.kind === 'function' ? { kind: 'callable', of: of.type } : undefined;
    }
    case 'nullptr_t':
      return { kind: 'pointer', to: types.void };
    default:
      return undefined;
  }
}
