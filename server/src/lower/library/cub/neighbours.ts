/**
 * CUB's collectives that look at the items of the threads beside (3.0, nvcc 13.0): every thread stores its first or last item and reads its neighbour's.
 * What the user's functor takes by reference it reads itself.
 */
import { collective, ofBlock } from './common';

const count = '(int)(sizeof(A) / sizeof(in[0]))';
const twoArrays = 'struct TempStorage { T first[X * Y * Z]; T last[X * Y * Z]; };';

const storeLast = `storage->last[linear] = in[${count} - 1];`;
const storeFirst = 'storage->first[linear] = in[0];';

const left = (given: string): string => `
  template <class A, class O, class Op> __device__ void SubtractLeft(A& in, O& out, Op op${given && ', T predecessor'}) {
    int linear = thread();
    ${storeLast}
    __syncthreads();
    #pragma unroll
    for (int i = ${count} - 1; i > 0; i--) out[i] = op(in[i], in[i - 1]);
    if (linear == 0) out[0] = ${given ? 'op(in[0], predecessor)' : 'in[0]'};
    else out[0] = op(in[0], storage->last[linear - 1]);
  }
  template <class A, class O, class Op> __device__ void SubtractLeftPartialTile(A& in, O& out, Op op, int valid${given && ', T predecessor'}) {
    int linear = thread();
    ${storeLast}
    __syncthreads();
    #pragma unroll
    for (int i = ${count} - 1; i > 0; i--) {
      if (linear * ${count} + i < valid) out[i] = op(in[i], in[i - 1]);
      else out[i] = in[i];
    }
    if (valid <= linear * ${count}) out[0] = in[0];
    else if (linear == 0) out[0] = ${given ? 'op(in[0], predecessor)' : 'in[0]'};
    else out[0] = op(in[0], storage->last[linear - 1]);
  }`;

const right = `
  template <class A, class O, class Op> __device__ void SubtractRight(A& in, O& out, Op op) {
    int linear = thread();
    ${storeFirst}
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < ${count} - 1; i++) out[i] = op(in[i], in[i + 1]);
    if (linear == THREADS - 1) out[${count} - 1] = in[${count} - 1];
    else out[${count} - 1] = op(in[${count} - 1], storage->first[linear + 1]);
  }
  template <class A, class O, class Op> __device__ void SubtractRight(A& in, O& out, Op op, T successor) {
    int linear = thread();
    ${storeFirst}
    __syncthreads();
    T next = linear == THREADS - 1 ? successor : storage->first[linear + 1];
    #pragma unroll
    for (int i = 0; i < ${count} - 1; i++) out[i] = op(in[i], in[i + 1]);
    out[${count} - 1] = op(in[${count} - 1], next);
  }
  template <class A, class O, class Op> __device__ void SubtractRightPartialTile(A& in, O& out, Op op, int valid) {
    int linear = thread();
    ${storeFirst}
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < ${count} - 1; i++) {
      if (linear * ${count} + i < valid - 1) out[i] = op(in[i], in[i + 1]);
      else out[i] = in[i];
    }
    if ((linear + 1) * ${count} < valid) out[${count} - 1] = op(in[${count} - 1], storage->first[linear + 1]);
    else out[${count} - 1] = in[${count} - 1];
  }`;

const heads = (given: boolean): string => {
  const previous = given
    ? 'T before = linear == 0 ? predecessor : storage->last[linear - 1]; heads[0] = flag(op, before, in[0], linear * N);'
    : 'if (linear == 0) heads[0] = 1; else { T before = storage->last[linear - 1]; heads[0] = flag(op, before, in[0], linear * N); }';
  return `${previous}
    #pragma unroll
    for (int i = 1; i < N; i++) heads[i] = flag(op, in[i - 1], in[i], linear * N + i);`;
};
const tails = (given: boolean): string => {
  const next = given
    ? 'T after = linear == THREADS - 1 ? successor : storage->first[linear + 1]; tails[N - 1] = flag(op, in[N - 1], after, linear * N + N);'
    : 'if (linear == THREADS - 1) tails[N - 1] = 1; else tails[N - 1] = flag(op, in[N - 1], storage->first[linear + 1], linear * N + N);';
  return `${next}
    #pragma unroll
    for (int i = 0; i < N - 1; i++) tails[i] = flag(op, in[i], in[i + 1], linear * N + i + 1);`;
};
const flagMethod = (name: string, parameters: string, stores: string, body: string): string => `
  template <class F, int N, class Op> __device__ void ${name}(${parameters}) {
    int linear = thread();
    ${stores}
    __syncthreads();
    ${body}
  }`;
