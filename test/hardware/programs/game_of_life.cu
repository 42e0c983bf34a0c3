// Conway's game of life on a torus: bytes with modulo, bits in words, and a shared tile.
#include "common.h"

typedef unsigned char ubyte;

__global__ void simpleLifeKernel(const ubyte *lifeData, unsigned int worldWidth, unsigned int worldHeight, ubyte *result)
{
    unsigned int worldSize = worldWidth * worldHeight;
    for (unsigned int cellId = blockIdx.x * blockDim.x + threadIdx.x; cellId < worldSize; cellId += blockDim.x * gridDim.x) {
        unsigned int x = cellId % worldWidth;
        unsigned int yAbs = cellId - x;
        unsigned int xLeft = (x + worldWidth - 1) % worldWidth;
        unsigned int xRight = (x + 1) % worldWidth;
        unsigned int yAbsUp = (yAbs + worldSize - worldWidth) % worldSize;
        unsigned int yAbsDown = (yAbs + worldWidth) % worldSize;
        unsigned int alive = lifeData[xLeft + yAbsUp] + lifeData[x + yAbsUp] + lifeData[xRight + yAbsUp] + lifeData[xLeft + yAbs]
                           + lifeData[xRight + yAbs] + lifeData[xLeft + yAbsDown] + lifeData[x + yAbsDown] + lifeData[xRight + yAbsDown];
        result[x + yAbs] = alive == 3 || (alive == 2 && lifeData[x + yAbs]) ? 1 : 0;
    }
}

#define TX 32
#define TY 8
__global__ void tiledLife(const int *world, int *next, int w, int h)
{
    __shared__ int t[TY + 2][TX + 2];
    int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y;
    int xm = (x + w - 1) % w, xp = (x + 1) % w, ym = (y + h - 1) % h, yp = (y + 1) % h;
    int i = threadIdx.x + 1, j = threadIdx.y + 1;
    t[j][i] = world[y * w + x];
    if (i == 1) t[j][0] = world[y * w + xm];
    if (i == TX) t[j][TX + 1] = world[y * w + xp];
    if (j == 1) {
        t[0][i] = world[ym * w + x];
        if (i == 1) t[0][0] = world[ym * w + xm];
        if (i == TX) t[0][TX + 1] = world[ym * w + xp];
    }
    if (j == TY) {
        t[TY + 1][i] = world[yp * w + x];
        if (i == 1) t[TY + 1][0] = world[yp * w + xm];
        if (i == TX) t[TY + 1][TX + 1] = world[yp * w + xp];
    }
    __syncthreads();
    int n = t[j-1][i-1] + t[j-1][i] + t[j-1][i+1] + t[j][i-1] + t[j][i+1] + t[j+1][i-1] + t[j+1][i] + t[j+1][i+1];
    next[y * w + x] = n == 3 || (n == 2 && t[j][i]);
}

int main()
{
    const int w = 320, h = 240, n = w * h;
    std::vector<ubyte> world(n), want(n);
    Random r(7);
    for (ubyte &c : world) c = r.below(3) == 0;
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            int alive = 0;
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx)
                    if (dx || dy) alive += world[(y + dy + h) % h * w + (x + dx + w) % w];
            want[y * w + x] = alive == 3 || (alive == 2 && world[y * w + x]);
        }
    ubyte *dw = toDevice(world), *dr = deviceZeros<ubyte>(n);
    bool ok = true;
    simpleLifeKernel<<<100, 256>>>(dw, w, h, dr);
    ok &= report("simpleLifeKernel", toHost(dr, n) == want);
    int *di = toDevice(std::vector<int>(world.begin(), world.end())), *dn = deviceZeros<int>(n);
    tiledLife<<<dim3(w / TX, h / TY), dim3(TX, TY)>>>(di, dn, w, h);
    ok &= report("tiledLife", toHost(dn, n) == std::vector<int>(want.begin(), want.end()));
    return ok ? 0 : 1;
}
