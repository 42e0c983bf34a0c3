#include <cuda_runtime.h>
#include <bits/stdc++.h>
// GPU MODE style: top-k by radix select (4 x 8-bit digits), per row; and bitonic sort of the winners
using u32=unsigned; 
#define TPB 512
__device__ __forceinline__ u32 key(float f){u32 x=__float_as_uint(f);return x&0x80000000u?~x:x|0x80000000u;}
__device__ __forceinline__ float unkey(u32 k){return __uint_as_float(k&0x80000000u?k^0x80000000u:~k);}

__global__ __launch_bounds__(TPB) void radix_select(const float*__restrict__ x,float*__restrict__ ov,int*__restrict__ oi,int n,int k){
  __shared__ u32 h[256]; __shared__ u32 pre,want; __shared__ int cg,ce;
  const float* r=x+(size_t)blockIdx.x*n; int t=threadIdx.x;
  if(!t){pre=0;want=k;cg=0;ce=0;}
  u32 mask=0;
  for(int sh=24;sh>=0;sh-=8){
    if(t<256)h[t]=0;
    __syncthreads();
    u32 p=pre;
    for(int i=t;i<n;i+=TPB){u32 q=key(r[i]); if((q&mask)==p) atomicAdd(&h[(q>>sh)&255],1u);}
    __syncthreads();
    if(t==0){u32 w=want,b=255; while(h[b]<w){w-=h[b];b--;} want=w; pre=p|(b<<sh);}
    mask|=255u<<sh;
    __syncthreads();
  }
  u32 th=pre; int eq=want, base=k-eq;
  for(int i=t;i<n;i+=TPB){
    u32 q=key(r[i]);
    int d=-1;
    if(q>th) d=atomicAdd(&cg,1);
    else if(q==th){int e=atomicAdd(&ce,1); if(e<eq) d=base+e;}
    if(d>=0){ov[blockIdx.x*k+d]=unkey(q); oi[blockIdx.x*k+d]=i;}
  }
}
// sort K (power of two) pairs in shared, descending
template<int K> __global__ void bitonic(float* v,int* id){
  __shared__ float s[K]; __shared__ int p[K];
  float* gv=v+blockIdx.x*K; int* gi=id+blockIdx.x*K; int t=threadIdx.x;
  for(int i=t;i<K;i+=K/2){s[i]=gv[i];p[i]=gi[i];}
  for(int k=2;k<=K;k<<=1) for(int j=k>>1;j;j>>=1){
    __syncthreads();
    int a=2*t-(t&(j-1)),b=a+j; bool up=(a&k)!=0;
    if((s[a]<s[b])!=up){float f=s[a];s[a]=s[b];s[b]=f;int q=p[a];p[a]=p[b];p[b]=q;}
  }
  __syncthreads();
  for(int i=t;i<K;i+=K/2){gv[i]=s[i];gi[i]=p[i];}
}
// thread-per-row insertion in local memory, small k
template<int K> __global__ void naive_topk(const float* x,float* o,int rows,int n){
  int r=blockIdx.x*blockDim.x+threadIdx.x; if(r>=rows)return;
  float b[K]; for(int i=0;i<K;i++)b[i]=-INFINITY;
  for(int c=0;c<n;c++){
    float v=x[(size_t)r*n+c];
    if(v>b[K-1]){int j=K-1; while(j>0&&b[j-1]<v){b[j]=b[j-1];j--;} b[j]=v;}
  }
  for(int i=0;i<K;i++)o[r*K+i]=b[i];
}
__global__ void gen(float* x,long long n){
  for(long long i=blockIdx.x*(long long)blockDim.x+threadIdx.x;i<n;i+=(long long)gridDim.x*blockDim.x){
    u32 h=(u32)i*747796405u+2891336453u; h=((h>>((h>>28)+4))^h)*277803737u; h=(h>>22)^h;
    x[i]=((int)(h%200001)-100000)*1e-3f;
  }
}
int main(){
  const int rows=700,n=20011; const int K=256,K2=8;
  float*x,*ov,*o2;int*oi; size_t S=(size_t)rows*n;
  cudaMalloc(&x,S*4);cudaMalloc(&ov,rows*K*4);cudaMalloc(&oi,rows*K*4);cudaMalloc(&o2,rows*K2*4);
  gen<<<1024,256>>>(x,S);
  radix_select<<<rows,TPB>>>(x,ov,oi,n,K);
  bitonic<K><<<rows,K/2>>>(ov,oi);
  naive_topk<K2><<<(rows+63)/64,64>>>(x,o2,rows,n);
  std::vector<float> h(S),v(rows*K),w(rows*K2); std::vector<int> id(rows*K);
  cudaMemcpy(h.data(),x,S*4,cudaMemcpyDeviceToHost);cudaMemcpy(v.data(),ov,v.size()*4,cudaMemcpyDeviceToHost);
  cudaMemcpy(id.data(),oi,id.size()*4,cudaMemcpyDeviceToHost);cudaMemcpy(w.data(),o2,w.size()*4,cudaMemcpyDeviceToHost);
  int bad=0;
  for(int r=0;r<rows;r++){
    std::vector<float> a(h.begin()+(size_t)r*n,h.begin()+(size_t)(r+1)*n);
    std::partial_sort(a.begin(),a.begin()+K,a.end(),std::greater<float>());
    for(int i=0;i<K;i++){bad+=a[i]!=v[r*K+i];bad+=h[(size_t)r*n+id[r*K+i]]!=v[r*K+i];}
    for(int i=0;i<K2;i++)bad+=a[i]!=w[r*K2+i];
    std::set<int> u(id.begin()+r*K,id.begin()+(r+1)*K); bad+=(int)u.size()!=K;
  }
  printf("bad %d %s\n%s\n",bad,cudaGetErrorString(cudaGetLastError()),bad?"FAIL":"PASS");
}
