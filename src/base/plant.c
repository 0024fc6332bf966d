/* The list of planted bugs and the choice of one.  See plant.h. */
#include "base/plant.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#ifdef TILECC_PLANTING

enum plant plant_chosen;

static const struct { const char *name, *room, *class, *needs, *what; } table[] = {
#define PLANT(name, room, class, needs, what) {#name, room, class, #needs, what},
#include "base/plant.def"
#undef PLANT
};

bool plant_is_possible(void) { return true; }

bool plant_choose(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) {
            plant_chosen = (enum plant)(i + 1);
            return true;
        }
    return false;
}

void plant_list(FILE *file)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        fprintf(file, "%s\t%s\t%s\t%s\t%s\n", table[i].name, table[i].room, table[i].class, table[i].needs,
                table[i].what);
}

/* Test programs have no command line for it. */
__attribute__((constructor)) static void choose_from_environment(void)
{
    const char *name = getenv("TILECC_PLANT");
    if (name && *name && !plant_choose(name))
        die("TILECC_PLANT: no planted bug is called '%s'", name);
}

#else

bool plant_is_possible(void) { return false; }

bool plant_choose(const char *name)
{
    (void)name;
    return false;
}

void plant_list(FILE *file) { (void)file; }

#endif
