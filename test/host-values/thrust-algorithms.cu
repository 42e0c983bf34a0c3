/** Algorithms of Thrust over vectors, pointers to the device and plain pointers with a policy. */
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tabulate.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>
#include <thrust/binary_search.h>
#include <thrust/adjacent_difference.h>

struct square { __host__ __device__ int operator()(int x) const { return x * x; } };
struct is_set { __host__ __device__ bool operator()(int x) const { return x != 0; } };
struct is_odd { __host__ __device__ bool operator()(int x) const { return x % 2 == 1; } };
struct add_scaled {
  int a;
  add_scaled(int by) : a(by) {}
  __host__ __device__ int operator()(int x, int y) const { return a * x + y; }
};
struct sum_of_pair {
  template <class T> __host__ __device__ int operator()(const T& t) const { return thrust::get<0>(t) * 10 + thrust::get<1>(t); }
};
struct write_sum {
  template <class T> __host__ __device__ void operator()(T t) { thrust::get<2>(t) = thrust::get<0>(t) + thrust::get<1>(t); }
};
struct Point { float x, y; };
struct by_x { __host__ __device__ bool operator()(const Point& a, const Point& b) const { return a.x < b.x; } };

template <class V> int digest(const V& v) {
  int n = 0;
  for (size_t i = 0; i < v.size(); i++) n = (n * 31 + (int)v[i]) % 1000003;
  return n;
}

