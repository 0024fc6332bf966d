/* Programs whose checksums random.txt keeps: of each generator of tests/fuzz/support the first seeds, and files of
 * tile IR and of sources that other tests have. */
#ifndef TILECC_MEASURES_PROGRAMS_H
#define TILECC_MEASURES_PROGRAMS_H
#include "changes.h"

enum { PROGRAMS_A_LINE = 4 };
/* A kind is a generator, whose programs are numbered from 0, or a folder, whose files are numbered as their names are
 * sorted. */
struct program_kind {
    const char *name; /* of a folder: its path in the sources */
    int count;        /* of programs in the table; 0: the folder's */
    void (*generate)(struct buffer *out, uint64_t seed);
    bool some;      /* each for every second target alone */
    bool raw;       /* its tiles have layouts: three in four go through the pipeline of -O0 */
    bool is_source; /* the text is in the language */
};
extern const struct program_kind program_kinds[];
extern const int program_kind_count;
/* NULL: there is no kind of that name. */
const struct program_kind *program_kind_find(const char *name);
int program_count(const struct program_kind *kind);
/* Adds what becomes of it. */
void program_add(struct change_maker *maker, const struct program_kind *kind, int number, struct change_texts *texts);
#endif
