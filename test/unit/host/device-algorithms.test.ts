/** Thrust's and CUB's algorithms over memory of the device, between launches: each launch finds what was there then. */
import { check } from './check-contents';

const checkMain = (body: string): void =>
  check(`
__global__ void kernel(const int* a, int n) { if (a[n]) __nanosleep(n); }
int main() {
  int h[4] = {30, 10, 40, 20};
  int *d, *e;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&e, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
${body}
}`);

describe('algorithms over memory of the device', () => {
  it('of Thrust, by pointers with a policy and by pointers to the device', () => {
    checkMain(`
  kernel<<<1, 32>>>(d, 0); //= a: 30 10 40 20
  thrust::sort(thrust::device, d, d + 4);
  kernel<<<1, 32>>>(d, 1); //= a: 10 20 30 40
  thrust::device_ptr<int> p(e);
  thrust::sequence(p, p + 4, 5);
  kernel<<<1, 32>>>(e, 0); //= a: 5 6 7 8
  auto both = thrust::make_zip_iterator(thrust::make_tuple(d, e));
  thrust::for_each(thrust::device, both, both + 4, [](auto t) { thrust::get<1>(t) += thrust::get<0>(t); });
  kernel<<<1, 32>>>(e, 0); //= a: 15 26 37 48`);
  });

  it('of CUB', () => {
    checkMain(`
  void* room = nullptr;
  size_t bytes = 0;
  cub::DeviceScan::ExclusiveSum(room, bytes, d, e, 4);
  cudaMalloc(&room, bytes);
  kernel<<<1, 32>>>(d, 0); //= a: 30 10 40 20
  cub::DeviceScan::ExclusiveSum(room, bytes, d, e, 4);
  kernel<<<1, 32>>>(e, 0); //= a: 0 30 40 80
  cub::DeviceRadixSort::SortKeys(room, bytes, d, e, 4);
  kernel<<<1, 32>>>(e, 0); //= a: 10 20 30 40
  int* count;
  cudaMalloc(&count, sizeof(int));
  cub::DeviceSelect::If(room, bytes, d, e, count, 4, [](int x) { return x > 15; });
  int n = 0;
  cudaMemcpy(&n, count, sizeof n, cudaMemcpyDeviceToHost);
  kernel<<<1, 32>>>(e, n); //= a: 30 40 20 40, n: 3`);
  });

  it('that store nobody knows where', () => {
    checkMain(`
  int* map;
  cudaMalloc(&map, sizeof h);
  int at[4] = {rand() % 4, 1, 2, (int)time(0)};
  cudaMemcpy(map, at, sizeof at, cudaMemcpyHostToDevice);
  thrust::device_ptr<int> from(d), to(e), places(map);
  thrust::scatter(from, from + 4, places, to);
  kernel<<<1, 32>>>(e, 0); //= a: ? ? ? ?`);
  });
});
