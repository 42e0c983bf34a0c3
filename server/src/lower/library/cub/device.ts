/**
 * CUB's algorithms over memory of the device, on the host: what they leave there. Called without storage they tell how much they need; that is some
 * number here. Of a sort by some bits of a key these decide.
 */
const twoCalls = `if (storage == nullptr) { bytes = 1024; return cudaSuccess; }`;
const ARGUMENTS = 'void* storage, size_t& bytes';

/** What is written may be the device's memory. */
const touched = (parameters: string): string =>
  parameters
    .split(', ')
    .map((parameter) => `__touch(${/\w+$/.exec(parameter)?.[0]});`)
    .join(' ');

/** A function that is called once for the size and once for the work; streams behind are nothing to it. */
const method = (name: string, types: string, parameters: string, body: string): string => `
  template <${types}> static cudaError_t ${name}(${ARGUMENTS}, ${parameters}, cudaStream_t stream = 0) { ${twoCalls} ${touched(parameters)} ${body} return cudaSuccess; }`;

const folded = (name: string, first: string, join: string): string =>
  method(name, 'class I, class O, class N', 'I in, O out, N n', `__fold(in, out, n, ${first}, ${join});`);

/** The place of the most, or the least. */
const foundAt = (name: string, before: string): string =>
  method(
    name,
    'class I, class O, class N',
    'I in, O out, N n',
    `N at = 0; for (N i = 1; i < n; ++i) if (${before}) at = i; (*out).key = at; (*out).value = in[at];`,
  );

/** Something for each run of equal keys, which stand together. */
const ofRuns = (keys: string, to: string, first: string, next: string, count: string): string => `
    int run = -1;
    for (N i = 0; i < n; ++i) {
      if (i == 0 || !(${keys}[i] == ${keys}[i - 1])) { run = run + 1; unique[run] = ${keys}[i]; ${to}[run] = ${first}; }
      else ${to}[run] = ${next};
    }
    *${count} = run + 1;`;

const reduce = `
struct DeviceReduce {
  template <class I, class O, class N, class V, class F> static void __fold(I in, O out, N n, V sum, F join) { for (N i = 0; i < n; ++i) sum = join(sum, in[i]); *out = sum; }
  ${folded('Sum', '__element(in)', 'cub::Sum()')}
  ${method('Max', 'class I, class O, class N', 'I in, O out, N n', '__fold(in + 1, out, n - 1, __copied(*in), cub::Max());')}
  ${method('Min', 'class I, class O, class N', 'I in, O out, N n', '__fold(in + 1, out, n - 1, __copied(*in), cub::Min());')}
  ${foundAt('ArgMax', 'in[at] < in[i]')}
  ${foundAt('ArgMin', 'in[i] < in[at]')}
  ${method('Reduce', 'class I, class O, class N, class F, class V', 'I in, O out, N n, F join, V first', '__fold(in, out, n, first, join);')}
  ${method('TransformReduce', 'class I, class O, class N, class F, class G, class V', 'I in, O out, N n, F join, G of, V first', 'V sum = first; for (N i = 0; i < n; ++i) sum = join(sum, of(in[i])); *out = sum;')}
  ${method(
    'ReduceByKey',
    'class K, class U, class I, class O, class R, class F, class N',
    'K keys, U unique, I in, O out, R runs, F join, N n',
    ofRuns('keys', 'out', 'in[i]', 'join(out[run], in[i])', 'runs'),
  )}
};
struct DeviceSegmentedReduce {
  template <class I, class O, class B, class E, class V, class F> static void __folds(I in, O out, int n, B begin, E end, V first, F join) {
    for (int s = 0; s < n; ++s) { V sum = first; for (auto i = begin[s]; i < end[s]; ++i) sum = join(sum, in[i]); out[s] = sum; }
  }
  ${method('Sum', 'class I, class O, class B, class E', 'I in, O out, int n, B begin, E end', '__folds(in, out, n, begin, end, __element(in), cub::Sum());')}
  ${method('Max', 'class I, class O, class B, class E', 'I in, O out, int n, B begin, E end', '__folds(in, out, n, begin, end, __lowest(in), cub::Max());')}
  ${method('Min', 'class I, class O, class B, class E', 'I in, O out, int n, B begin, E end', '__folds(in, out, n, begin, end, __highest(in), cub::Min());')}
  ${method('Reduce', 'class I, class O, class B, class E, class F, class V', 'I in, O out, int n, B begin, E end, F join, V first', '__folds(in, out, n, begin, end, first, join);')}
};`;

