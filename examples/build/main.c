/* y = 2x + y on the CPU, built by each of the build systems in this folder. */
#include "saxpy.h"
#include <stdio.h>

int main(void)
{
    float x[1000], y[1000];
    struct tile_f32_1 vx = tile_f32_1_row_major(x, 1000), vy = tile_f32_1_row_major(y, 1000);
    int status;
    for (int i = 0; i < 1000; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }
    status = saxpy(TILE_CPU, 2.0f, &vx, &vy);
    if (status != TILE_OK) {
        fprintf(stderr, "%s\n", tile_last_error());
        return 1;
    }
    printf("y[999] = %g\n", (double)y[999]);
    return y[999] != 1999.0f;
}
