/** Marks places that no access moves across, though nothing that is counted happens there (machine/memory-overlap.ts). */
import type { Fence, Register } from '../program/program';
import type { Context } from './context';

/**
 * @param fence 'memory' where the assembler keeps the order too, as it does around a 'call'; 'code' where only the front end does: volatile inline assembly
 * @param reads what is needed there
 */
export function emitFence(ctx: Context, fence: Fence, reads?: readonly Register[]): void {
  if (!ctx.unit.isHost) ctx.builder.emit({ op: 'work', unit: 'other', count: 0, fence, reads });
}
