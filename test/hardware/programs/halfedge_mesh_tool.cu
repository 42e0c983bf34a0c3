// halfedge_mesh_tool.cu - smoothing and decimation costs for a triangle mesh, on the GPU.
//
// The mesh is a lumpy torus whose quads are split along a pseudo-random diagonal, so that vertex
// valences differ. Twins are matched through an open-addressing hash table.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace mesh {

typedef unsigned long long ull;

struct HalfEdge { int vertex; int twin; int next; int face; };      // vertex = origin

// symmetric 4x4 quadric, upper triangle; 10 floats per vertex
struct Quadric { float q[10]; };

inline void verify(cudaError_t e, const char *file, int line) {
  if (e != cudaSuccess) { printf("%s:%d: %s\nFAIL\n", file, line, cudaGetErrorString(e)); exit(1); }
}
#define VERIFY(x) mesh::verify((x), __FILE__, __LINE__)

template <typename T> class Buffer {
public:
  explicit Buffer(size_t n) : count(n) { VERIFY(cudaMalloc((void **)&ptr, n * sizeof(T))); }
  ~Buffer() { cudaFree(ptr); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  operator T *() { return ptr; }
  void fill(int byte) { VERIFY(cudaMemset(ptr, byte, count * sizeof(T))); }
  void assign(const std::vector<T> &v) { VERIFY(cudaMemcpy(ptr, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
  std::vector<T> fetch() { std::vector<T> v(count); VERIFY(cudaMemcpy(v.data(), ptr, count * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
private:
  T *ptr = nullptr;
  size_t count;
};

__host__ __device__ inline float3 sub(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__host__ __device__ inline unsigned edgeHash(ull key) {
  key ^= key >> 33; key *= 0xff51afd7ed558ccdull; key ^= key >> 33;
  return (unsigned)key;
}

__host__ __device__ inline void faceQuadric(float3 a, float3 b, float3 c, float *q) {
  float3 n = cross(sub(b, a), sub(c, a));
  float area = sqrtf(dot(n, n));
  float inv = area > 1e-12f ? 1.f / area : 0.f;
  n.x *= inv; n.y *= inv; n.z *= inv;
  float d = -dot(n, a);
  q[0] = area * n.x * n.x; q[1] = area * n.x * n.y; q[2] = area * n.x * n.z; q[3] = area * n.x * d;
  q[4] = area * n.y * n.y; q[5] = area * n.y * n.z; q[6] = area * n.y * d;
  q[7] = area * n.z * n.z; q[8] = area * n.z * d;   q[9] = area * d * d;
}

__host__ __device__ inline float evalQuadric(const float *q, float3 p) {
  return q[0] * p.x * p.x + 2 * q[1] * p.x * p.y + 2 * q[2] * p.x * p.z + 2 * q[3] * p.x + q[4] * p.y * p.y +
         2 * q[5] * p.y * p.z + 2 * q[6] * p.y + q[7] * p.z * p.z + 2 * q[8] * p.z + q[9];
}

// ---------------------------------------------------------------- connectivity
__global__ void buildHalfEdges(const int *faces, HalfEdge *he, int *vertexEdge, int numFaces) {
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= numFaces) return;
  for (int k = 0; k < 3; k++) {                 // 16-byte records, but a thread writes three in a row
    HalfEdge h;
    h.vertex = faces[3 * f + k];
    h.next = 3 * f + (k + 1) % 3;
    h.face = f;
    h.twin = -1;
    he[3 * f + k] = h;
    atomicMin(&vertexEdge[h.vertex], 3 * f + k);
  }
}

__global__ void insertEdges(const HalfEdge *he, int numHe, ull *keys, int *vals, unsigned mask) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numHe) return;
  ull from = he[e].vertex, to = he[he[e].next].vertex;
  ull key = from << 32 | to;
  unsigned slot = edgeHash(key) & mask;
  while (true) {
    ull old = atomicCAS(&keys[slot], ~0ull, key);
    if (old == ~0ull) { vals[slot] = e; return; }
    slot = (slot + 1) & mask;
  }
}

__global__ void matchTwins(HalfEdge *he, int numHe, const ull *__restrict__ keys, const int *__restrict__ vals, unsigned mask) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numHe) return;
  ull from = he[e].vertex, to = he[he[e].next].vertex;
  ull want = to << 32 | from;
  unsigned slot = edgeHash(want) & mask;
  int twin = -1;
  for (;;) {
    ull k = keys[slot];
    if (k == want) { twin = vals[slot]; break; }
    if (k == ~0ull) break;
    slot = (slot + 1) & mask;
  }
  he[e].twin = twin;
}

// ---------------------------------------------------------------- smoothing
// walk around the vertex; pointer chasing with divergent trip counts
__global__ void laplacianWalk(const float3 *__restrict__ in, float3 *__restrict__ out, const HalfEdge *__restrict__ he,
                              const int *__restrict__ vertexEdge, float lambda, int numVerts) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= numVerts) return;
  int start = vertexEdge[v], e = start, valence = 0;
  float3 c = make_float3(0, 0, 0);
  do {
    int w = he[he[e].next].vertex;
    c.x += in[w].x; c.y += in[w].y; c.z += in[w].z;
    valence++;
    e = he[he[he[he[e].next].next].twin].vertex == v ? he[he[he[e].next].next].twin : -1;
  } while (e != start && e >= 0 && valence < 64);
  float s = lambda / valence;
  float3 p = in[v];
  p.x += s * c.x - lambda * p.x;
  p.y += s * c.y - lambda * p.y;
  p.z += s * c.z - lambda * p.z;
  out[v] = p;
}

// the same from a CSR adjacency and separate coordinate arrays, blockIdx.y picks the coordinate
__global__ void laplacianCsr(const float *__restrict__ in, float *__restrict__ out, int pitch, const int *__restrict__ rowPtr,
                             const int *__restrict__ col, float lambda, int numVerts) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= numVerts) return;
  const float *x = in + blockIdx.y * pitch;
  const int b = rowPtr[v], e = rowPtr[v + 1];
  float c = 0.f;
  for (int k = b; k < e; k++) c += __ldg(&x[col[k]]);
  out[blockIdx.y * pitch + v] = x[v] + lambda * (c / (e - b) - x[v]);
}

