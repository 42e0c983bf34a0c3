/** Atomics that the compiler has by itself. */
import { checkLines } from '../machine/check-lines';

describe('__nv_atomic', () => {
  it('loads and stores are made as written', () =>
    checkLines(`k(int *a) {
  int i = threadIdx.x;
  int x = __nv_atomic_load_n(a + i, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE); //= global load 1 x 4 bytes
  int y = __nv_atomic_load_n(a + i, __NV_ATOMIC_RELAXED); //= global load 1 x 4 bytes
  __nv_atomic_store_n(a + 2 * i, x + y, __NV_ATOMIC_RELEASE); //= global store 1 x 4 bytes
}`));

  it('operations are atomics', () =>
    checkLines(`k(float *f, unsigned long long *w) {
  int i = threadIdx.x;
  __nv_atomic_fetch_add(f + i, 1.0f, __NV_ATOMIC_RELAXED); //= global atomic 1 x 4 bytes
  unsigned long long e = 0;
  __nv_atomic_compare_exchange_n(w + i, &e, 1ull, false, 0, 0); //= global atomic 1 x 8 bytes
}`));
});
