// Levelised gate-level simulator: 64 test patterns are packed in each word.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

enum class Op : int { And = 0, Or, Xor, Nand, Nor, Not };

struct Gate {
    int op;
    int in0;
    int in1;
    int out;
};

struct Netlist {
    const Gate *gates;
    int numGates;
    int numNets;
};

static void must(cudaError_t e, const char *what) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        std::exit(2);
    }
}

__host__ __device__ inline uint64_t evalGate(int op, uint64_t a, uint64_t b) {
    switch (static_cast<Op>(op)) {
    case Op::And:
        return a & b;
    case Op::Or:
        return a | b;
    case Op::Xor:
        return a ^ b;
    case Op::Nand:
        return ~(a & b);
    case Op::Nor:
        return ~(a | b);
    default:
        return ~a;
    }
}

// One thread per (gate, word); the words of a net are contiguous.
__global__ void simLevelNetMajor(Netlist nl, int first, int count, uint64_t *nets, int words) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    int g = blockIdx.y;
    if (w >= words || g >= count) {
        return;
    }
    Gate gate = nl.gates[first + g];
    uint64_t a = nets[(size_t)gate.in0 * words + w];
    uint64_t b = nets[(size_t)gate.in1 * words + w];
    nets[(size_t)gate.out * words + w] = evalGate(gate.op, a, b);
}

// One thread per gate, looping over words: the older version of the engine.
__global__ void simLevelGateThread(Netlist nl, int first, int count, uint64_t *nets, int words) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= count) {
        return;
    }
    const Gate *gate = &nl.gates[first + g];
    int op = gate->op;
    const uint64_t *pa = nets + (size_t)gate->in0 * words;
    const uint64_t *pb = nets + (size_t)gate->in1 * words;
    uint64_t *po = nets + (size_t)gate->out * words;
    for (int w = 0; w < words; ++w) {
        po[w] = evalGate(op, pa[w], pb[w]);
    }
}

// Toggle activity: a warp for each net.
__global__ void toggleCount(const uint64_t *nets, int numNets, int words, int *toggles) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (warp >= numNets) {
        return;
    }
    const uint64_t *row = nets + (size_t)warp * words;
    int sum = 0;
    for (int w = lane; w < words; w += 32) {
        uint64_t v = row[w];
        uint64_t shifted = (v >> 1) | (v & 0x8000000000000000ull);
        sum += __popcll(v ^ shifted);
    }
    for (int d = 16; d > 0; d >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    }
    if (lane == 0) {
        toggles[warp] = sum;
    }
}

// Unpacks 32 nets x 32 words of bit k to a byte matrix [word][net].
__global__ void sampleBits(const uint64_t *nets, int numNets, int words, int bit, uint8_t *out) {
    __shared__ uint64_t tile[32][32];
    int w = blockIdx.x * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        int net = blockIdx.y * 32 + r;
        if (net < numNets && w < words) {
            tile[r][threadIdx.x] = nets[(size_t)net * words + w];
        }
    }
    __syncthreads();
    int net = blockIdx.y * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        int word = blockIdx.x * 32 + r;
        if (net < numNets && word < words) {
            out[(size_t)word * numNets + net] = (tile[threadIdx.x][r] >> bit) & 1;
        }
    }
}

// How often is each net read by a gate?
__global__ void fanout(Netlist nl, int *fan) {
    int stride = gridDim.x * blockDim.x;
    for (int g = blockIdx.x * blockDim.x + threadIdx.x; g < nl.numGates; g += stride) {
        atomicAdd(&fan[nl.gates[g].in0], 1);
        atomicAdd(&fan[nl.gates[g].in1], 1);
    }
}

