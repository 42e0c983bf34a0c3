// Answers occupancy questions with the CUDA toolkit's own occupancy header, which needs no GPU. One question a line on
// standard input, one answer a line on standard output; see compare.ts for who asks.
//
// Question: major minor threadsPerBlock threadsPerSm registersPerBlock registersPerSm sharedPerBlock sharedPerSm
//           sharedPerBlockOptIn reservedShared   block registers shared barriers caching carveoutPercent cacheConfig
// Answer:   status blocks limitWarps limitBlocks limitRegisters limitShared limitBarriers factors allocatedRegisters
//           allocatedShared
#include <cstdio>
#include <cuda_occupancy.h>

int main() {
  cudaOccDeviceProp device;
  cudaOccFuncAttributes function;
  cudaOccDeviceState state;
  device.warpSize = 32;
  device.numSms = 1;
  function.maxThreadsPerBlock = INT_MAX;
  function.sharedSizeBytes = 0;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  int block, caching, cacheConfig;
  size_t shared;
  while (scanf("%d %d %d %d %d %d %zu %zu %zu %zu %d %d %zu %d %d %d %d", &device.computeMajor, &device.computeMinor,
               &device.maxThreadsPerBlock, &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
               &device.regsPerMultiprocessor, &device.sharedMemPerBlock, &device.sharedMemPerMultiprocessor,
               &device.sharedMemPerBlockOptin, &device.reservedSharedMemPerBlock, &block, &function.numRegs, &shared,
               &function.numBlockBarriers, &caching, &state.carveoutConfig, &cacheConfig) == 17) {
    function.partitionedGCConfig = static_cast<cudaOccPartitionedGCConfig>(caching);
    function.maxDynamicSharedSizeBytes = shared;
    state.cacheConfig = static_cast<cudaOccCacheConfig>(cacheConfig);
    cudaOccResult result = {};
    const int status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, block, shared);
    printf("%d %d %d %d %d %d %d %u %d %zu\n", status, result.activeBlocksPerMultiprocessor, result.blockLimitWarps,
           result.blockLimitBlocks, result.blockLimitRegs, result.blockLimitSharedMem, result.blockLimitBarriers,
           result.limitingFactors, result.allocatedRegistersPerBlock, result.allocatedSharedMemPerBlock);
  }
}