__global__ void splitCoordinates(const float3 *p, float *soa, int pitch, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { soa[i] = p[i].x; soa[pitch + i] = p[i].y; soa[2 * pitch + i] = p[i].z; }
}

// ---------------------------------------------------------------- decimation
__global__ void accumulateQuadrics(const int *__restrict__ faces, const float3 *__restrict__ pos, Quadric *quad, int numFaces) {
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= numFaces) return;
  int v0 = faces[3 * f], v1 = faces[3 * f + 1], v2 = faces[3 * f + 2];
  float q[10];
  faceQuadric(pos[v0], pos[v1], pos[v2], q);
#pragma unroll
  for (int i = 0; i < 10; i++) {
    atomicAdd(&quad[v0].q[i], q[i]);
    atomicAdd(&quad[v1].q[i], q[i]);
    atomicAdd(&quad[v2].q[i], q[i]);
  }
}

// cost of collapsing each edge (the half-edge with the smaller index speaks for both) into its midpoint
__global__ void collapseCost(const HalfEdge *__restrict__ he, const float3 *__restrict__ pos, const Quadric *__restrict__ quad,
                             float *__restrict__ cost, int numHe) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= numHe) return;
  float c = 1e30f;
  if (e < he[e].twin) {
    int a = he[e].vertex, b = he[he[e].next].vertex;
    float q[10];
    for (int i = 0; i < 10; i++) q[i] = quad[a].q[i] + quad[b].q[i];
    float3 m = make_float3(0.5f * (pos[a].x + pos[b].x), 0.5f * (pos[a].y + pos[b].y), 0.5f * (pos[a].z + pos[b].z));
    c = fmaxf(0.f, evalQuadric(q, m));
  }
  cost[e] = c;
}

// smallest cost: floats >= 0 order like their bit patterns
__global__ void cheapestEdge(const float *__restrict__ cost, int n, ull *best) {
  __shared__ ull s[256];
  ull mine = ~0ull;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    ull k = (ull)__float_as_uint(cost[i]) << 32 | (unsigned)i;
    mine = k < mine ? k : mine;
  }
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {            // interleaved addressing, the old way
    if (threadIdx.x % (2 * d) == 0 && s[threadIdx.x + d] < s[threadIdx.x]) s[threadIdx.x] = s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicMin(best, s[0]);
}