/** Also in place, with the memory named once. */
const scanned = (name: string, more: string, types: string, work: string): string => `
  ${method(name, `class I, class O, class N${types}`, `I in, O out, ${more}N n`, work)}
  ${method(name, `class I, class N${types}`, `I in, ${more}N n`, `I out = in; ${work}`)}`;

const inclusive = (join: string): string =>
  `if (n > 0) { auto sum = __copied(*in); out[0] = sum; for (N i = 1; i < n; ++i) { sum = ${join}(sum, in[i]); out[i] = sum; } }`;
const exclusive = (type: string, first: string, join: string): string =>
  `${type} sum = ${first}; for (N i = 0; i < n; ++i) { auto now = sum; sum = ${join}(sum, in[i]); out[i] = now; }`;

const scan = `
struct DeviceScan {
  ${scanned('InclusiveSum', '', '', inclusive('Sum()'))}
  ${scanned('ExclusiveSum', '', '', exclusive('auto', '__element(in)', 'Sum()'))}
  ${scanned('InclusiveScan', 'F join, ', ', class F', inclusive('join'))}
  ${scanned('ExclusiveScan', 'F join, V first, ', ', class F, class V', exclusive('V', 'first', 'join'))}
};`;

const KEY_BITS = 'int low = 0, int high = 8 * sizeof(K)';

/** Ascending and descending, keys alone or with values, between two places or within two buffers. */
const sortedBothWays = (suffix: string, order: string): string => `
  template <class K, class N> static cudaError_t SortKeys${suffix}(${ARGUMENTS}, const K* in, K* out, N n, ${KEY_BITS}, cudaStream_t stream = 0) {
    ${twoCalls} __touch(out); __sorted(in, out, (const int*)nullptr, (int*)nullptr, n, low, high, ${order}); return cudaSuccess;
  }
  template <class K, class N> static cudaError_t SortKeys${suffix}(${ARGUMENTS}, DoubleBuffer<K>& keys, N n, ${KEY_BITS}, cudaStream_t stream = 0) {
    ${twoCalls} __touch(keys.Alternate()); __sorted((const K*)keys.Current(), keys.Alternate(), (const int*)nullptr, (int*)nullptr, n, low, high, ${order}); keys.selector ^= 1; return cudaSuccess;
  }
  template <class K, class V, class N> static cudaError_t SortPairs${suffix}(${ARGUMENTS}, const K* in, K* out, const V* from, V* to, N n, ${KEY_BITS}, cudaStream_t stream = 0) {
    ${twoCalls} __touch(out); __touch(to); __sorted(in, out, from, to, n, low, high, ${order}); return cudaSuccess;
  }
  template <class K, class V, class N> static cudaError_t SortPairs${suffix}(${ARGUMENTS}, DoubleBuffer<K>& keys, DoubleBuffer<V>& values, N n, ${KEY_BITS}, cudaStream_t stream = 0) {
    ${twoCalls} __touch(keys.Alternate()); __touch(values.Alternate()); __sorted((const K*)keys.Current(), keys.Alternate(), (const V*)values.Current(), values.Alternate(), n, low, high, ${order});
    keys.selector ^= 1;
    values.selector ^= 1;
    return cudaSuccess;
  }`;

