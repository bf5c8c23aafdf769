// Euler equations of a compressible gas on an unstructured mesh of tetrahedra: finite volumes with
// artificial viscosity, integrated by Runge-Kutta steps whose length each cell chooses for itself. An
// array has one row per quantity and one column per cell; the number of cells is a multiple of the CTA's
// threads. The normal of a face points into its cell and is as long as the face is large.

#define FACES 4
#define GAMMA 1.4f
#define VISCOSITY 0.2f
#define STAGES 3

// What is at a face instead of a neighbour.
#define WALL (-1)
#define FAR_FIELD (-2)

// Rows of the variables and of the fluxes.
#define DENSITY 0
#define MOMENTUM 1
#define ENERGY 4
#define ROWS 5

struct Gas {
    float density;
    float3 momentum;
    float energy;
};

struct Flow {
    float3 velocity;
    float pressure;
};

// The gas far away.
__constant__ float far_field[ROWS];

__device__ __forceinline__ float dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ __forceinline__ Gas load(const float *variables, int cells, int i)
{
    Gas gas;
    gas.density = variables[DENSITY * cells + i];
    gas.momentum.x = variables[MOMENTUM * cells + i];
    gas.momentum.y = variables[(MOMENTUM + 1) * cells + i];
    gas.momentum.z = variables[(MOMENTUM + 2) * cells + i];
    gas.energy = variables[ENERGY * cells + i];
    return gas;
}

__device__ __forceinline__ float3 velocity(const Gas &gas)
{
    return make_float3(gas.momentum.x / gas.density, gas.momentum.y / gas.density, gas.momentum.z / gas.density);
}

__device__ __forceinline__ float pressure(const Gas &gas, float speed_squared)
{
    return (GAMMA - 1.0f) * (gas.energy - 0.5f * gas.density * speed_squared);
}

// The flow of a gas and the speed of its fastest wave.
__device__ __forceinline__ Flow flow_of(const Gas &gas, float &wave)
{
    Flow flow;
    flow.velocity = velocity(gas);
    float speed_squared = dot(flow.velocity, flow.velocity);
    flow.pressure = pressure(gas, speed_squared);
    wave = sqrtf(speed_squared) + sqrtf(GAMMA * flow.pressure / gas.density);
    return flow;
}

// Adds half of what a gas carries through a face.
__device__ __forceinline__ void carry(Gas &flux, const Gas &gas, const Flow &flow, float3 normal)
{
    float through = 0.5f * dot(normal, flow.velocity);
    float push = 0.5f * flow.pressure;
    flux.density += through * gas.density;
    flux.momentum.x += through * gas.momentum.x + push * normal.x;
    flux.momentum.y += through * gas.momentum.y + push * normal.y;
    flux.momentum.z += through * gas.momentum.z + push * normal.z;
    flux.energy += through * (gas.energy + flow.pressure);
}

// Adds what evens out the difference to a neighbour.
__device__ __forceinline__ void smooth(Gas &flux, const Gas &mine, const Gas &other, float factor)
{
    flux.density += factor * (other.density - mine.density);
    flux.momentum.x += factor * (other.momentum.x - mine.momentum.x);
    flux.momentum.y += factor * (other.momentum.y - mine.momentum.y);
    flux.momentum.z += factor * (other.momentum.z - mine.momentum.z);
    flux.energy += factor * (other.energy - mine.energy);
}

extern "C" __global__ void initialize(float *variables, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = 0; row < ROWS; ++row) {
        variables[row * cells + i] = far_field[row];
    }
}

// Each cell's step in time divided by its size.
extern "C" __global__ void compute_step_factor(const float *variables, const float *areas, float *step_factors,
                                               int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Gas gas = load(variables, cells, i);
    float wave;
    flow_of(gas, wave);
    step_factors[i] = 0.5f / (sqrtf(areas[i]) * wave);
}

extern "C" __global__ void compute_flux(const int *neighbours, const float *normals, const float *variables,
                                        float *fluxes, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Gas mine = load(variables, cells, i);
    float wave;
    Flow flow = flow_of(mine, wave);
    Gas flux = {0.0f, {0.0f, 0.0f, 0.0f}, 0.0f};

#pragma unroll
    for (int face = 0; face < FACES; ++face) {
        int neighbour = neighbours[face * cells + i];
        float3 normal = make_float3(normals[face * cells + i], normals[(FACES + face) * cells + i],
                                    normals[(2 * FACES + face) * cells + i]);
        if (neighbour >= 0) {
            Gas other = load(variables, cells, neighbour);
            float other_wave;
            Flow other_flow = flow_of(other, other_wave);
            smooth(flux, mine, other, sqrtf(dot(normal, normal)) * (0.5f * VISCOSITY) * (wave + other_wave));
            carry(flux, mine, flow, normal);
            carry(flux, other, other_flow, normal);
        } else if (neighbour == WALL) {
            flux.momentum.x += normal.x * flow.pressure;
            flux.momentum.y += normal.y * flow.pressure;
            flux.momentum.z += normal.z * flow.pressure;
        } else {
            Gas away = load(far_field, 1, 0);
            Flow away_flow;
            away_flow.velocity = velocity(away);
            away_flow.pressure = pressure(away, dot(away_flow.velocity, away_flow.velocity));
            carry(flux, mine, flow, normal);
            carry(flux, away, away_flow, normal);
        }
    }

    fluxes[DENSITY * cells + i] = flux.density;
    fluxes[MOMENTUM * cells + i] = flux.momentum.x;
    fluxes[(MOMENTUM + 1) * cells + i] = flux.momentum.y;
    fluxes[(MOMENTUM + 2) * cells + i] = flux.momentum.z;
    fluxes[ENERGY * cells + i] = flux.energy;
}

// One stage of a step: a third, a half and the whole of it from where the step began.
extern "C" __global__ void time_step(const float *before, float *variables, const float *step_factors,
                                     const float *fluxes, int cells, int stage)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float factor = step_factors[i] / (float)(STAGES - stage);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        variables[row * cells + i] = before[row * cells + i] + factor * fluxes[row * cells + i];
    }
}
