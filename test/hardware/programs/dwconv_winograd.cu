#include <cstdio>
#include <cuda_runtime.h>
template <int K, int S>
__global__ void depthwise(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out, int C, int H, int W, int OH, int OW) {
  int ox = blockIdx.x*blockDim.x + threadIdx.x, oy = blockIdx.y*blockDim.y + threadIdx.y, c = blockIdx.z;
  if (ox >= OW || oy >= OH) return;
  float wr[K*K];
#pragma unroll
  for (int i = 0; i < K*K; i++) wr[i] = w[c*K*K + i];
  float s = 0;
#pragma unroll
  for (int ky = 0; ky < K; ++ky)
#pragma unroll
    for (int kx = 0; kx < K; ++kx) {
      int iy = oy*S + ky - K/2, ix = ox*S + kx - K/2;
      if (iy >= 0 && iy < H && ix >= 0 && ix < W) s += in[(c*H + iy)*W + ix]*wr[ky*K + kx];
    }
  out[(c*OH + oy)*OW + ox] = s;
}
__global__ void winograd_input(const float* __restrict__ in, float* __restrict__ V, int C, int H, int W, int tilesX, int tilesY) {
  int t = blockIdx.x*blockDim.x + threadIdx.x;
  int c = blockIdx.y;
  if (t >= tilesX*tilesY) return;
  int ty = t / tilesX, tx = t % tilesX;
  float d[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) { int y = ty*2 + i - 1, x = tx*2 + j - 1; d[i][j] = (y >= 0 && y < H && x >= 0 && x < W) ? in[(c*H + y)*W + x] : 0.f; }
  float b[4][4];
#pragma unroll
  for (int j = 0; j < 4; j++) { b[0][j] = d[0][j] - d[2][j]; b[1][j] = d[1][j] + d[2][j]; b[2][j] = d[2][j] - d[1][j]; b[3][j] = d[1][j] - d[3][j]; }
  int P = tilesX*tilesY;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float v0 = b[i][0] - b[i][2], v1 = b[i][1] + b[i][2], v2 = b[i][2] - b[i][1], v3 = b[i][1] - b[i][3];
    V[((i*4 + 0)*C + c)*P + t] = v0; V[((i*4 + 1)*C + c)*P + t] = v1; V[((i*4 + 2)*C + c)*P + t] = v2; V[((i*4 + 3)*C + c)*P + t] = v3;
  }
}
__global__ void im2col(const float* __restrict__ im, float* __restrict__ col, int n, int H, int W, int k, int pad, int stride, int OH, int OW) {
  for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < n; i += blockDim.x*gridDim.x) {
    int wo = i % OW, ho = (i / OW) % OH, c = i / OW / OH;
    int hi = ho*stride - pad, wi = wo*stride - pad;
    float* p = col + (c*k*k*OH + ho)*OW + wo;
    const float* q = im + (c*H + hi)*W + wi;
    for (int a = 0; a < k; ++a) for (int b = 0; b < k; ++b) {
      int h = hi + a, w = wi + b;
      *p = (h >= 0 && w >= 0 && h < H && w < W) ? q[a*W + b] : 0;
      p += OH*OW;
    }
  }
}
template <int TW, int TH, int R>
__global__ void tiled_conv(const float* __restrict__ in, float* __restrict__ out, const float* __restrict__ k, int W, int H) {
  __shared__ float s[TH + 2*R][TW + 2*R];
  int x0 = blockIdx.x*TW - R, y0 = blockIdx.y*TH - R;
  for (int i = threadIdx.y*TW + threadIdx.x; i < (TH + 2*R)*(TW + 2*R); i += TW*TH) {
    int yy = i / (TW + 2*R), xx = i - yy*(TW + 2*R);
    int gx = min(max(x0 + xx, 0), W - 1), gy = min(max(y0 + yy, 0), H - 1);
    s[yy][xx] = in[gy*W + gx];
  }
  __syncthreads();
  float a = 0;
#pragma unroll
  for (int j = 0; j <= 2*R; ++j)
#pragma unroll
    for (int i = 0; i <= 2*R; ++i) a += s[threadIdx.y + j][threadIdx.x + i]*k[j*(2*R + 1) + i];
  int x = blockIdx.x*TW + threadIdx.x, y = blockIdx.y*TH + threadIdx.y;
  if (x < W && y < H) out[y*W + x] = a;
}
int main() {
  int C = 32, H = 112, W = 112; float *in, *w, *o;
  cudaMalloc(&in, C*H*W*4); cudaMalloc(&w, C*49*4); cudaMalloc(&o, C*H*W*4*16);
  depthwise<3,1><<<dim3(4,14,C), dim3(32,8)>>>(in, w, o, C, H, W, H, W);
  depthwise<5,2><<<dim3(2,7,C), dim3(32,8)>>>(in, w, o, C, H, W, H/2, W/2);
  winograd_input<<<dim3((56*56+127)/128, C), 128>>>(in, o, C, H, W, 56, 56);
  int n = C*112*112; im2col<<<(n+255)/256,256>>>(in, o, n, H, W, 3, 1, 1, 112, 112);
  tiled_conv<32,8,2><<<dim3(4,14), dim3(32,8)>>>(in, o, w, W, H);
  tiled_conv<20,12,3><<<dim3(6,10), dim3(20,12)>>>(in, o, w, W, H);
  cudaDeviceSynchronize(); puts("ok");
}
