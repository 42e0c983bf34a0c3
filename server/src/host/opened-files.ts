/** Files that the host's program reads: what they hold comes into its memory. A file that it has written holds something else by then. */
import type { HostBlocks } from './host-blocks';
import { HOST_BASE } from './memory-layout';

/** What a file holds, by its name in the program; undefined where it is not to be had. */
export type ReadFile = (name: string) => Uint8Array | undefined;

/** Characters of a name. */
const LONGEST = 4096;
/** Bytes of the length, before what the file holds. */
const LENGTH_BYTES = 8;

export class OpenedFiles {
  /** Names of those that were to be had, so far. */
  read: readonly string[] = [];
  /** What was looked for, by name. */
  readonly opened = new Map<string, Uint8Array | undefined>();
  private readonly written = new Set<string>();

  constructor(private readonly find: ReadFile | undefined) {}

  /**
   * The address of a file's length, its bytes and a 0; 0 where nothing of it is known.
   * @param at place of its name, whose characters are known
   */
  open(blocks: HostBlocks, at: number, isWritten: boolean, memoryClass: number): number {
    const name = textAt(blocks, at);
    if (name === undefined) return 0;
    if (isWritten) this.written.add(name);
    if (this.written.has(name)) return 0;
    const bytes = this.opened.get(name) ?? this.find?.(name);
    this.opened.set(name, bytes);
    if (!bytes) return 0;
    if (!this.read.includes(name)) this.read = [...this.read, name];
    const address = blocks.allocate(LENGTH_BYTES + bytes.length + 1, 0, memoryClass);
    const place = address - HOST_BASE;
    // one that does not fit lies where nothing is kept
    const block = blocks.blockAt(place);
    if (!block || place + LENGTH_BYTES + bytes.length >= block.end) return 0;
    const { memory } = blocks;
    memory.know(place, place + LENGTH_BYTES + bytes.length + 1);
    memory.view.setUint32(place, bytes.length, true);
    memory.view.setUint32(place + 4, 0, true);
    memory.bytes.set(bytes, place + LENGTH_BYTES);
    memory.bytes[place + LENGTH_BYTES + bytes.length] = 0;
    return address;
  }
}

/** A text of the program's memory, up to its 0 (which strings do not write); undefined where a character is not known. */
function textAt({ memory }: HostBlocks, at: number): string | undefined {
  const end = memory.bytes.indexOf(0, at);
  if (at < 0 || end <= at || end - at > LONGEST) return undefined;
  const { bytes, shadows } = memory.save(at, end);
  return shadows?.includes(0) ? undefined : new TextDecoder().decode(bytes);
}
