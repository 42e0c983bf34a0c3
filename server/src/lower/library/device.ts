/** What host code asks the device. The answers come from `__warplens_device`, by their place in the list of members. */
import { attributes, memberNames, wideMembers } from '../../hardware/device-properties';

/** Every answer, arrays one element after the other. */
export const deviceAnswers: readonly (readonly [member: string, element: number])[] = memberNames.flatMap(
  ([name, length = 1]) => Array.from({ length }, (_, element) => [name, element] as const),
);

const answer = (member: string, element = 0): string => {
  const at = deviceAnswers.findIndex((each) => each[0] === member && each[1] === element);
  return `__warplens_device(${at})`;
};

const members = memberNames.map(
  ([name, length]) =>
    `${wideMembers.has(name) ? 'unsigned long' : 'int'} ${name}${length === undefined ? '' : `[${length}]`};`,
);

const assignments = memberNames.flatMap(([name, length]) =>
  length === undefined
    ? [`p->${name} = ${answer(name)};`]
    : Array.from({ length }, (_, element) => `p->${name}[${element}] = ${answer(name, element)};`),
);

export const device = `
struct cudaDeviceProp { char name[256]; ${members.join(' ')} };
inline int cudaGetDeviceProperties(cudaDeviceProp* p, int) { ${assignments.join(' ')} return 0; }
enum cudaDeviceAttr { ${attributes.map(([name, number]) => `cudaDevAttr${name} = ${number}`).join(', ')} };
inline int cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  int found = __warplens_unknown<int>(attribute);
  ${attributes.map(([name, , member, element]) => `if (attribute == cudaDevAttr${name}) found = ${answer(member, element)};`).join('\n  ')}
  *value = found;
  return 0;
}
// as for the occupancy below, registers are not asked for: most kernels may have the largest block
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
};
template <class K> int cudaFuncGetAttributes(cudaFuncAttributes* found, K) {
  found->maxThreadsPerBlock = ${answer('maxThreadsPerBlock')};
  return 0;
}
inline int __resident_blocks(int threads, size_t shared) {
  int blocks = ${answer('maxThreadsPerMultiProcessor')} / ((threads + 31) / 32 * 32);
  size_t bytes = (shared + ${answer('reservedSharedMemPerBlock')} + 127) / 128 * 128;
  int fitting = bytes == 0 ? blocks : (int)(${answer('sharedMemPerMultiprocessor')} / bytes);
  int most = ${answer('maxBlocksPerMultiProcessor')};
  if (fitting < blocks) blocks = fitting;
  return blocks < most ? blocks : most;
}
template <class K> int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, K, int threads, size_t shared) {
  *blocks = __resident_blocks(threads, shared);
  return 0;
}
template <class K> int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, K kernel, int threads, size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}
template <class K, class F> int cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, K, F shared, int limit = 0) {
  int most = ${answer('maxThreadsPerBlock')};
  if (limit > 0 && limit < most) most = limit;
  bool fixed = (size_t)shared(most) == (size_t)shared(32);
  int best = 0, threads = 0;
  for (int size = most; size > 0; size = (size + 31) / 32 * 32 - 32) {
    size_t bytes = shared(size);
    // what varies with the block is at most what a block may have without asking for more
    if (!fixed && bytes > ${answer('sharedMemPerBlock')}) continue;
    int all = size * __resident_blocks(size, bytes);
    if (all > threads) { threads = all; best = size; }
  }
  *block = best;
  *grid = best == 0 ? 0 : ${answer('multiProcessorCount')} * (threads / best);
  return 0;
}
template <class K, class F> int cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* grid, int* block, K kernel, F shared, int limit = 0, unsigned = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, shared, limit);
}
template <class K> int cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, K kernel, size_t shared = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, [=](int) { return shared; }, limit);
}
template <class K> int cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, K kernel, size_t shared = 0, int limit = 0, unsigned = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, shared, limit);
}
template <class K> int cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, K, int blocks, int threads) {
  if (blocks <= 0) return 1;
  size_t left = ${answer('sharedMemPerMultiprocessor')} / blocks / 128 * 128;
  *bytes = left < ${answer('sharedMemPerBlock')} ? left : ${answer('sharedMemPerBlock')};
  return 0;
}
`;