int main() {
    const int inputs = 256;
    const int levels = 8;
    const int perLevel = 1000;
    const int words = 160;
    const int numGates = levels * perLevel;
    const int numNets = inputs + numGates;

    std::mt19937 rng(4711);
    std::vector<Gate> gates(numGates);
    for (int g = 0; g < numGates; ++g) {
        int known = inputs + (g / perLevel) * perLevel;
        gates[g].op = (int)(rng() % 6);
        gates[g].in0 = (int)(rng() % known);
        gates[g].in1 = (int)(rng() % known);
        gates[g].out = inputs + g;
    }
    std::vector<uint64_t> nets((size_t)numNets * words, 0);
    for (size_t i = 0; i < (size_t)inputs * words; ++i) {
        uint64_t hi = rng();
        uint64_t lo = rng();
        nets[i] = (hi << 32) | lo;
    }

    Gate *dGates;
    uint64_t *dNets;
    int *dToggles;
    int *dFan;
    uint8_t *dBits;
    must(cudaMalloc(&dGates, numGates * sizeof(Gate)), "malloc gates");
    must(cudaMalloc(&dNets, nets.size() * sizeof(uint64_t)), "malloc nets");
    must(cudaMalloc(&dToggles, numNets * sizeof(int)), "malloc toggles");
    must(cudaMalloc(&dFan, numNets * sizeof(int)), "malloc fan");
    must(cudaMalloc(&dBits, (size_t)numNets * words), "malloc bits");
    must(cudaMemcpy(dGates, gates.data(), numGates * sizeof(Gate), cudaMemcpyHostToDevice), "copy");
    must(cudaMemcpy(dNets, nets.data(), nets.size() * sizeof(uint64_t), cudaMemcpyHostToDevice), "copy");
    must(cudaMemset(dFan, 0, numNets * sizeof(int)), "memset");

    Netlist nl{dGates, numGates, numNets};
    for (int l = 0; l < levels; ++l) {
        if (l % 2 == 0) {
            dim3 grid((words + 63) / 64, perLevel);
            simLevelNetMajor<<<grid, 64>>>(nl, l * perLevel, perLevel, dNets, words);
        } else {
            simLevelGateThread<<<(perLevel + 127) / 128, 128>>>(nl, l * perLevel, perLevel, dNets, words);
        }
    }
    toggleCount<<<(numNets + 7) / 8, 256>>>(dNets, numNets, words, dToggles);
    const int bit = 13;
    sampleBits<<<dim3((words + 31) / 32, (numNets + 31) / 32), dim3(32, 8)>>>(dNets, numNets, words, bit, dBits);
    fanout<<<16, 256>>>(nl, dFan);
    must(cudaGetLastError(), "launch");
    must(cudaDeviceSynchronize(), "sync");

    std::vector<uint64_t> got(nets.size());
    std::vector<int> toggles(numNets);
    std::vector<int> fan(numNets);
    std::vector<uint8_t> bits((size_t)numNets * words);
    must(cudaMemcpy(got.data(), dNets, got.size() * sizeof(uint64_t), cudaMemcpyDeviceToHost), "back");
    must(cudaMemcpy(toggles.data(), dToggles, numNets * sizeof(int), cudaMemcpyDeviceToHost), "back");
    must(cudaMemcpy(fan.data(), dFan, numNets * sizeof(int), cudaMemcpyDeviceToHost), "back");
    must(cudaMemcpy(bits.data(), dBits, bits.size(), cudaMemcpyDeviceToHost), "back");

    std::vector<int> fanRef(numNets, 0);
    for (const Gate &g : gates) {
        for (int w = 0; w < words; ++w) {
            nets[(size_t)g.out * words + w] =
                evalGate(g.op, nets[(size_t)g.in0 * words + w], nets[(size_t)g.in1 * words + w]);
        }
        fanRef[g.in0]++;
        fanRef[g.in1]++;
    }
    int bad = 0;
    for (int n = 0; n < numNets; ++n) {
        int t = 0;
        for (int w = 0; w < words; ++w) {
            uint64_t v = nets[(size_t)n * words + w];
            uint64_t x = v ^ ((v >> 1) | (v & 0x8000000000000000ull));
            t += __builtin_popcountll(x);
            bad += got[(size_t)n * words + w] != v;
            bad += bits[(size_t)w * numNets + n] != ((v >> bit) & 1);
        }
        bad += t != toggles[n];
        bad += fan[n] != fanRef[n];
    }
    std::printf("%d nets, %d mismatches: %s\n", numNets, bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
