/** Constants of headers that are not read. */
import { number, type Value } from './value';

const integers: Readonly<Record<string, number>> = {
  NULL: 0,
  EXIT_SUCCESS: 0,
  EXIT_FAILURE: 1,
  RAND_MAX: 2147483647,
  CHAR_BIT: 8,
  INT_MAX: 2147483647,
  INT_MIN: -2147483648,
  INT32_MAX: 2147483647,
  SHRT_MAX: 32767,
  UCHAR_MAX: 255,
  USHRT_MAX: 65535,
  warpSize: 32,
  cudaSuccess: 0,
  CUDA_SUCCESS: 0,
  CUBLAS_STATUS_SUCCESS: 0,
  CUFFT_SUCCESS: 0,
  cudaMemcpyHostToHost: 0,
  cudaMemcpyHostToDevice: 1,
  cudaMemcpyDeviceToHost: 2,
  cudaMemcpyDeviceToDevice: 3,
  cudaMemcpyDefault: 4,
};

const unsigned: Readonly<Record<string, number>> = { UINT_MAX: 4294967295, UINT32_MAX: 4294967295 };

const floats: Readonly<Record<string, number>> = {
  M_PI: Math.PI,
  M_E: Math.E,
  M_SQRT2: Math.SQRT2,
  DBL_MAX: Number.MAX_VALUE,
  INFINITY: Number.POSITIVE_INFINITY,
};

/** FLT_MAX and FLT_MIN of IEEE 754 single precision. */
const singles: Readonly<Record<string, number>> = {
  FLT_MAX: 2 ** 128 - 2 ** 104,
  FLT_MIN: 2 ** -126,
  FLT_EPSILON: 2 ** -23,
};

export const wellKnownConstants: ReadonlyMap<string, Value> = new Map<string, Value>([
  ...Object.entries(integers).map(([name, value]): [string, Value] => [name, number(value)]),
  ...Object.entries(unsigned).map(([name, value]): [string, Value] => [name, number(value, 'unsigned int')]),
  ...Object.entries(floats).map(([name, value]): [string, Value] => [name, number(value, 'double')]),
  ...Object.entries(singles).map(([name, value]): [string, Value] => [name, number(value, 'float')]),
]);