struct TriangleMesh {
  std::vector<float3> pos;
  std::vector<int> faces;
};

static TriangleMesh lumpyTorus(int nu, int nv) {
  TriangleMesh m;
  for (int i = 0; i < nu; i++)
    for (int j = 0; j < nv; j++) {
      float u = 6.2831853f * i / nu, v = 6.2831853f * j / nv;
      float r = 0.35f + 0.05f * sinf(5 * u) * cosf(3 * v) + 0.01f * ((i * 7919 + j * 104729) % 13) / 13.f;
      m.pos.push_back(make_float3((1 + r * cosf(v)) * cosf(u), (1 + r * cosf(v)) * sinf(u), r * sinf(v)));
    }
  auto id = [&](int i, int j) { return (i % nu) * nv + j % nv; };
  for (int i = 0; i < nu; i++)
    for (int j = 0; j < nv; j++) {
      int a = id(i, j), b = id(i + 1, j), c = id(i + 1, j + 1), d = id(i, j + 1);
      bool flip = ((i * 31 + j * 17) ^ (i * j)) % 3 == 0;
      const int t[2][6] = {{a, b, c, a, c, d}, {a, b, d, b, c, d}};
      m.faces.insert(m.faces.end(), t[flip], t[flip] + 6);
    }
  return m;
}

}  // namespace mesh

static int blocksFor(int n, int b) { return (n + b - 1) / b; }

