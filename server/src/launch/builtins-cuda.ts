/** CUDA runtime calls that launch, ask the device, or report errors. */
import type { Builtin } from './builtins';
import { target } from './builtins-memory';
import { deviceBuiltins } from './device-queries';
import { launchBuiltins } from './launch-functions';
import { store } from './memory';
import { number } from './value';

const success: Builtin = () => number(0);

/** Stores a number behind the first argument. */
function gives(value: number): Builtin {
  return ({ state, values }) => {
    const cell = target(state, values[0]);
    if (cell) store(state, cell, number(value));
    return number(0);
  };
}

export const cudaBuiltins: readonly (readonly [string, Builtin])[] = [
  ...launchBuiltins,
  ...['cudaGetLastError', 'cudaPeekAtLastError', 'cudaDeviceSynchronize', 'cudaSetDevice', 'cudaThreadSynchronize'].map(
    (name): [string, Builtin] => [name, success],
  ),
  ...['cudaFuncSetAttribute', 'cudaFuncSetCacheConfig', 'cudaStreamSynchronize', 'cudaEventRecord'].map(
    (name): [string, Builtin] => [name, success],
  ),
  // One device, the first: as with argc, the plainest run is looked at.
  ['cudaGetDeviceCount', gives(1)],
  ['cudaGetDevice', gives(0)],
  ['findCudaDevice', success],
  ['gpuGetMaxGflopsDeviceId', success],
  ...deviceBuiltins,
];
