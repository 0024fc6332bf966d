/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014). */
#include "generate.h"

uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int random_below(struct random *random, int limit) { return (int)(random_next(random) % (uint64_t)limit); }
int random_between(struct random *random, int low, int high) { return low + random_below(random, high - low + 1); }
bool random_chance(struct random *random, int percent) { return random_below(random, 100) < percent; }