int main() {
  using namespace mesh;
  TriangleMesh m = lumpyTorus(211, 97);
  const int V = (int)m.pos.size(), F = (int)m.faces.size() / 3, H = 3 * F;
  unsigned slots = 1;
  while (slots < 2u * H) slots <<= 1;
  printf("%d vertices, %d faces, hash of %u slots\n", V, F, slots);

  Buffer<int> faces(3 * F), vertexEdge(V), vals(slots);
  Buffer<HalfEdge> he(H);
  Buffer<ull> keys(slots), best(1);
  Buffer<float3> posA(V), posB(V);
  Buffer<Quadric> quad(V);
  Buffer<float> cost(H);
  faces.assign(m.faces);
  posA.assign(m.pos);
  vertexEdge.fill(0x7f);
  keys.fill(0xff);
  best.fill(0xff);
  quad.fill(0);

  buildHalfEdges<<<blocksFor(F, 128), 128>>>(faces, he, vertexEdge, F);
  insertEdges<<<blocksFor(H, 256), 256>>>(he, H, keys, vals, slots - 1);
  matchTwins<<<blocksFor(H, 256), 256>>>(he, H, keys, vals, slots - 1);

  // Taubin: shrink, inflate
  const int pitch = V + 5;
  Buffer<float> soaA(3 * pitch), soaB(3 * pitch);
  splitCoordinates<<<blocksFor(V, 256), 256>>>(posA, soaA, pitch, V);

  std::vector<HalfEdge> hh = he.fetch();
  std::vector<int> rowPtr(V + 1, 0), col(H);
  for (const HalfEdge &h : hh) rowPtr[h.vertex + 1]++;
  for (int v = 0; v < V; v++) rowPtr[v + 1] += rowPtr[v];
  std::vector<int> cur(rowPtr.begin(), rowPtr.end() - 1);
  for (const HalfEdge &h : hh) col[cur[h.vertex]++] = hh[h.next].vertex;
  Buffer<int> dRow(V + 1), dCol(H);
  dRow.assign(rowPtr);
  dCol.assign(col);

  const float factors[] = {0.5f, -0.53f, 0.5f, -0.53f};
  float3 *p = posA, *pn = posB;
  float *s = soaA, *sn = soaB;
  for (float lambda : factors) {
    laplacianWalk<<<blocksFor(V, 128), 128>>>(p, pn, he, vertexEdge, lambda, V);
    laplacianCsr<<<dim3(blocksFor(V, 192), 3), 192>>>(s, sn, pitch, dRow, dCol, lambda, V);
    std::swap(p, pn);
    std::swap(s, sn);
  }
  accumulateQuadrics<<<blocksFor(F, 96), 96>>>(faces, p, quad, F);
  collapseCost<<<blocksFor(H, 256), 256>>>(he, p, quad, cost, H);
  cheapestEdge<<<40, 256>>>(cost, H, best);
  VERIFY(cudaGetLastError());
  VERIFY(cudaDeviceSynchronize());

  // ---------------------------------------------------------------- checks
  int errors = 0;
  std::unordered_map<ull, int> dir;
  for (int e = 0; e < H; e++) {
    int f = e / 3, a = m.faces[e], b = m.faces[3 * f + (e + 1) % 3];
    dir[(ull)a << 32 | (unsigned)b] = e;
  }
  for (int e = 0; e < H; e++) {
    int a = hh[e].vertex, b = hh[hh[e].next].vertex;
    auto it = dir.find((ull)b << 32 | (unsigned)a);
    if (it == dir.end() || it->second != hh[e].twin) errors++;
  }
  printf("twins: %d wrong\n", errors);

  std::vector<float3> ref = m.pos, tmp(V);
  for (float lambda : factors) {
    for (int v = 0; v < V; v++) {
      float3 c = make_float3(0, 0, 0);
      int n = rowPtr[v + 1] - rowPtr[v];
      for (int k = rowPtr[v]; k < rowPtr[v + 1]; k++) { c.x += ref[col[k]].x; c.y += ref[col[k]].y; c.z += ref[col[k]].z; }
      tmp[v] = make_float3(ref[v].x + lambda * (c.x / n - ref[v].x), ref[v].y + lambda * (c.y / n - ref[v].y),
                           ref[v].z + lambda * (c.z / n - ref[v].z));
    }
    ref.swap(tmp);
  }
  std::vector<float3> got = (p == (float3 *)posA ? posA : posB).fetch();
  std::vector<float> soa = (s == (float *)soaA ? soaA : soaB).fetch();
  double worst = 0;
  for (int v = 0; v < V; v++) {
    worst = fmax(worst, fabs(got[v].x - ref[v].x) + fabs(got[v].y - ref[v].y) + fabs(got[v].z - ref[v].z));
    worst = fmax(worst, fabs(soa[v] - ref[v].x) + fabs(soa[pitch + v] - ref[v].y) + fabs(soa[2 * pitch + v] - ref[v].z));
  }
  printf("smoothing: %.2e\n", worst);
  if (worst > 1e-4) errors++;

  std::vector<Quadric> Q(V);
  memset(Q.data(), 0, V * sizeof(Quadric));
  for (int f = 0; f < F; f++) {
    float q[10];
    faceQuadric(ref[m.faces[3 * f]], ref[m.faces[3 * f + 1]], ref[m.faces[3 * f + 2]], q);
    for (int k = 0; k < 3; k++) for (int i = 0; i < 10; i++) Q[m.faces[3 * f + k]].q[i] += q[i];
  }
  std::vector<float> c = cost.fetch();
  int off = 0;
  ull expect = ~0ull;
  for (int e = 0; e < H; e++) {
    unsigned bits;
    memcpy(&bits, &c[e], 4);
    ull k = (ull)bits << 32 | (unsigned)e;
    expect = k < expect ? k : expect;
    if (e > hh[e].twin) { if (c[e] != 1e30f) off++; continue; }
    int a = hh[e].vertex, b = hh[hh[e].next].vertex;
    float q[10];
    for (int i = 0; i < 10; i++) q[i] = Q[a].q[i] + Q[b].q[i];
    float r = fmaxf(0.f, evalQuadric(q, make_float3(0.5f * (ref[a].x + ref[b].x), 0.5f * (ref[a].y + ref[b].y), 0.5f * (ref[a].z + ref[b].z))));
    if (fabsf(r - c[e]) > 1e-5f + 0.02f * r) off++;
  }
  ull b = best.fetch()[0];
  printf("costs: %d off, cheapest edge %d\n", off, (int)(unsigned)b);
  if (off || b != expect) errors++;
  puts(errors ? "FAIL" : "PASS");
  return errors ? 1 : 0;
}
