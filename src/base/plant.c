/* The list of planted bugs and the choice of one.  See plant.h. */
#include "base/plant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#ifdef TILECC_PLANTING

enum plant plant_chosen;
bool plant_watched;

static bool reached[PLANT_COUNT];

static const struct {
    const char *name, *room, *class, *needs, *what;
} table[] = {
#define PLANT(name, room, class, needs, what) {#name, room, class, #needs, what},
#include "base/plant.def"
#undef PLANT
};

bool plant_is_possible(void) { return true; }
bool plant_is_chosen(void) { return plant_chosen != PLANT_NOTHING || plant_watched; }

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

/* One write for each, so that the lines of several processes stay whole. */
void plant_note(enum plant plant)
{
    char line[128];
    if (reached[plant])
        return;
    reached[plant] = true;
    int size = snprintf(line, sizeof line, "%s\n", table[plant - 1].name);
    int file = open(getenv("TILECC_PLANT_REACHED"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) /* under a limit on files, say */
        return;
    if (write(file, line, (size_t)size) != size)
        reached[plant] = false;
    close(file);
}

/* Test programs have no command line for it. */
__attribute__((constructor)) static void choose_from_environment(void)
{
    const char *name = getenv("TILECC_PLANT"), *file = getenv("TILECC_PLANT_REACHED");
    plant_watched = file && *file;
    if (name && *name && !plant_choose(name))
        die("TILECC_PLANT: no planted bug is called '%s'", name);
}

#else

bool plant_is_possible(void) { return false; }
bool plant_is_chosen(void) { return false; }

bool plant_choose(const char *name)
{
    (void)name;
    return false;
}

void plant_list(FILE *file) { (void)file; }

#endif
