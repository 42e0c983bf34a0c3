/* B+ tree lookups on the GPU (findK and findRangeK), Rodinia fashion: the tree
 * is transformed on the host into a flat array of knodes plus records, and each
 * thread block resolves one query with one thread per key of a node.  A second,
 * query-per-thread kernel and a structure-of-arrays variant are timed beside it.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <random>
#include <vector>

#define DEFAULT_ORDER 64
#define DEFAULT_ORDER_2 (DEFAULT_ORDER + 1)

#define fp float

typedef struct record { int value; } record;

typedef struct knode {
	int location;
	int indices[DEFAULT_ORDER + 1];
	int keys[DEFAULT_ORDER + 1];
	bool is_leaf;
	int num_keys;
} knode;

void checkCUDAError(const char *msg)
{
	cudaError_t err = cudaGetLastError();
	if (cudaSuccess != err) {
		fprintf(stderr, "Cuda error: %s: %s.\n", msg, cudaGetErrorString(err));
		fflush(NULL);
		exit(EXIT_FAILURE);
	}
}

/* ---------------------------------------------------------------- kernels */

/* one block per query; thread thid looks after key thid of the current node.
 * every query is at least the first key; unused keys are plus infinity */
__global__ void findK(long height, knode *knodesD, long knodes_elem, record *recordsD,
                      long *currKnodeD, long *offsetD, int *keysD, record *ansD)
{
	int thid = threadIdx.x;
	int bid = blockIdx.x;
	int i;
	for (i = 0; i < height; i++) {
		if ((knodesD[currKnodeD[bid]].keys[thid] <= keysD[bid]) &&
		    (knodesD[currKnodeD[bid]].keys[thid + 1] > keysD[bid])) {
			/* this conditional statement avoids an out-of-range child */
			if (knodesD[offsetD[bid]].indices[thid] < knodes_elem)
				offsetD[bid] = knodesD[offsetD[bid]].indices[thid];
		}
		__syncthreads();
		if (thid == 0)
			currKnodeD[bid] = offsetD[bid];
		__syncthreads();
	}
	/* at the leaf: look for an exact match */
	if (knodesD[currKnodeD[bid]].keys[thid] == keysD[bid])
		ansD[bid].value = recordsD[knodesD[currKnodeD[bid]].indices[thid]].value;
}

__global__ void findRangeK(long height, knode *knodesD, long knodes_elem,
                           long *currKnodeD, long *offsetD, long *lastKnodeD, long *offset_2D,
                           int *startD, int *endD, int *RecstartD, int *ReclenD)
{
	int thid = threadIdx.x;
	int bid = blockIdx.x;
	int i;
	for (i = 0; i < height; i++) {
		if ((knodesD[currKnodeD[bid]].keys[thid] <= startD[bid]) &&
		    (knodesD[currKnodeD[bid]].keys[thid + 1] > startD[bid])) {
			if (knodesD[currKnodeD[bid]].indices[thid] < knodes_elem)
				offsetD[bid] = knodesD[currKnodeD[bid]].indices[thid];
		}
		if ((knodesD[lastKnodeD[bid]].keys[thid] <= endD[bid]) &&
		    (knodesD[lastKnodeD[bid]].keys[thid + 1] > endD[bid])) {
			if (knodesD[lastKnodeD[bid]].indices[thid] < knodes_elem)
				offset_2D[bid] = knodesD[lastKnodeD[bid]].indices[thid];
		}
		__syncthreads();
		if (thid == 0) {
			currKnodeD[bid] = offsetD[bid];
			lastKnodeD[bid] = offset_2D[bid];
		}
		__syncthreads();
	}
	/* both ends are keys that exist */
	if (knodesD[currKnodeD[bid]].keys[thid] == startD[bid])
		RecstartD[bid] = knodesD[currKnodeD[bid]].indices[thid];
	__syncthreads();
	if (knodesD[lastKnodeD[bid]].keys[thid] == endD[bid])
		ReclenD[bid] = knodesD[lastKnodeD[bid]].indices[thid] - RecstartD[bid] + 1;
}

