// A part of the Mandelbrot set: for each point the number of steps after which it leaves. One CTA makes one picture.
//
// Products are added by fmaf() only, so that counts are the same on every machine.

// `picture` is the lower left corner and the distance of points.
extern "C" __global__ void mandelbrot(const float *picture, int *steps, int side, int most)
{
    float x = picture[0];
    float y = picture[1];
    float step = picture[2];
    for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
        float real = fmaf((float)(i % side), step, x);
        float imaginary = fmaf((float)(i / side), step, y);
        float a = 0.0f;
        float b = 0.0f;
        int count = 0;
        while (count < most && fmaf(a, a, b * b) <= 4.0f) {
            float next = fmaf(a, a, fmaf(-b, b, real));
            b = fmaf(2.0f * a, b, imaginary);
            a = next;
            count++;
        }
        steps[i] = count;
    }
}
