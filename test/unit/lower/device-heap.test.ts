/** Memory that lanes ask for in a kernel. */
import { check } from '../analysis/check-accesses';

describe('memory of the heap of the device', () => {
  it('is there, has no figure, and leaves other memory as it is', () => {
    check(`
__device__ int count = 3;
__global__ void k(int* out, int n) {
  int* own = (int*)malloc(n * sizeof(int));
  if (own == NULL) return;
  for (int i = 0; i < n; i++) own[i] = i;
//                            ^^^^^^ global store unknown
  int sum = 0;
  for (int j = 0; j < count; j++) sum += out[j];
//                                       ^^^^^^ global load assumed 3 requests
  out[threadIdx.x] = sum;
//^^^^^^^^^^^^^^^^ global store 4/4 sectors exact
  free(own);
}
int main() { int* out; cudaMalloc(&out, 4096); cudaMemset(out, 0, 4096); k<<<1, 32>>>(out, 8); }`);
  });

  it('holds what a lane has stored, each allocation apart', () => {
    check(`
__device__ int pitch = 2;
__global__ void k(int* out, int n) {
  int* places[2];
  for (int i = 0; i < 2; i++) places[i] = new int[n];
  places[0][1] = 4 * pitch;
  places[1][1] = 1;
  out[threadIdx.x * places[0][1]] = places[1][1];
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors assumed
}
int main() { int* out; cudaMalloc(&out, 4096); cudaMemset(out, 0, 4096); k<<<1, 32>>>(out, 2); }`);
  });

  it('gives each pass of a loop other memory', () => {
    check(`
struct Node { int step; Node* next; };
__device__ int length = 3;
__global__ void k(int* out) {
  Node* list = 0;
  for (int i = 0; i < length; i++) {
    Node* node = (Node*)malloc(sizeof(Node));
    node->step = i + 1;
    node->next = list;
    list = node;
  }
  out[threadIdx.x * list->next->step] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors assumed
}
int main() { int* out; cudaMalloc(&out, 4096); cudaMemset(out, 0, 4096); k<<<1, 32>>>(out); }`);
  });

  it('is another for each lane, and the same to all that have its address', () => {
    check(`
__device__ int pitch = 8;
__global__ void k(int* out) {
  __shared__ int* first;
  int* own = new int(threadIdx.x == 0 ? pitch : 1);
  if (threadIdx.x == 0) first = own;
  __syncthreads();
  out[threadIdx.x * *own] = 1;
  out[threadIdx.x * *first] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors assumed
}
int main() { int* out; cudaMalloc(&out, 4096); cudaMemset(out, 0, 4096); k<<<1, 32>>>(out); }`);
  });

  it('holds objects that are made in it', () => {
    check(`
struct Node { int step; Node* next; __device__ Node(int s, Node* n) : step(s), next(n) {} };
__device__ int first = 1;
__global__ void k(int* out) {
  Node* list = new Node(first * 2, nullptr);
  list = new Node(first * 4, list);
  out[threadIdx.x * list->next->step] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors assumed
  delete list;
}
int main() { int* out; cudaMalloc(&out, 4096); cudaMemset(out, 0, 4096); k<<<1, 32>>>(out); }`);
  });
});