/* a thread per query with a binary search inside each node */
__global__ void findK_thread(int height, const knode *__restrict__ nodes, const record *__restrict__ recs,
                             const int *__restrict__ keys, record *ans, int count)
{
	int q = blockIdx.x * blockDim.x + threadIdx.x;
	if (q >= count) return;
	int key = keys[q], cur = 0;
	for (int level = 0; level <= height; level++) {
		const knode *n = &nodes[cur];
		int lo = 0, hi = n->num_keys;       /* keys[lo] <= key < keys[hi] */
		while (hi - lo > 1) {
			int mid = (lo + hi) >> 1;
			if (n->keys[mid] <= key) lo = mid; else hi = mid;
		}
		if (level < height) cur = n->indices[lo];
		else if (n->keys[lo] == key) ans[q].value = recs[n->indices[lo]].value;
	}
}

/* separate key and child arrays; a warp per query, a ballot finds the child */
__global__ void findK_warp_soa(int height, const int *__restrict__ skeys, const int *__restrict__ schild,
                               const record *__restrict__ recs, const int *__restrict__ queries,
                               record *ans, int count)
{
	int lane = threadIdx.x & 31;
	int q = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
	if (q >= count) return;
	int key = queries[q];
	int cur = 0;
	for (int level = 0; level <= height; level++) {
		/* rows are 64 keys, so that a lane reads one int2 */
		int2 k = *(const int2 *)(skeys + cur * DEFAULT_ORDER + lane * 2);
		int below = __popc(__ballot_sync(0xffffffff, k.x <= key)) + __popc(__ballot_sync(0xffffffff, k.y <= key));
		int slot = below - 1;
		if (level < height) {
			cur = schild[cur * DEFAULT_ORDER + slot];
		} else {
			int owner = slot >> 1;
			int kk = (slot & 1) ? k.y : k.x;
			kk = __shfl_sync(0xffffffff, kk, owner);
			if (kk == key && lane == 0) ans[q].value = recs[schild[cur * DEFAULT_ORDER + slot]].value;
		}
	}
}