const lastOfN = 'storage->last[linear] = in[N - 1];';
const both = `${storeFirst} ${lastOfN}`;

const flags = `
  // a functor may take the index too
  template <class Op> __device__ static auto flag(Op op, const T& a, const T& b, int at) -> decltype(op(a, b)) { return op(a, b); }
  ${[false, true]
    .map(
      (given) => `
  ${flagMethod('FlagHeads', `F (&heads)[N], T (&in)[N], Op op${given ? ', T predecessor' : ''}`, lastOfN, heads(given))}
  ${flagMethod('FlagTails', `F (&tails)[N], T (&in)[N], Op op${given ? ', T successor' : ''}`, storeFirst, tails(given))}`,
    )
    .join('')}
  ${flagMethod('FlagHeadsAndTails', 'F (&heads)[N], F (&tails)[N], T (&in)[N], Op op', both, heads(false) + tails(false))}
  ${flagMethod('FlagHeadsAndTails', 'F (&heads)[N], F (&tails)[N], T successor, T (&in)[N], Op op', both, heads(false) + tails(true))}
  ${flagMethod('FlagHeadsAndTails', 'F (&heads)[N], T predecessor, F (&tails)[N], T (&in)[N], Op op', both, heads(true) + tails(false))}
  ${flagMethod('FlagHeadsAndTails', 'F (&heads)[N], T predecessor, F (&tails)[N], T successor, T (&in)[N], Op op', both, heads(true) + tails(true))}`;

const shuffle = `
  __device__ void Offset(T in, T& out, int by = 1) {
    int linear = thread();
    storage->items[linear] = in;
    __syncthreads();
    if (linear + by >= 0 && linear + by < THREADS) out = storage->items[linear + by];
  }
  __device__ void Rotate(T in, T& out, unsigned by = 1) {
    unsigned linear = thread();
    storage->items[linear] = in;
    __syncthreads();
    unsigned at = linear + by;
    if (at >= THREADS) at -= THREADS;
    out = storage->items[at];
  }
  template <int N> __device__ void Up(T (&in)[N], T (&out)[N]) {
    int linear = thread();
    storage->items[linear] = in[N - 1];
    __syncthreads();
    #pragma unroll
    for (int i = N - 1; i > 0; --i) out[i] = in[i - 1];
    if (linear > 0) out[0] = storage->items[linear - 1];
  }
  template <int N> __device__ void Up(T (&in)[N], T (&out)[N], T& last) { Up(in, out); last = storage->items[THREADS - 1]; }
  template <int N> __device__ void Down(T (&in)[N], T (&out)[N]) {
    int linear = thread();
    storage->items[linear] = in[0];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < N - 1; i++) out[i] = in[i + 1];
    if (linear < THREADS - 1) out[N - 1] = storage->items[linear + 1];
  }
  template <int N> __device__ void Down(T (&in)[N], T (&out)[N], T& first) { Down(in, out); first = storage->items[0]; }`;

const parameters = 'class T, int X, int Y = 1, int Z = 1, int CC = 0';
export const neighbours = `
${collective('BlockAdjacentDifference', parameters, twoArrays, `${ofBlock}${left('')}${left('given')}${right}`)}
${collective('BlockDiscontinuity', parameters, twoArrays, `${ofBlock}${flags}`)}
${collective('BlockShuffle', parameters, 'struct TempStorage { T items[X * Y * Z]; };', `${ofBlock}${shuffle}`)}
`;
