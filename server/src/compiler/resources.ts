/** What `ptxas -v` says about kernels. */

export interface KernelResources {
  readonly mangled: string;
  /** As the source writes it, with template arguments; the mangled name where that is not known. */
  readonly name: string;
  readonly registers: number;
  /** Bytes of stack (local memory) a thread. */
  readonly stackBytes: number;
  readonly spillStoreBytes: number;
  readonly spillLoadBytes: number;
  /** Static shared memory of a block in bytes. */
  readonly sharedBytes: number;
  readonly constantBytes: number;
  readonly barriers: number;
}

/**
 * Kernels in the order of the messages. Two lines belong to one: `Function properties for f` with stack and spills,
 * and `Used 32 registers, used 1 barriers, 4096 bytes smem, 380 bytes cmem[0]`.
 */
export function parseResources(messages: string): KernelResources[] {
  const kernels: KernelResources[] = [];
  let current = '';
  let isEntry = false;
  let stack = { stackBytes: 0, spillStoreBytes: 0, spillLoadBytes: 0 };
  for (const line of messages.split('\n')) {
    const entry = /Compiling entry function '([^']+)'/.exec(line);
    if (entry) {
      current = entry[1];
      isEntry = true;
      stack = { stackBytes: 0, spillStoreBytes: 0, spillLoadBytes: 0 };
      continue;
    }
    const properties = /Function properties for '?([^\s']+)'?/.exec(line);
    if (properties) {
      isEntry = properties[1] === current;
      continue;
    }
    const frame = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
    if (frame && isEntry) {
      stack = { stackBytes: Number(frame[1]), spillStoreBytes: Number(frame[2]), spillLoadBytes: Number(frame[3]) };
      continue;
    }
    const used = /Used (\d+) registers(.*)/.exec(line);
    if (used && current !== '') {
      kernels.push({ mangled: current, name: current, registers: Number(used[1]), ...stack, ...usageOf(used[2]) });
      current = '';
    }
  }
  return kernels;
}

/** `, used 1 barriers, 1024+16 bytes smem, 372 bytes cmem[0]`: static and system parts are added up. */
function usageOf(text: string): Pick<KernelResources, 'sharedBytes' | 'constantBytes' | 'barriers'> {
  const sum = (found: string | undefined) => (found ?? '0').split('+').reduce((total, part) => total + Number(part), 0);
  const constants = [...text.matchAll(/([\d+]+) bytes cmem\[\d+\]/g)].map((match) => sum(match[1]));
  return {
    sharedBytes: sum(/([\d+]+) bytes smem/.exec(text)?.[1]),
    constantBytes: constants.reduce((total, bytes) => total + bytes, 0),
    barriers: Number(/used (\d+) barriers/.exec(text)?.[1] ?? 0),
  };
}