/* sums the records of each range: block per range, strided threads, tree in shared memory */
__global__ void sumRanges(const record *recs, const int *Recstart, const int *Reclen, long long *sums)
{
	__shared__ long long part[128];
	int s = Recstart[blockIdx.x], len = Reclen[blockIdx.x];
	long long acc = 0;
	for (int i = threadIdx.x; i < len; i += blockDim.x) acc += recs[s + i].value;
	part[threadIdx.x] = acc;
	__syncthreads();
	for (int stride = 1; stride < blockDim.x; stride *= 2) {
		if (threadIdx.x % (2 * stride) == 0) part[threadIdx.x] += part[threadIdx.x + stride];
		__syncthreads();
	}
	if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

/* ------------------------------------------------------------------- host */

/* bulk load: leaves of `fill` keys, then inner levels; returns the height (edges) */
static int build_tree(const std::vector<int> &keys, std::vector<knode> &out, int fill)
{
	std::vector<std::vector<knode> > levels(1);
	std::vector<int> mins;
	for (size_t i = 0; i < keys.size(); i += fill) {
		knode n;
		memset(&n, 0, sizeof n);
		n.is_leaf = true;
		n.num_keys = (int)std::min((size_t)fill, keys.size() - i);
		for (int j = 0; j < n.num_keys; j++) { n.keys[j] = keys[i + j]; n.indices[j] = (int)(i + j); }
		for (int j = n.num_keys; j <= DEFAULT_ORDER; j++) { n.keys[j] = 0x7fffffff; n.indices[j] = 0; }
		mins.push_back(n.keys[0]);
		levels[0].push_back(n);
	}
	while (levels.back().size() > 1) {
		std::vector<knode> up;
		std::vector<int> upmins;
		size_t below = levels.back().size();
		for (size_t i = 0; i < below; i += fill) {
			knode n;
			memset(&n, 0, sizeof n);
			n.num_keys = (int)std::min((size_t)fill, below - i);
			for (int j = 0; j < n.num_keys; j++) { n.keys[j] = mins[i + j]; n.indices[j] = (int)(i + j); }
			for (int j = n.num_keys; j <= DEFAULT_ORDER; j++) { n.keys[j] = 0x7fffffff; n.indices[j] = 0; }
			upmins.push_back(n.keys[0]);
			up.push_back(n);
		}
		levels.push_back(up);
		mins = upmins;
	}
	/* breadth first from the root; children become absolute node numbers */
	int height = (int)levels.size() - 1;
	int base = 0;
	for (int l = height; l >= 0; l--) {
		int next = base + (int)levels[l].size();
		for (size_t i = 0; i < levels[l].size(); i++) {
			knode n = levels[l][i];
			if (l > 0)
				for (int j = 0; j < n.num_keys; j++) n.indices[j] += next;
			n.location = (int)out.size();
			out.push_back(n);
		}
		base = next;
	}
	return height;
}

template <class T> static T *to_device(const T *h, size_t n)
{
	T *d = NULL;
	cudaMalloc((void **)&d, n * sizeof(T));
	if (h) cudaMemcpy(d, h, n * sizeof(T), cudaMemcpyHostToDevice);
	else cudaMemset(d, 0, n * sizeof(T));
	checkCUDAError("to_device");
	return d;
}

static int compare(const char *what, const std::vector<record> &got, const std::vector<int> &want)
{
	int bad = 0;
	for (size_t i = 0; i < want.size(); i++) bad += got[i].value != want[i];
	printf("%-16s %d mismatches of %zu\n", what, bad, want.size());
	return bad;
}

int main(int argc, char **argv)
{
	const int count = 6000, ranges = 1000, rows = 150000;
	std::mt19937 gen(2012);
	std::vector<int> keys(rows);
	std::vector<record> recs(rows);
	int k = 5;
	for (int i = 0; i < rows; i++) { keys[i] = k; k += 1 + gen() % 9; recs[i].value = (int)(gen() % 100000); }
	std::vector<knode> nodes;
	int height = build_tree(keys, nodes, 52);
	printf("%zu knodes of %zu bytes, height %d\n", nodes.size(), sizeof(knode), height);

	/* queries: half hits, half anywhere inside the key range */
	std::vector<int> q(count), want(count, -1);
	for (int i = 0; i < count; i++) {
		q[i] = (i & 1) ? keys[gen() % rows] : 5 + (int)(gen() % (unsigned)(k - 5));
		std::vector<int>::iterator it = std::lower_bound(keys.begin(), keys.end(), q[i]);
		if (it != keys.end() && *it == q[i]) want[i] = recs[it - keys.begin()].value;
	}
	std::vector<int> start(ranges), end(ranges);
	std::vector<long long> wantSum(ranges);
	std::vector<int> wantStart(ranges), wantLen(ranges);
	for (int i = 0; i < ranges; i++) {
		int s = gen() % (rows - 1200), len = 1 + gen() % 1100;
		start[i] = keys[s]; end[i] = keys[s + len - 1];
		wantStart[i] = s; wantLen[i] = len; wantSum[i] = 0;
		for (int j = 0; j < len; j++) wantSum[i] += recs[s + j].value;
	}

	knode *knodesD = to_device(&nodes[0], nodes.size());
	record *recordsD = to_device(&recs[0], recs.size());
	int *keysD = to_device(&q[0], q.size());
	long *currKnodeD = to_device((long *)NULL, count), *offsetD = to_device((long *)NULL, count);
	std::vector<record> blank(count), got(count);
	for (int i = 0; i < count; i++) blank[i].value = -1;
	record *ansD = to_device(&blank[0], count);
	int failures = 0;

	findK<<<count, DEFAULT_ORDER>>>(height, knodesD, (long)nodes.size(), recordsD, currKnodeD, offsetD, keysD, ansD);
	checkCUDAError("findK");
	cudaMemcpy(&got[0], ansD, count * sizeof(record), cudaMemcpyDeviceToHost);
	failures += compare("findK", got, want);

	cudaMemcpy(ansD, &blank[0], count * sizeof(record), cudaMemcpyHostToDevice);
	findK_thread<<<(count + 127) / 128, 128>>>(height, knodesD, recordsD, keysD, ansD, count);
	checkCUDAError("findK_thread");
	cudaMemcpy(&got[0], ansD, count * sizeof(record), cudaMemcpyDeviceToHost);
	failures += compare("findK_thread", got, want);

	std::vector<int> soaKeys(nodes.size() * DEFAULT_ORDER), soaChild(nodes.size() * DEFAULT_ORDER);
	for (size_t i = 0; i < nodes.size(); i++)
		for (int j = 0; j < DEFAULT_ORDER; j++) {
			soaKeys[i * DEFAULT_ORDER + j] = nodes[i].keys[j];
			soaChild[i * DEFAULT_ORDER + j] = nodes[i].indices[j];
		}
	int *soaKeysD = to_device(&soaKeys[0], soaKeys.size()), *soaChildD = to_device(&soaChild[0], soaChild.size());
	cudaMemcpy(ansD, &blank[0], count * sizeof(record), cudaMemcpyHostToDevice);
	findK_warp_soa<<<(count * 32 + 255) / 256, 256>>>(height, soaKeysD, soaChildD, recordsD, keysD, ansD, count);
	checkCUDAError("findK_warp_soa");
	cudaMemcpy(&got[0], ansD, count * sizeof(record), cudaMemcpyDeviceToHost);
	failures += compare("findK_warp_soa", got, want);

	int *startD = to_device(&start[0], ranges), *endD = to_device(&end[0], ranges);
	int *RecstartD = to_device((int *)NULL, ranges), *ReclenD = to_device((int *)NULL, ranges);
	long *lastKnodeD = to_device((long *)NULL, ranges), *offset_2D = to_device((long *)NULL, ranges);
	long long *sumsD = to_device((long long *)NULL, ranges);
	cudaMemset(currKnodeD, 0, count * sizeof(long));
	cudaMemset(offsetD, 0, count * sizeof(long));
	findRangeK<<<ranges, DEFAULT_ORDER>>>(height, knodesD, (long)nodes.size(), currKnodeD, offsetD, lastKnodeD,
	                                      offset_2D, startD, endD, RecstartD, ReclenD);
	sumRanges<<<ranges, 128>>>(recordsD, RecstartD, ReclenD, sumsD);
	checkCUDAError("findRangeK");
	std::vector<int> gs(ranges), gl(ranges);
	std::vector<long long> sums(ranges);
	cudaMemcpy(&gs[0], RecstartD, ranges * sizeof(int), cudaMemcpyDeviceToHost);
	cudaMemcpy(&gl[0], ReclenD, ranges * sizeof(int), cudaMemcpyDeviceToHost);
	cudaMemcpy(&sums[0], sumsD, ranges * sizeof(long long), cudaMemcpyDeviceToHost);
	int bad = 0;
	for (int i = 0; i < ranges; i++) bad += gs[i] != wantStart[i] || gl[i] != wantLen[i] || sums[i] != wantSum[i];
	printf("%-16s %d mismatches of %d\n", "findRangeK", bad, ranges);
	failures += bad;

	cudaFree(knodesD); cudaFree(recordsD); cudaFree(keysD); cudaFree(currKnodeD); cudaFree(offsetD);
	cudaFree(ansD); cudaFree(soaKeysD); cudaFree(soaChildD); cudaFree(startD); cudaFree(endD);
	cudaFree(RecstartD); cudaFree(ReclenD); cudaFree(lastKnodeD); cudaFree(offset_2D); cudaFree(sumsD);
	checkCUDAError("cleanup");
	printf("%s\n", failures ? "FAIL" : "PASS");
	return failures ? 1 : 0;
}
