// Asynchronous copies (cp.async, LDGSTS) of one warp: which spread of sources and targets costs how many wavefronts?
// Sources and targets come from tables; every copy waits for the one before it, so that the instructions keep the
// table's order. README.md draws its rule for these copies from this program.
#include "common.h"

#define KINDS 14
#define SAMPLES 4
#define SHAPES (KINDS * SAMPLES)
#define ELEMENTS 1024

// Different elements for all lanes: a random one of each row of 32.
static void scatter(Random &r, int *lane)
{
    for (int l = 0; l < 32; ++l) lane[l] = l * 32 + r.below(32);
    for (int l = 31; l > 0; --l) {
        int k = r.below(l + 1), t = lane[l];
        lane[l] = lane[k];
        lane[k] = t;
    }
}

static void fill(int kind, int sample, int bytes, Random &r, int *source, int *target)
{
    const int inLine = 128 / bytes;             // elements of a line of 128 bytes
    const int rows = 1 << (sample + 1);         // 2, 4, 8, 16
    int anywhere[32], shuffled[32];
    scatter(r, anywhere);
    for (int l = 0; l < 32; ++l) shuffled[l] = l;
    for (int l = 31; l > 0; --l) {
        int k = r.below(l + 1), t = shuffled[l];
        shuffled[l] = shuffled[k];
        shuffled[k] = t;
    }
    for (int l = 0; l < 32; ++l) {
        int s = l, t = l;
        switch (kind) {
        case 0: s = l + sample; break;                                                      // consecutive, shifted
        case 1: t = l * (sample + 2); break;                                                // targets with a stride
        case 2: s = l * (sample + 2); break;                                                // sources with a stride
        case 3: s = l / (32 / rows) * inLine + l % (32 / rows); break;                      // rows, each in a line of its own
        case 4: s = r.below(rows) * inLine + r.below(inLine); break;                        // anywhere in a few lines
        case 5: s = anywhere[l]; break;                                                     // anywhere
        case 6: t = anywhere[l]; break;
        case 7: s = anywhere[l]; t = l / rows * 31 % 32 * 32 + l; break;
        case 8: s = shuffled[l]; break;                                                     // permuted in place
        case 9: t = shuffled[l]; break;
        case 10: s = sample * 3; break;                                                     // one source
        case 11: s = r.below(3) ? l : -1; break;                                            // some lanes
        case 12: t = l / 4 * (4 + sample) + l % 4; s = l / 4 * 8 * (sample + 1) + l % 4; break;   // rows of 4, padded targets
        default: t = l / 8 * (8 + sample) + l % 8; s = l / 8 * 16 * (sample + 1) + l % 8; break;  // rows of 8, padded targets
        }
        source[l] = s;
        target[l] = t;
    }
}

template <int BYTES, bool THROUGH_L1>
__global__ void copies(const int *sources, const int *targets, const char *data, int *out)
{
    __shared__ __align__(16) int s[ELEMENTS * BYTES / 4];
    for (int k = threadIdx.x; k < ELEMENTS * BYTES / 4; k += 32) s[k] = 0;
    __syncwarp();
    const unsigned int base = (unsigned int)__cvta_generic_to_shared(s);
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        const int from = sources[p * 32 + threadIdx.x];
        const unsigned int to = base + targets[p * 32 + threadIdx.x] * BYTES;
        if (from >= 0) {
            if (THROUGH_L1)
                asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(data + (size_t)from * BYTES), "n"(BYTES) : "memory");
            else
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(data + (size_t)from * BYTES) : "memory");
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __syncwarp();
    for (int k = threadIdx.x; k < ELEMENTS * BYTES / 4; k += 32) out[k] = s[k];
}

template <int BYTES, bool THROUGH_L1>
static bool check(const char *name)
{
    const int words = BYTES / 4;
    std::vector<int> sources(SHAPES * 32), targets(SHAPES * 32), data(ELEMENTS * 4 * words), want(ELEMENTS * words, 0);
    for (size_t i = 0; i < data.size(); ++i) data[i] = (int)i + 1;
    Random r(7);
    for (int p = 0; p < SHAPES; ++p) fill(p / SAMPLES, p % SAMPLES, BYTES, r, &sources[p * 32], &targets[p * 32]);
    for (int i = 0; i < SHAPES * 32; ++i)
        for (int w = 0; w < words && sources[i] >= 0; ++w) want[targets[i] * words + w] = data[sources[i] * words + w];
    int *from = toDevice(sources), *to = toDevice(targets), *in = toDevice(data), *out = deviceZeros<int>(want.size());
    copies<BYTES, THROUGH_L1><<<1, 32>>>(from, to, (const char *)in, out);
    if (std::getenv("PRINT_TABLE"))
        for (int i = 0; i < SHAPES * 32; ++i) std::printf("%d:%d%c", sources[i], targets[i], i % 32 == 31 ? '\n' : ' ');
    return report(name, toHost(out, want.size()) == want);
}

int main()
{
    bool ok = check<4, true>("copies of 4 bytes");
    ok &= check<8, true>("copies of 8 bytes");
    ok &= check<16, true>("copies of 16 bytes");
    ok &= check<16, false>("copies of 16 bytes past L1");
    return ok ? 0 : 1;
}
