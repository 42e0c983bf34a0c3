#pragma once
#include <cuda_runtime.h>

namespace asmx {

using Key = unsigned long long;
constexpr Key kEmpty = ~0ull;

struct TableView {
    Key* key;
    unsigned* count;
    int* id;      // dense number of a solid k-mer or -1
    unsigned mask;
};

__device__ __forceinline__ unsigned mix(Key x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    return static_cast<unsigned>(x);
}

// dense id of a k-mer, -1 when absent or not solid
__device__ inline int lookup(const TableView& t, Key k) {
    unsigned s = mix(k) & t.mask;
    for (;;) {
        Key have = t.key[s];
        if (have == k) return t.id[s];
        if (have == kEmpty) return -1;
        s = (s + 1) & t.mask;
    }
}

__device__ __forceinline__ Key successor(Key k, int base, Key kmask) { return ((k << 2) | Key(base)) & kmask; }
__device__ __forceinline__ Key predecessor(Key k, int base, int klen) {
    return (k >> 2) | (Key(base) << (2 * (klen - 1)));
}

}  // namespace asmx