int main() {
  const int n = 1000;
  thrust::host_vector<int> h(n);
  for (int i = 0; i < n; i++) h[i] = (i * 7919 + 13) % 997;
  thrust::device_vector<int> d = h;
  show(digest(d)); //= 455318
  thrust::sort(d.begin(), d.end());
  show(digest(d)); //= 27807
  thrust::sort(d.begin(), d.end(), thrust::greater<int>());
  show(digest(d)); //= 23839
  thrust::reverse(d.begin(), d.end());
  show(d[3]); //= 3

  // plain pointers, with a policy
  int* raw = thrust::raw_pointer_cast(d.data());
  thrust::fill(thrust::device, raw, raw + 10, 5);
  show(digest(d)); //= 319383
  show(thrust::reduce(thrust::device, raw, raw + n)); //= 498373
  show(thrust::reduce(thrust::device, raw, raw + n, 0, thrust::maximum<int>())); //= 996
  thrust::inclusive_scan(thrust::device, raw, raw + n, raw);
  show(digest(d)); //= 646751
  thrust::exclusive_scan(thrust::device, raw, raw + n, raw, 7);
  show(digest(d)); //= 283995

  // pointers to the device
  thrust::device_ptr<int> p(raw);
  thrust::copy(h.begin(), h.end(), p);
  show(digest(d)); //= 455318
  thrust::device_ptr<int> q = thrust::device_pointer_cast(raw + 500);
  thrust::sequence(q, q + 500);
  show(p[700]); //= 200
  *q = 3;
  show((int)*(p + 500)); //= 3
  show(q - p); //= 500
  show(thrust::raw_pointer_cast(q) == raw + 500); //= 1
  show(q.get() - p.get()); //= 500
  thrust::sequence(p, p + 100, 4, 3);
  show(digest(d)); //= 288016

  thrust::device_vector<int> e(n), f(n, 2);
  thrust::transform(d.begin(), d.end(), e.begin(), square());
  show(digest(e)); //= 394172
  thrust::transform(d.begin(), d.end(), f.begin(), e.begin(), add_scaled(3));
  show(digest(e)); //= 664536
  thrust::transform(d.begin(), d.end(), f.begin(), e.begin(), thrust::multiplies<int>());
  show(digest(e)); //= 576032
  show(thrust::transform_reduce(d.begin(), d.end(), square(), 0, thrust::plus<int>())); //= 174416068
  show(thrust::inner_product(d.begin(), d.end(), f.begin(), 0)); //= 672960
  show(thrust::count(d.begin(), d.end(), 13)); //= 2
  show(thrust::count_if(d.begin(), d.end(), is_odd())); //= 500
  show(thrust::max_element(d.begin(), d.end()) - d.begin()); //= 490
  show(*thrust::min_element(d.begin(), d.end())); //= 0
  auto both = thrust::minmax_element(d.begin(), d.end());
  show(*both.second - *both.first); //= 996

  // keys and values
  thrust::device_vector<int> keys = h, values(n);
  thrust::sequence(values.begin(), values.end());
  thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
  show(digest(values)); //= 241943
  thrust::stable_sort_by_key(thrust::device, keys.begin(), keys.end(), values.begin(), thrust::greater<int>());
  show(digest(values)); //= 607840
  for (int i = 0; i < n; i++) keys[i] = i / 7;
  thrust::device_vector<int> ks(n), sums(n);
  auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), values.begin(), ks.begin(), sums.begin());
  show(ends.first - ks.begin()); //= 143
  show(digest(sums)); //= 204820
  thrust::exclusive_scan_by_key(keys.begin(), keys.end(), values.begin(), sums.begin());
  show(digest(sums)); //= 740248
  auto counted = thrust::reduce_by_key(keys.begin(), keys.end(), thrust::make_constant_iterator(1), ks.begin(), sums.begin());
  show(counted.second - sums.begin()); //= 143
  show(sums[2]); //= 7

  // what is taken out
  auto last = thrust::copy_if(d.begin(), d.end(), e.begin(), is_odd());
  show(last - e.begin()); //= 500
  e.resize(last - e.begin());
  show(digest(e)); //= 368170
  auto kept = thrust::remove_if(e.begin(), e.end(), is_odd());
  show(kept - e.begin()); //= 0
  thrust::device_vector<int> u = keys;
  u.erase(thrust::unique(u.begin(), u.end()), u.end());
  show(u.size()); //= 143
  thrust::device_vector<int> stencil(n);
  for (int i = 0; i < n; i++) stencil[i] = i % 3 == 0;
  thrust::device_vector<int> found(n);
  auto index = thrust::copy_if(thrust::make_counting_iterator(0), thrust::make_counting_iterator(n), stencil.begin(), found.begin(), is_set());
  show(index - found.begin()); //= 334
  show(digest(found)); //= 718173
  auto middle = thrust::stable_partition(found.begin(), found.end(), is_odd());
  show(middle - found.begin()); //= 167
  show(digest(found)); //= 931628
  thrust::replace_if(found.begin(), found.end(), is_odd(), 8);
  show(digest(found)); //= 967469

  // moved by index
  thrust::device_vector<int> map(n);
  for (int i = 0; i < n; i++) map[i] = (i * 3) % n;
  thrust::gather(map.begin(), map.end(), d.begin(), f.begin());
  show(digest(f)); //= 709354
  thrust::scatter(d.begin(), d.end(), map.begin(), f.begin());
  show(digest(f)); //= 658
  show(thrust::reduce(thrust::make_permutation_iterator(d.begin(), map.begin()), thrust::make_permutation_iterator(d.begin(), map.begin() + 10))); //= 445

  // iterators that compute
  show(thrust::reduce(thrust::make_transform_iterator(d.begin(), square()), thrust::make_transform_iterator(d.end(), square()), 0)); //= 174416068
  auto zipped = thrust::make_zip_iterator(thrust::make_tuple(d.begin(), f.begin()));
  thrust::device_vector<int> z(n);
  thrust::transform(zipped, zipped + n, z.begin(), sum_of_pair());
  show(digest(z)); //= 880812
  thrust::for_each(thrust::make_zip_iterator(thrust::make_tuple(d.begin(), f.begin(), z.begin())),
                   thrust::make_zip_iterator(thrust::make_tuple(d.end(), f.end(), z.end())), write_sum());
  show(digest(z)); //= 288674
  int* out = thrust::raw_pointer_cast(z.data());
  thrust::for_each(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n), [=] __device__(int i) { out[i] = 2 * i + out[i] % 5; });
  show(digest(z)); //= 118257
  thrust::for_each_n(thrust::host, thrust::counting_iterator<int>(5), 10, [=] __device__(int i) { out[i] = i; });
  show(digest(z)); //= 485945
  thrust::tabulate(z.begin(), z.end(), square());
  show(digest(z)); //= 812009

  // records
  thrust::host_vector<Point> points(100);
  for (int i = 0; i < 100; i++) points[i] = Point{(float)((i * 37) % 101), (float)i};
  thrust::device_vector<Point> on_device = points;
  thrust::sort(on_device.begin(), on_device.end(), by_x());
  points = on_device;
  show(points[10].y); //= 3
  show(points[57].y); //= 7

  // looked for
  thrust::device_vector<int> sorted = h;
  thrust::sort(sorted.begin(), sorted.end());
  show(thrust::lower_bound(sorted.begin(), sorted.end(), 300) - sorted.begin()); //= 301
  thrust::device_vector<int> wanted(5), at(5);
  for (int i = 0; i < 5; i++) wanted[i] = i * 100;
  thrust::upper_bound(sorted.begin(), sorted.end(), wanted.begin(), wanted.end(), at.begin());
  show(digest(at)); //= 166077
  show(thrust::is_sorted(sorted.begin(), sorted.end())); //= 1
  show(thrust::equal(sorted.begin(), sorted.end(), h.begin())); //= 0
  show(thrust::any_of(sorted.begin(), sorted.end(), is_odd())); //= 1
  show(thrust::find(sorted.begin(), sorted.end(), 500) - sorted.begin()); //= 501
  thrust::adjacent_difference(sorted.begin(), sorted.end(), e.begin());
  show(e[1]); //= 1
  thrust::device_vector<int> merged(n + 5);
  thrust::merge(sorted.begin(), sorted.end(), wanted.begin(), wanted.end(), merged.begin());
  show(digest(merged)); //= 334199
  thrust::swap(d, f);
  show(digest(d)); //= 658
  return 0;
}
