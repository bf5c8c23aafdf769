// Ray tracing of shiny spheres on a chequered floor: at each hit the light that is seen directly, then the ray that is
// reflected, up to a number of times. One thread per pixel.
//
// Products are added by fmaf() only, so that no compiler has a choice and the result is the same to the bit.

#define MOST_SPHERES 32
#define FAR 1.0e30f
// A reflected or shadow ray starts this far from the surface.
#define OFFSET 0.001f

struct Sphere {
    float x, y, z, radius;
    float red, green, blue, mirror;
};

__constant__ Sphere spheres[MOST_SPHERES];

struct Vector {
    float x, y, z;
};

__device__ __forceinline__ float dot(Vector a, Vector b)
{
    return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z));
}

__device__ __forceinline__ Vector minus(Vector a, Vector b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

// a * by + b.
__device__ __forceinline__ Vector along(Vector a, float by, Vector b)
{
    return {fmaf(a.x, by, b.x), fmaf(a.y, by, b.y), fmaf(a.z, by, b.z)};
}

__device__ __forceinline__ Vector unit(Vector a)
{
    float by = 1.0f / sqrtf(dot(a, a));
    return {a.x * by, a.y * by, a.z * by};
}

// Distance at which a ray enters a sphere; FAR if it does not.
__device__ __forceinline__ float distance_to(const Sphere &sphere, Vector from, Vector ray)
{
    Vector away = minus(from, {sphere.x, sphere.y, sphere.z});
    float half = dot(away, ray);
    float rest = fmaf(-sphere.radius, sphere.radius, dot(away, away));
    float root = fmaf(half, half, -rest);
    if (root <= 0.0f) {
        return FAR;
    }
    float distance = -half - sqrtf(root);
    return distance > 0.0f ? distance : FAR;
}

extern "C" __global__ void trace(unsigned int *pixels, int width, int height, int count, int depth, Vector light)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) {
        return;
    }
    // The picture is two wide, at distance two from the eye.
    float step = 2.0f / (float)width;
    Vector from = {0.0f, 1.5f, -6.0f};
    Vector ray = unit({fmaf((float)column + 0.5f, step, -1.0f), fmaf((float)(height - 2 * row - 1), 0.5f * step, -0.2f), 2.0f});
    Vector seen = {0.0f, 0.0f, 0.0f};
    float weight = 1.0f;
    for (int bounce = 0; bounce <= depth; bounce++) {
        float nearest = FAR;
        int hit = -1;
        for (int i = 0; i < count; i++) {
            float distance = distance_to(spheres[i], from, ray);
            if (distance < nearest) {
                nearest = distance;
                hit = i;
            }
        }
        bool floor_hit = false;
        if (ray.y < 0.0f) {
            float distance = from.y / -ray.y;
            if (distance < nearest) {
                nearest = distance;
                floor_hit = true;
            }
        }
        if (nearest >= FAR) {
            // The sky, brighter above.
            float bright = weight * fmaf(0.5f, fmaxf(ray.y, 0.0f), 0.3f);
            seen = along({0.6f, 0.8f, 1.0f}, bright, seen);
            break;
        }
        Vector place = along(ray, nearest, from);
        Vector normal = {0.0f, 1.0f, 0.0f};
        Vector colour;
        float mirror;
        if (floor_hit) {
            bool dark = (((int)floorf(place.x) + (int)floorf(place.z)) & 1) != 0;
            colour = dark ? Vector{0.1f, 0.1f, 0.1f} : Vector{0.9f, 0.9f, 0.9f};
            mirror = 0.2f;
        } else {
            const Sphere &sphere = spheres[hit];
            normal = unit(minus(place, {sphere.x, sphere.y, sphere.z}));
            colour = {sphere.red, sphere.green, sphere.blue};
            mirror = sphere.mirror;
        }
        Vector start = along(normal, OFFSET, place);
        Vector to_light = unit(minus(light, start));
        float facing = dot(normal, to_light);
        float bright = 0.15f;
        float shine = 0.0f;
        if (facing > 0.0f) {
            bool shadow = false;
            for (int i = 0; i < count && !shadow; i++) {
                shadow = distance_to(spheres[i], start, to_light) < FAR;
            }
            if (!shadow) {
                bright = fmaf(0.85f, facing, bright);
                // The light's reflection along the ray, to the power of 32.
                Vector back = along(normal, -2.0f * facing, to_light);
                shine = fmaxf(dot(back, ray), 0.0f);
                for (int i = 0; i < 5; i++) {
                    shine = shine * shine;
                }
            }
        }
        float own = weight * (1.0f - mirror);
        seen = along(colour, own * bright, seen);
        seen = along({1.0f, 1.0f, 1.0f}, 0.5f * weight * shine, seen);
        weight = weight * mirror;
        if (weight < 0.02f) {
            break;
        }
        float turn = -2.0f * dot(ray, normal);
        ray = unit(along(normal, turn, ray));
        from = start;
    }
    unsigned int red = (unsigned int)fmaf(fminf(seen.x, 1.0f), 255.0f, 0.5f);
    unsigned int green = (unsigned int)fmaf(fminf(seen.y, 1.0f), 255.0f, 0.5f);
    unsigned int blue = (unsigned int)fmaf(fminf(seen.z, 1.0f), 255.0f, 0.5f);
    pixels[row * width + column] = red | green << 8 | blue << 16 | 0xff000000u;
}
