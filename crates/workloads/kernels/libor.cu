// Monte Carlo simulation of forward interest rates (LIBOR market model): a portfolio of swaptions is valued on each
// path, and with the adjoint method also its sensitivity to the last rate.

#define RATES 80
#define MATURITIES 40
#define MOST_OPTIONS 64
// States of the rates at the end of each step, one after the other.
#define HISTORY ((MATURITIES + 1) * RATES)

// How far the interest of a period reaches, in years; the same for all periods.
__constant__ float period;
// Volatility of a rate by the periods that are left until it is fixed.
__constant__ float volatility[RATES];
__constant__ float first_rates[RATES];
// When options end, in periods after the last step, and their rates of exchange.
__constant__ int option_ends[MOST_OPTIONS];
__constant__ float option_rates[MOST_OPTIONS];

struct Sizes {
    int rates;
    int maturities;
    int options;
    int paths;
};

// One step of all rates that are not fixed yet.
__device__ void step(const float *from, float *to, int step, float normal, int rates)
{
    float shock = sqrtf(period) * normal;
    float drift = 0.0f;
    for (int i = step + 1; i < rates; i++) {
        float sigma = volatility[i - step - 1];
        float scaled = period * sigma;
        drift += __fdividef(scaled * from[i], 1.0f + period * from[i]);
        to[i] = from[i] * __expf(scaled * drift + sigma * (shock - 0.5f * scaled));
    }
}

// The value of the portfolio from the rates at the end of a path. With `adjoint`, also what each rate adds to it.
template <bool WITH_ADJOINT>
__device__ float portfolio(const float *rates, float *adjoint, Sizes sizes)
{
    float bonds[RATES], annuities[RATES], bonds_adjoint[RATES], annuities_adjoint[RATES];
    float bond = 1.0f;
    float annuity = 0.0f;
    for (int n = sizes.maturities; n < sizes.rates; n++) {
        bond = __fdividef(bond, 1.0f + period * rates[n]);
        annuity += period * bond;
        bonds[n] = bond;
        annuities[n] = annuity;
        if (WITH_ADJOINT) {
            bonds_adjoint[n] = 0.0f;
            annuities_adjoint[n] = 0.0f;
        }
    }
    float value = 0.0f;
    for (int i = 0; i < sizes.options; i++) {
        int end = sizes.maturities + option_ends[i] - 1;
        float swap = bonds[end] + option_rates[i] * annuities[end] - 1.0f;
        if (swap < 0.0f) {
            value -= 100.0f * swap;
            if (WITH_ADJOINT) {
                bonds_adjoint[end] -= 100.0f;
                annuities_adjoint[end] -= 100.0f * option_rates[i];
            }
        }
    }
    float discount = 1.0f;
    for (int n = 0; n < sizes.maturities; n++) {
        discount = __fdividef(discount, 1.0f + period * rates[n]);
    }
    value *= discount;
    if (WITH_ADJOINT) {
        float by_bond = 0.0f;
        float by_annuity = 0.0f;
        for (int n = sizes.rates - 1; n >= sizes.maturities; n--) {
            float growth = 1.0f + period * rates[n];
            by_annuity += annuities_adjoint[n];
            by_bond += bonds_adjoint[n] + period * by_annuity;
            adjoint[n] = -period * discount * __fdividef(by_bond * bonds[n], growth);
            by_bond = __fdividef(by_bond, growth);
        }
        for (int n = 0; n < sizes.maturities; n++) {
            adjoint[n] = -period * __fdividef(value, 1.0f + period * rates[n]);
        }
    }
    return value;
}

// The value on each path. Random numbers are in the order of steps, then of paths.
extern "C" __global__ void portfolio_value(const float *normals, float *values, Sizes sizes)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= sizes.paths) {
        return;
    }
    float rates[RATES];
    for (int i = 0; i < sizes.rates; i++) {
        rates[i] = first_rates[i];
    }
    for (int n = 0; n < sizes.maturities; n++) {
        step(rates, rates, n, normals[n * sizes.paths + path], sizes.rates);
    }
    values[path] = portfolio<false>(rates, nullptr, sizes);
}

// The same, and the derivative by the first value of the last rate: the steps are gone through backwards.
extern "C" __global__ void portfolio_greek(const float *normals, float *values, float *greeks, Sizes sizes)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= sizes.paths) {
        return;
    }
    float history[HISTORY];
    float adjoint[RATES];
    for (int i = 0; i < sizes.rates; i++) {
        history[i] = first_rates[i];
    }
    for (int n = 0; n < sizes.maturities; n++) {
        const float *from = history + n * sizes.rates;
        float *to = history + (n + 1) * sizes.rates;
        for (int i = 0; i <= n; i++) {
            to[i] = from[i];
        }
        step(from, to, n, normals[n * sizes.paths + path], sizes.rates);
    }
    values[path] = portfolio<true>(history + sizes.maturities * sizes.rates, adjoint, sizes);
    for (int n = sizes.maturities - 1; n >= 0; n--) {
        const float *from = history + n * sizes.rates;
        const float *to = from + sizes.rates;
        float by_drift = 0.0f;
        for (int i = sizes.rates - 1; i > n; i--) {
            float sigma = volatility[i - n - 1];
            float scaled = period * sigma;
            float growth = 1.0f + period * from[i];
            by_drift += scaled * to[i] * adjoint[i];
            adjoint[i] = __fdividef(to[i] * adjoint[i], from[i]) +
                         __fdividef(scaled * by_drift, growth * growth);
        }
    }
    greeks[path] = adjoint[sizes.rates - 1];
}
