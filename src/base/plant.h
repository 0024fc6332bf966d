/* Planted bugs: small faults that are there on purpose, so that the tests can be tested.
 *
 * plant.def is the list; a place in the compiler that holds one reads PLANTED(name), which is 1 where that bug was
 * asked for by --plant=name, or by TILECC_PLANT in the environment for programs that run passes themselves.  Only
 * builds configured with --enable-planting (or --enable-debug) can be asked: everywhere else PLANTED is 0 and the code
 * of the bug is not there.  `make plant-score` runs the tests against each bug and writes tests/fuzz/PLANTED.md.
 *
 * With TILECC_PLANT_REACHED=FILE such a build appends to FILE the name of each bug whose place it comes to, once in a
 * process: a test that never comes to a place cannot find its bug, and need not be run against it. */
#ifndef TILECC_PLANT_H
#define TILECC_PLANT_H
#include <stdbool.h>
#include <stdio.h>

enum plant {
    PLANT_NOTHING,
#define PLANT(name, room, class, needs, what) PLANT_##name,
#include "base/plant.def"
#undef PLANT
    PLANT_COUNT
};

#ifdef TILECC_PLANTING
/* Globals that a release build does not have. */
extern enum plant plant_chosen;
extern bool plant_watched; /* places are written down */
void plant_note(enum plant plant);
static inline int plant_asked(enum plant plant)
{
    if (plant_watched)
        plant_note(plant);
    return plant_chosen == plant;
}
#define PLANTED(name) plant_asked(PLANT_##name)
#else
#define PLANTED(name) ((void)PLANT_##name, 0)
#endif

/* Whether this build can hold planted bugs. */
bool plant_is_possible(void);
/* Whether one was chosen, or places are written down: what is made now is not what this compiler makes. */
bool plant_is_chosen(void);
/* False: no bug of that name, or a build that cannot. */
bool plant_choose(const char *name);
/* One line each: name, room, class, what it needs to be seen, sentence; separated by tabs. */
void plant_list(FILE *file);
#endif
