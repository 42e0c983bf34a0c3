/** CUB's algorithms over memory of the device: each is asked for the storage it needs, then called. */
#include <cub/cub.cuh>
struct is_even { __host__ __device__ bool operator()(int x) const { return x % 2 == 0; } };
struct longest { __host__ __device__ int operator()(int a, int b) const { return a < b ? b : a; } };
int digest(const int* a, int n) {
  int d = 0;
  for (int i = 0; i < n; i++) d = (d * 31 + a[i]) % 1000003;
  return d;
}
template <class F> void twice(F call) {
  void* storage = nullptr;
  size_t bytes = 0;
  call(storage, bytes);
  cudaMalloc(&storage, bytes);
  call(storage, bytes);
  cudaFree(storage);
}
int main() {
  const int n = 500;
  int *in, *out, *values, *moved, *count;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&out, n * sizeof(int));
  cudaMallocManaged(&values, n * sizeof(int));
  cudaMallocManaged(&moved, n * sizeof(int));
  cudaMallocManaged(&count, sizeof(int));
  for (int i = 0; i < n; i++) { in[i] = (i * 7919 + 5) % 211; values[i] = i; }
  void* storage = nullptr;
  size_t bytes = 0;
  cub::DeviceReduce::Sum(storage, bytes, in, count, n);
  cudaMalloc(&storage, bytes);
  cub::DeviceReduce::Sum(storage, bytes, in, count, n);
  cudaDeviceSynchronize();
  show(*count); //= 52509
  cub::DeviceReduce::Max(nullptr, bytes, in, count, n);
  cub::DeviceReduce::Max(storage, bytes, in, count, n);
  cudaDeviceSynchronize();
  show(*count); //= 210
  twice([&](void* s, size_t& b) { cub::DeviceReduce::Reduce(s, b, in, count, n, longest(), 100); });
  cudaDeviceSynchronize();
  show(*count); //= 210
  twice([&](void* s, size_t& b) { cub::DeviceScan::ExclusiveSum(s, b, in, out, n); });
  cudaDeviceSynchronize();
  show(digest(out, n)); //= 686655
  twice([&](void* s, size_t& b) { cub::DeviceScan::InclusiveSum(s, b, in, out, n); });
  cudaDeviceSynchronize();
  show(digest(out, n)); //= 338751
  twice([&](void* s, size_t& b) { cub::DeviceScan::InclusiveScan(s, b, in, out, longest(), n); });
  cudaDeviceSynchronize();
  show(digest(out, n)); //= 471736
  twice([&](void* s, size_t& b) { cub::DeviceScan::ExclusiveScan(s, b, in, out, longest(), 7, n); });
  cudaDeviceSynchronize();
  show(digest(out, n)); //= 915802
  twice([&](void* s, size_t& b) { cub::DeviceRadixSort::SortKeys(s, b, in, out, n); });
  cudaDeviceSynchronize();
  show(digest(out, n)); //= 122932
  twice([&](void* s, size_t& b) { cub::DeviceRadixSort::SortPairs(s, b, in, out, values, moved, n); });
  cudaDeviceSynchronize();
  show(digest(moved, n)); //= 802402
  twice([&](void* s, size_t& b) { cub::DeviceRadixSort::SortPairsDescending(s, b, in, out, values, moved, n); });
  cudaDeviceSynchronize();
  show(digest(moved, n)); //= 369436
  twice([&](void* s, size_t& b) { cub::DeviceRadixSort::SortPairs(s, b, in, out, values, moved, n, 2, 5); });
  cudaDeviceSynchronize();
  show(digest(moved, n)); //= 778301
  twice([&](void* s, size_t& b) { cub::DeviceSelect::If(s, b, in, out, count, n, is_even()); });
  cudaDeviceSynchronize();
  show(*count); //= 251
  show(digest(out, *count)); //= 308793
  twice([&](void* s, size_t& b) { cub::DeviceSelect::Flagged(s, b, values, in, out, count, n); });
  cudaDeviceSynchronize();
  show(*count); //= 498
  twice([&](void* s, size_t& b) { cub::DeviceRadixSort::SortKeys(s, b, in, out, n, 0, 32, cudaStream_t(0)); });
  twice([&](void* s, size_t& b) { cub::DeviceRunLengthEncode::Encode(s, b, out, values, moved, count, n); });
  cudaDeviceSynchronize();
  show(*count); //= 211
  show(digest(moved, *count)); //= 488507
  twice([&](void* s, size_t& b) { cub::DeviceReduce::ReduceByKey(s, b, out, values, in, moved, count, longest(), n); });
  cudaDeviceSynchronize();
  show(digest(moved, *count)); //= 599854
  twice([&](void* s, size_t& b) { cub::DeviceHistogram::HistogramEven(s, b, in, moved, 22, 0, 210, n); });
  cudaDeviceSynchronize();
  show(digest(moved, 21)); //= 299235
  twice([&](void* s, size_t& b) { cub::DevicePartition::If(s, b, in, out, count, n, is_even()); });
  cudaDeviceSynchronize();
  show(digest(out, n)); //= 180625
  cub::DoubleBuffer<int> keys(in, out);
  cub::DoubleBuffer<int> held(values, moved);
  twice([&](void* s, size_t& b) { cub::DeviceRadixSort::SortPairs(s, b, keys, held, n); });
  cudaDeviceSynchronize();
  show(digest(keys.Current(), n)); //= 122932
  return 0;
}
