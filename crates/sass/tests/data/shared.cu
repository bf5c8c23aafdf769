__global__ void k(int*o){ __shared__ int s[16]; extern __shared__ int d[]; s[threadIdx.x]=o[threadIdx.x]; d[threadIdx.x]=3; __syncthreads(); o[threadIdx.x]=s[15-threadIdx.x]+d[threadIdx.x^1]; }
