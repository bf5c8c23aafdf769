// Steps of a recurrence: a launch for each, or ROUNDS of them in one.
extern "C" __global__ void steps(float* x, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i];
    for (int k = 0; k < rounds; k++) {
        a = a * 0.5f + 1.0f;
    }
    x[i] = a;
}
