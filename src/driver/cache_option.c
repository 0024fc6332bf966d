/* Where what was compiled before is kept, and how much of it: --no-cache, TILECC_CACHE and TILECC_CACHE_SIZE. */
#include "driver/driver.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plant.h"

static const int64_t usual_limit = INT64_C(1) << 30;

/* Workers go elsewhere.  NULL: there is no name for it. */
static const char *make_absolute(struct arena *arena, const char *folder)
{
    char here[PATH_MAX];
    if (*folder == '/')
        return folder;
    return getcwd(here, sizeof here) ? arena_printf(arena, "%s/%s", here, folder) : NULL;
}

/* NULL: nowhere. */
static const char *find_folder(struct arena *arena)
{
    const char *own = secure_getenv("TILECC_CACHE"), *caches = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    if (own)
        return *own ? make_absolute(arena, own) : NULL;
    if (caches && *caches == '/')
        return arena_printf(arena, "%s/tilecc", caches);
    return home && *home == '/' ? arena_printf(arena, "%s/.cache/tilecc", home) : NULL;
}

/* "300M"; -1: it is no number of bytes. */
static int64_t read_bytes(const char *text)
{
    static const char units[] = "KMG";
    char *end;
    long long number = strtoll(text, &end, 10);
    if (number < 0 || end == text)
        return -1;
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (end[unit ? 1 : 0] || number > INT64_MAX >> shift)
        return -1;
    return number << shift;
}

/* A cache never makes a compilation fail. */
static int64_t choose_limit(const struct options *options)
{
    const char *text = secure_getenv("TILECC_CACHE_SIZE");
    int64_t bytes = text && *text ? read_bytes(text) : usual_limit;
    if (bytes >= 0)
        return bytes;
    if (!options->no_warnings && !options->json)
        fprintf(stderr, "tilecc: warning: TILECC_CACHE_SIZE is no number of bytes such as 300M: the cache takes 1G\n");
    return usual_limit;
}

/* Nothing else leaves a folder behind. */
static bool makes_code(const struct options *options)
{
    bool has_code = emit_has_object(options->emit) || options->emit == EMIT_CUBIN || options->emit == EMIT_FATBIN;
    return has_code && !options->dry_run && !options->syntax_only && !options->interpret && !options->run_tests;
}

struct cache *cache_choose(const struct options *options)
{
    bool wanted = makes_code(options) && !options->no_cache && !plant_is_chosen();
    const char *folder = wanted ? find_folder(options->arena) : NULL;
    return folder ? cache_open(options->arena, folder, choose_limit(options)) : NULL;
}
