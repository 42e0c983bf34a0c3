// When do the phases of an 8- or 16-byte shared load run together? Random addresses under several
// rules for which lanes share one. As in request_shapes.cu the addresses come from a table; here each
// load waits for the one before it, so that the instructions keep the table's order.
#include "common.h"

#define KINDS 12
#define SAMPLES 6
#define SHAPES (KINDS * SAMPLES)
#define ELEMENTS 512

static void fill(int kind, Random &r, int *lane)
{
    for (int q = 0; q < 8; ++q) {
        int a = r.below(ELEMENTS), b = r.below(ELEMENTS), near = r.below(16) * 2, x[4];
        bool off = r.below(3) == 0;
        switch (kind) {
        case 0: x[0] = x[2] = a; x[1] = x[3] = b; break;                                 // n and n xor 2, anywhere
        case 1: x[0] = x[2] = a & ~1; x[1] = x[3] = a | 1; break;                        // n and n xor 2, neighbours
        case 2: x[0] = x[2] = near; x[1] = x[3] = near + 32; break;                      // n and n xor 2, one bank
        case 3: x[0] = x[1] = a; x[2] = x[3] = b; break;                                 // n and n xor 1, anywhere
        case 4: x[0] = x[1] = near; x[2] = x[3] = near + 32; break;                      // n and n xor 1, one bank
        case 5: x[0] = x[1] = x[2] = x[3] = a; break;                                    // fours
        case 6: x[0] = x[2] = 4 * q; x[1] = x[3] = q == 3 ? 4 * q + 32 : 4 * q + 1; break;   // one four of them in conflict
        case 7: x[0] = a; x[1] = off ? -1 : a; x[2] = b; x[3] = off ? b : -1; break;     // pairs with gaps
        case 8: x[0] = a; x[2] = off ? -1 : a; x[1] = b; x[3] = off ? b : -1; break;     // n xor 2 with gaps
        case 9: x[0] = 4 * q; x[1] = off ? -1 : 4 * q + 1; x[2] = off ? 4 * q : -1; x[3] = -1; break;
        case 10: x[0] = x[3] = a; x[1] = x[2] = b; break;                                // n and n xor 3
        default: x[0] = q % 2 ? lane[0] : a; x[1] = q % 2 ? lane[1] : b; x[2] = q % 2 ? lane[2] : a ^ 8; x[3] = q % 2 ? lane[3] : b ^ 8;   // n and n xor 4 (odd fours repeat the first)
        }
        for (int k = 0; k < 4; ++k) lane[q * 4 + k] = x[k];
    }
}

template <int BYTES>
__global__ void chainedLoads(const int *table, float *out)
{
    __shared__ __align__(16) float s[ELEMENTS * BYTES / 4];
    for (int k = threadIdx.x; k < ELEMENTS * BYTES / 4; k += 32) s[k] = 0;
    __syncwarp();
    unsigned int base = (unsigned int)__cvta_generic_to_shared(s);
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        int i = table[p * 32 + threadIdx.x];
        unsigned int zero = 0;
        if (i >= 0) {
            unsigned int a, b, c, d;    // all are needed: unused ones would make the load narrower
            if (BYTES == 8) {
                asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(base + i * BYTES));
                zero = a ^ b;
            } else {
                asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(base + i * BYTES));
                zero = a ^ b ^ c ^ d;
            }
        }
        base += __reduce_add_sync(0xffffffffu, zero);
    }
    out[threadIdx.x] = (float)(base - (unsigned int)__cvta_generic_to_shared(s));
}

int main()
{
    std::vector<int> table(SHAPES * 32);
    Random r(42);
    for (int p = 0; p < SHAPES; ++p)
        fill(p / SAMPLES, r, &table[p * 32]);
    int *t = toDevice(table);
    float *o = deviceZeros<float>(32);
    const std::vector<float> zeros(32, 0.0f);
    bool ok = true;
    chainedLoads<8><<<1, 32>>>(t, o);
    ok &= report("chainedLoads<8>", toHost(o, 32) == zeros);
    chainedLoads<16><<<1, 32>>>(t, o);
    ok &= report("chainedLoads<16>", toHost(o, 32) == zeros);
    if (std::getenv("PRINT_TABLE"))
        for (int i = 0; i < SHAPES * 32; ++i) std::printf("%d%c", table[i], i % 32 == 31 ? '\n' : ' ');
    return ok ? 0 : 1;
}
