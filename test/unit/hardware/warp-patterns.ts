/** Reads the tables of measured warp accesses beside it (fixtures), and names what each access is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AccessBytes } from '../../../server/src/hardware/capabilities';
import type { AccessShape } from '../../../server/src/hardware/memory-model';

export interface MeasuredAccess {
  /** '<access> <bytes> <pattern>', to be found in the table. */
  readonly name: string;
  readonly access: string;
  readonly counter: string;
  readonly shape: AccessShape;
  readonly addresses: readonly (number | null)[];
  /** What follows the '=': one figure, or measured and ideal. */
  readonly values: readonly number[];
}

const kinds: Readonly<Record<string, Omit<AccessShape, 'bytes'>>> = {
  shared_load: { space: 'shared', operation: 'load' },
  shared_store: { space: 'shared', operation: 'store' },
  shared_atomic: { space: 'shared', operation: 'atomic', atomic: 'add-constant', resultUsed: false },
  shared_atomic_add_constant_ret: { space: 'shared', operation: 'atomic', atomic: 'add-constant', resultUsed: true },
  shared_atomic_add_u32: { space: 'shared', operation: 'atomic', atomic: 'integer', resultUsed: false },
  shared_atomic_add_u32_ret: { space: 'shared', operation: 'atomic', atomic: 'integer', resultUsed: true },
  shared_atomic_exch_ret: { space: 'shared', operation: 'atomic', atomic: 'integer', resultUsed: true },
  shared_atomic_max_i32: { space: 'shared', operation: 'atomic', atomic: 'integer', resultUsed: false },
  shared_atomic_add_f32: { space: 'shared', operation: 'atomic', atomic: 'float', resultUsed: false },
  global_load: { space: 'global', operation: 'load' },
  global_store: { space: 'global', operation: 'store' },
  global_atomic: { space: 'global', operation: 'atomic', atomic: 'integer', resultUsed: false },
  global_atomic_add_ret: { space: 'global', operation: 'atomic', atomic: 'integer', resultUsed: true },
};

/** All accesses of fixtures/<file>. */
export function readMeasured(file: string): MeasuredAccess[] {
  const patterns = new Map<string, (number | null)[]>();
  const result: MeasuredAccess[] = [];
  for (const line of readFileSync(join(import.meta.dirname, 'fixtures', file), 'utf8').split('\n')) {
    const [head, rest] = line.split(': ');
    if (line.startsWith('#') || rest === undefined) continue;
    const [access, width, counter] = head.split(' ');
    if (access === 'pattern') {
      patterns.set(
        width,
        rest.split(' ').map((text) => (text === '.' ? null : Number(text))),
      );
      continue;
    }
    const bytes = Number(width) as AccessBytes;
    for (const entry of rest.split(' ')) {
      const [pattern, figures] = entry.split('=');
      const elements = patterns.get(pattern);
      if (elements === undefined) throw new Error(`${file}: pattern ${pattern} is not defined`);
      result.push({
        name: `${access} ${bytes} ${pattern}`,
        access,
        counter,
        shape: { ...kinds[access], bytes },
        addresses: elements.map((element) => (element === null ? null : element * bytes)),
        values: figures.split('/').map(Number),
      });
    }
  }
  return result;
}
