// Derivatives of the state of a heart muscle cell, for a host that integrates them: the membrane by one thread of a CTA
// (C. Luo and Y. Rudy, "A Model of the Ventricular Cardiac Action Potential", 1991), and the proteins that calcium
// activates in three parts of the cell, by one thread of another.

#define MEMBRANE 8
#define PROTEINS 5
#define PARTS 3

struct Parameters {
    float stimulus;
    float potassium;
    float calmodulin[PARTS];
    float kinase[PARTS];
    float phosphatase[PARTS];
    float calcium_factor[PARTS];
};

// State: potential in mV, gates m, h, j, d, f, x, calcium in mmol/l.
__device__ void membrane(const float *state, float *change, const Parameters &parameters)
{
    float v = state[0];
    float m = state[1], h = state[2], j = state[3], d = state[4], f = state[5], x = state[6];
    float calcium = state[7];

    // Fast sodium current.
    float am = 0.32f * (v + 47.13f) / (1.0f - expf(-0.1f * (v + 47.13f)));
    float bm = 0.08f * expf(-v / 11.0f);
    float ah = 0.0f, aj = 0.0f, bh, bj;
    if (v >= -40.0f) {
        bh = 1.0f / (0.13f * (1.0f + expf(-(v + 10.66f) / 11.1f)));
        bj = 0.3f * expf(-2.535e-7f * v) / (1.0f + expf(-0.1f * (v + 32.0f)));
    } else {
        ah = 0.135f * expf(-(v + 80.0f) / 6.8f);
        bh = 3.56f * expf(0.079f * v) + 3.1e5f * expf(0.35f * v);
        aj = -(1.2714e5f * expf(0.2444f * v) + 3.474e-5f * expf(-0.04391f * v)) * (v + 37.78f) /
             (1.0f + expf(0.311f * (v + 79.23f)));
        bj = 0.1212f * expf(-0.01052f * v) / (1.0f + expf(-0.1378f * (v + 40.14f)));
    }
    float sodium = 23.0f * m * m * m * h * j * (v - 54.4f);

    // Slow inward current.
    float ad = 0.095f * expf(-0.01f * (v - 5.0f)) / (1.0f + expf(-0.072f * (v - 5.0f)));
    float bd = 0.07f * expf(-0.017f * (v + 44.0f)) / (1.0f + expf(0.05f * (v + 44.0f)));
    float af = 0.012f * expf(-0.008f * (v + 28.0f)) / (1.0f + expf(0.15f * (v + 28.0f)));
    float bf = 0.0065f * expf(-0.02f * (v + 30.0f)) / (1.0f + expf(-0.2f * (v + 30.0f)));
    float reversal = 7.7f - 13.0287f * logf(calcium);
    float slow = 0.09f * d * f * (v - reversal);

    // Potassium currents, as they depend on what is outside of the cell.
    float outside = sqrtf(parameters.potassium / 5.4f);
    float ax = 0.0005f * expf(0.083f * (v + 50.0f)) / (1.0f + expf(0.057f * (v + 50.0f)));
    float bx = 0.0013f * expf(-0.06f * (v + 20.0f)) / (1.0f + expf(-0.04f * (v + 20.0f)));
    float rectified = 1.0f;
    if (v > -100.0f) {
        rectified = 2.837f * (expf(0.04f * (v + 77.0f)) - 1.0f) / ((v + 77.0f) * expf(0.04f * (v + 35.0f)));
    }
    float delayed = 0.282f * outside * x * rectified * (v + 77.0f);
    float away = v + 87.26f;
    float ak = 1.02f / (1.0f + expf(0.2385f * (away - 59.215f)));
    float bk = (0.49124f * expf(0.08032f * (away + 5.476f)) + expf(0.06175f * (away - 594.31f))) /
               (1.0f + expf(-0.5143f * (away + 4.753f)));
    float steady = 0.6047f * outside * (ak / (ak + bk)) * away;
    float plateau = 0.0183f / (1.0f + expf((7.488f - v) / 5.98f)) * away;
    float background = 0.03921f * (v + 59.87f);

    change[0] = parameters.stimulus - (sodium + slow + delayed + steady + plateau + background);
    change[1] = am * (1.0f - m) - bm * m;
    change[2] = ah * (1.0f - h) - bh * h;
    change[3] = aj * (1.0f - j) - bj * j;
    change[4] = ad * (1.0f - d) - bd * d;
    change[5] = af * (1.0f - f) - bf * f;
    change[6] = ax * (1.0f - x) - bx * x;
    change[7] = 0.07f * (1.0e-4f - calcium) - 1.0e-4f * slow;
}

// State in umol/l: calmodulin with two and with four ions, kinase that holds it, kinase that is active by itself,
// phosphatase that holds it. `calcium` in umol/l.
__device__ void proteins(const float *state, float *change, float calcium, float calmodulin, float kinase,
                         float phosphatase)
{
    float two = state[0], four = state[1], held = state[2], active = state[3], off = state[4];
    float square = calcium * calcium;
    float unbound = calmodulin - two - four - held - active - off;
    float first = 0.0025f * square * unbound - 0.05f * two;
    float second = 0.01f * square * two - 0.2f * four;
    float to_kinase = 0.05f * four * (kinase - held - active) - 0.0022f * held;
    float activated = 0.003f * held * (held + active) / kinase - 0.001f * active / (0.5f + active);
    float to_phosphatase = 0.046f * four * (phosphatase - off) - 0.0013f * off;
    change[0] = first - second;
    change[1] = second - to_kinase - to_phosphatase;
    change[2] = to_kinase - activated;
    change[3] = activated;
    change[4] = to_phosphatase;
}

extern "C" __global__ void myocyte_derivatives(const float *state, float *change, Parameters parameters)
{
    if (threadIdx.x != 0) {
        return;
    }
    if (blockIdx.x == 0) {
        membrane(state, change, parameters);
    } else {
        for (int part = 0; part < PARTS; part++) {
            int at = MEMBRANE + part * PROTEINS;
            proteins(state + at, change + at, 1000.0f * state[7] * parameters.calcium_factor[part],
                     parameters.calmodulin[part], parameters.kinase[part], parameters.phosphatase[part]);
        }
    }
}
