/** A variable is not reached by a store of more bytes than it has. Expectations as the machine code of nvcc 13.0 for sm_90 has them. */
import { checkLines } from './check-lines';

const declared = '__device__ int count; __device__ unsigned char small; struct Loose { float x, y; };';

describe('variables of device memory in loops that store through pointers', () => {
  it('are read once where what is stored is larger', () => {
    checkLines(
      `k(double *out)
{
    for (int i = 0; i < 100; i++)
        out[i * 32 + threadIdx.x] = count; //= global load 1 x 4 bytes, global store 100 x 8 bytes
}`,
      declared,
    );
    checkLines(
      `k(int *out)
{
    for (int i = 0; i < 100; i++)
        out[i * 32 + threadIdx.x] = small; //= global load 1 x 1 bytes, global store 100 x 4 bytes
}`,
      declared,
    );
  });

  it('are read once where both members of an aligned record are stored, one behind the other', () => {
    checkLines(
      `k(float2 *out)
{
    for (int i = 0; i < 100; i++) {
        out[i * 32 + threadIdx.x].x = count; //= global load 1 x 4 bytes
        out[i * 32 + threadIdx.x].y = 2; //= global store 100 x 8 bytes
    }
}`,
      declared,
    );
    checkLines(
      `k(float4 *out)
{
    for (int i = 0; i < 100; i++) {
        out[i * 32 + threadIdx.x].y = count; //= global load 100 x 4 bytes, global store 100 x 4 bytes
        out[i * 32 + threadIdx.x].z = 2; //= global store 100 x 4 bytes
    }
}`,
      declared,
    );
    checkLines(
      `k(float2 *out, float *other)
{
    for (int i = 0; i < 100; i++) {
        out[i * 32 + threadIdx.x].x = count; //= global load 100 x 4 bytes, global store 100 x 4 bytes
        other[i] = 1; //= global store 100 x 4 bytes
        out[i * 32 + threadIdx.x].y = 2; //= global store 100 x 4 bytes
    }
}`,
      declared,
    );
  });

  it('are read once where they bound the loop, and step what is copied', () =>
    checkLines(
      `k(float2 *to)
{
    for (int i = 0; i < count; i++) //= global load 1 x 4 bytes
        to[i] = to[i + count]; //= none
}`,
      declared,
    ));

  it('are read in every pass where it is as large, or a record that is copied by its members', () => {
    checkLines(
      `k(float *out)
{
    for (int i = 0; i < 100; i++)
        out[i * 32 + threadIdx.x] = count; //= global load 100 x 4 bytes, global store 100 x 4 bytes
}`,
      declared,
    );
    checkLines(
      `k(Loose *out, Loose *in)
{
    for (int i = 0; i < 100; i++)
        out[i * 32 + threadIdx.x] = in[i + //= global load 200 x 4 bytes, global store 200 x 4 bytes
            count]; //= global load 100 x 4 bytes
}`,
      declared,
    );
  });

  it('are read in every pass that an atomic changes something in', () =>
    checkLines(
      `k(double *out)
{
    for (int i = 0; i < 100; i++)
        atomicAdd(&out[i * 32 + threadIdx.x], (double)count); //= global load 100 x 4 bytes, global atomic 100 x 8 bytes
}`,
      declared,
    ));
});
