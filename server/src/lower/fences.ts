/** Marks places that no access moves across, though nothing that is counted happens there (machine/memory-overlap.ts). */
import type { Fence } from '../program/program';
import type { Context } from './context';

/** @param fence 'memory' where the assembler keeps the order too, 'code' where only the front end does: volatile inline assembly, and 'call' */
export function emitFence(ctx: Context, fence: Fence): void {
  if (!ctx.unit.isHost) ctx.builder.emit({ op: 'work', unit: 'other', count: 0, fence });
}
