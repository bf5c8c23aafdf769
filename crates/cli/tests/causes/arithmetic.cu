// Each thread works for as many rounds as its block's `work` has: for the tail, imbalance and limits of issue.
extern "C" __global__ void spin(const int* work, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int rounds = work[blockIdx.x];
    float a = i, b = i + 1, c = i + 2, d = i + 3;
    for (int k = 0; k < rounds; k++) {
        a = a * 0.5f + 1.0f;
        b = b * 0.5f + 1.0f;
        c = c * 0.5f + 1.0f;
        d = d * 0.5f + 1.0f;
    }
    out[i] = a + b + c + d;
}