const sorts = `
template <class T> struct DoubleBuffer {
  T* d_buffers[2];
  int selector;
  DoubleBuffer() : selector(0) { d_buffers[0] = nullptr; d_buffers[1] = nullptr; }
  DoubleBuffer(T* current, T* alternate) : selector(0) { d_buffers[0] = current; d_buffers[1] = alternate; }
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};
template <class K> K __digits(K key, int low, int high) {
  if constexpr (std::is_integral<K>::value) {
    if (low == 0 && high == 8 * sizeof(K)) return key;
    K digits = key >> low;
    return high - low < 8 * sizeof(K) ? K(digits & ((K(1) << (high - low)) - 1)) : digits;
  } else return key;
}
template <class K, class V, class N> void __sorted(const K* in, K* out, const V* from, V* to, N n, int low, int high, bool isDescending) {
  std::vector<K> keys(n);
  std::vector<unsigned> order(n);
  for (N i = 0; i < n; ++i) { keys[i] = __digits(in[i], low, high); order[i] = i; }
  if (isDescending) std::stable_sort(order.begin(), order.end(), [&](unsigned x, unsigned y) { return keys[y] < keys[x]; });
  else std::stable_sort(order.begin(), order.end(), [&](unsigned x, unsigned y) { return keys[x] < keys[y]; });
  for (N i = 0; i < n; ++i) keys[i] = in[order[i]];
  for (N i = 0; i < n; ++i) out[i] = keys[i];
  if (from == nullptr) return;
  std::vector<V> values(n);
  for (N i = 0; i < n; ++i) values[i] = from[order[i]];
  for (N i = 0; i < n; ++i) to[i] = values[i];
}
struct DeviceRadixSort {
  ${sortedBothWays('', 'false')}
  ${sortedBothWays('Descending', 'true')}
};
struct DeviceMergeSort {
  ${method('SortKeys', 'class I, class N, class F', 'I keys, N n, F before', 'std::stable_sort(keys, keys + n, before);')}
  ${method('StableSortKeys', 'class I, class N, class F', 'I keys, N n, F before', 'std::stable_sort(keys, keys + n, before);')}
};
struct DeviceSegmentedRadixSort {
  ${method('SortKeys', 'class K, class N, class B, class E', 'const K* in, K* out, N n, int segments, B begin, E end', 'for (int s = 0; s < segments; ++s) __sorted(in + begin[s], out + begin[s], (const int*)nullptr, (int*)nullptr, end[s] - begin[s], 0, 8 * sizeof(K), false);')}
  ${method('SortPairs', 'class K, class V, class N, class B, class E', 'const K* in, K* out, const V* from, V* to, N n, int segments, B begin, E end', 'for (int s = 0; s < segments; ++s) __sorted(in + begin[s], out + begin[s], from + begin[s], to + begin[s], end[s] - begin[s], 0, 8 * sizeof(K), false);')}
};`;

/** Keeps what a condition holds for. */
const kept = (condition: string): string =>
  `N kept = 0; for (N i = 0; i < n; ++i) if (${condition}) { out[kept] = in[i]; kept = kept + 1; } *count = kept;`;

const selections = `
struct DeviceSelect {
  ${method('Flagged', 'class I, class G, class O, class C, class N', 'I in, G flags, O out, C count, N n', kept('flags[i]'))}
  ${method('If', 'class I, class O, class C, class N, class F', 'I in, O out, C count, N n, F f', kept('f(in[i])'))}
  ${method('Unique', 'class I, class O, class C, class N', 'I in, O out, C count, N n', kept('i == 0 || !(in[i] == in[i - 1])'))}
};
struct DevicePartition {
  template <class I, class O, class N, class F> static N __parted(I in, O out, N n, F f) {
    N kept = 0, behind = n;
    for (N i = 0; i < n; ++i) if (f(i)) { out[kept] = in[i]; kept = kept + 1; } else { behind = behind - 1; out[behind] = in[i]; }
    return kept;
  }
  ${method('Flagged', 'class I, class G, class O, class C, class N', 'I in, G flags, O out, C count, N n', '*count = __parted(in, out, n, [&](N i) { return bool(flags[i]); });')}
  ${method('If', 'class I, class O, class C, class N, class F', 'I in, O out, C count, N n, F f', '*count = __parted(in, out, n, [&](N i) { return bool(f(in[i])); });')}
};
struct DeviceRunLengthEncode {
  ${method(
    'Encode',
    'class I, class U, class L, class C, class N',
    'I in, U unique, L lengths, C count, N n',
    ofRuns('in', 'lengths', '1', 'lengths[run] + 1', 'count'),
  )}
};
struct DeviceHistogram {
  ${method(
    'HistogramEven',
    'class I, class C, class L, class N',
    'I in, C* counts, int levels, L lower, L upper, N n',
    `int bins = levels - 1;
    for (int i = 0; i < bins; ++i) counts[i] = 0;
    for (N i = 0; i < n; ++i) if (in[i] >= lower && in[i] < upper) { int bin = int((in[i] - lower) * bins / (upper - lower)); counts[bin] = counts[bin] + 1; }`,
  )}
};`;

export const cubOnDevice = `
namespace cub {
template <class A> void __touch(const A& a) {}
template <class T> void __touch(T* p) { __warplens_touch(p); }
template <class I> auto __copied(const I& x) { return x; }
template <class I> auto __element(I in) { auto x = *in; x = decltype(x)(); return x; }
template <class I> auto __lowest(I in) { auto x = *in; return std::numeric_limits<decltype(x)>::lowest(); }
template <class I> auto __highest(I in) { auto x = *in; return std::numeric_limits<decltype(x)>::max(); }
${reduce}
${scan}
${sorts}
${selections}
}
`;
