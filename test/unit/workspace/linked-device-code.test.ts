/** Device functions of other files: `nvcc -rdc=true` links them. */
import { check } from './program-files';

const header = `#pragma once
__device__ int wrap(int x, int n);
__device__ float bump(float* cell);
extern __device__ int turn[4];
struct Grid { int n; __device__ int at(int x) const; };`;
const device = `#include "device.h"
__device__ int turn[4] = {8, 8, 8, 8};
static __device__ int twice(int x) { return 2 * x; }
__device__ int wrap(int x, int n) { return twice(x) % n; }
__device__ float bump(float* cell) {
  return *cell += 1;
}
__device__ int Grid::at(int x) const { return 8 * x % n; }
__global__ void elsewhere(float* p) { p[threadIdx.x] = 0; }`;
const program = (body: string) => `#include "device.h"
__global__ void k(float* out, const float* in) {
  ${body}
}
int main() {
  float *out, *in; cudaMalloc(&out, 4096); cudaMalloc(&in, 4096);
  k<<<1, 32>>>(out, in);
}`;

function checkBody(body: string, expected: readonly string[]): void {
  check({ 'device.h': header, 'device.cu': device, 'main.cu': program(body) }, 'main.cu', expected);
}

describe('device functions of other files', () => {
  it('compute addresses', () => {
    checkBody('out[wrap(threadIdx.x, 1024)] = 0;', ['k:3 store 8/4 32 lanes']);
  });
  it('access at their own places', () => {
    checkBody('out[threadIdx.x] = bump(out + 256 + 8 * threadIdx.x);', [
      'k:device.cu:6 store 32/4 32 lanes',
      'k:3 store 4/4 32 lanes',
      'k:device.cu:6 load 32/4 32 lanes',
    ]);
  });
  it('may be methods', () => {
    checkBody('out[Grid{1024}.at(threadIdx.x)] = 0;', ['k:3 store 32/4 32 lanes']);
  });
  it('separate what is loaded in front of them from what is loaded behind: nothing is inlined', () => {
    checkBody('out[threadIdx.x] = in[0] + wrap(threadIdx.x, 3) + in[0];', [
      'k:3 load 1/1 32 lanes',
      'k:3 load 1/1 32 lanes',
      'k:3 store 4/4 32 lanes',
    ]);
  });
  it('bring variables of the device with them', () => {
    checkBody('out[threadIdx.x] = turn[0];', ['k:3 load 1/1 32 lanes', 'k:3 store 4/4 32 lanes']);
  });
  it('are not known where two files at the same distance define them', () => {
    const files = {
      'device.h': header,
      'device.cu': device,
      'other.cu': device,
      'main.cu': program('out[wrap(threadIdx.x, 9)] = 0;'),
    };
    check(files, 'main.cu', ['k:3 store ?']);
  });
});
