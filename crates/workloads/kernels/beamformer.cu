// Beams from the signals of an array of antennas, by one CTA: each channel passes two filters, each beam is a weighted sum
// of the channels, passes a filter that matches the pulse, and is compared with a threshold. Numbers are complex.
//
// Products are added by fmaf() only, so that results are the same to the bit.

#define THREADS 128
#define TAPS 64
#define DECIMATION 2

__device__ float2 add_product(float2 sum, float2 a, float2 b)
{
    sum.x = fmaf(-a.y, b.y, fmaf(a.x, b.x, sum.x));
    sum.y = fmaf(a.y, b.x, fmaf(a.x, b.y, sum.y));
    return sum;
}

// Before the first sample is silence.
__device__ float2 filtered(const float2 *samples, int at, const float2 *taps)
{
    float2 sum = make_float2(0.0f, 0.0f);
    int reach = min(at + 1, TAPS);
    for (int tap = 0; tap < reach; tap++) {
        sum = add_product(sum, taps[tap], samples[at - tap]);
    }
    return sum;
}

// Filters are by channel or beam, weights by beam, then by channel.
extern "C" __global__ void beamformer(const float2 *signals, const float2 *coarse_taps, const float2 *fine_taps,
                                      const float2 *weights, const float2 *pulse_taps, float2 *coarse, float2 *fine,
                                      float2 *beams, float *magnitudes, int *detections, int channels, int samples,
                                      int beam_count, float threshold)
{
    for (int i = threadIdx.x; i < channels * samples; i += THREADS) {
        int channel = i / samples;
        coarse[i] = filtered(signals + channel * samples, i % samples, coarse_taps + channel * TAPS);
    }
    __syncthreads();
    int left = samples / DECIMATION;
    for (int i = threadIdx.x; i < channels * left; i += THREADS) {
        int channel = i / left;
        fine[i] = filtered(coarse + channel * samples, i % left * DECIMATION, fine_taps + channel * TAPS);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < beam_count * left; i += THREADS) {
        float2 sum = make_float2(0.0f, 0.0f);
        for (int channel = 0; channel < channels; channel++) {
            sum = add_product(sum, weights[i / left * channels + channel], fine[channel * left + i % left]);
        }
        beams[i] = sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < beam_count * left; i += THREADS) {
        int beam = i / left;
        float2 pulse = filtered(beams + beam * left, i % left, pulse_taps + beam * TAPS);
        float magnitude = sqrtf(fmaf(pulse.x, pulse.x, __fmul_rn(pulse.y, pulse.y)));
        magnitudes[i] = magnitude;
        detections[i] = magnitude >= threshold;
    }
}
