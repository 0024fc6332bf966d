/* A campaign of random programs or changed inputs on all processors (support/campaign.h):
 *
 *     campaign KIND FIRST COUNT [CONTEXT]      KIND as support/kinds.c lists them; without arguments they are printed
 *
 * From the environment: JOBS (all processors), TIME in seconds (no end but COUNT), FOLDER for findings, COUNTS: a
 * file that gets the line of counts that is printed at the end, VERSION for that line.  Status 1 when there are
 * findings. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/kinds.h"

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static int usage(void)
{
    fprintf(stderr, "usage: campaign KIND FIRST COUNT [CONTEXT]\n");
    for (int i = 0; i < fuzz_kind_count; i++)
        fprintf(stderr, "    %-10s %s\n", fuzz_kinds[i].name, fuzz_kinds[i].help);
    return 2;
}

/* "inputs" is told by the program of the corpus: front_corpus_test. */
static void put_counts(FILE *out, const struct campaign *campaign, const struct campaign_counts *counts,
                       const char *program)
{
    char day[32];
    time_t now = time(NULL);
    const char *slash = program ? strrchr(program, '/') : NULL;
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    fprintf(out,
            "{\"date\": \"%s\", \"tool\": \"%s%s\", \"seed\": %llu, \"seconds\": %.0f, \"programs\": %lld, "
            "\"runs\": %lld, \"refused\": %lld, \"findings\": %lld, \"jobs\": %d, \"version\": \"%s\"}\n",
            day, program ? "" : "campaign ", program ? slash ? slash + 1 : program : campaign->name,
            (unsigned long long)campaign->first, counts->seconds, (long long)counts->programs, (long long)counts->runs,
            (long long)counts->refused, (long long)counts->findings, campaign->jobs, variable("VERSION", "not told"));
}

int main(int count, char **arguments)
{
    if (count < 4)
        return usage();
    const struct kind *kind = NULL;
    for (int i = 0; i < fuzz_kind_count; i++)
        if (!strcmp(fuzz_kinds[i].name, arguments[1]))
            kind = &fuzz_kinds[i];
    if (!kind)
        return usage();
    struct campaign campaign = {.name = kind->name,
                                .folder = variable("FOLDER", NULL),
                                .first = strtoull(arguments[2], NULL, 0),
                                .count = strtoull(arguments[3], NULL, 0),
                                .seconds = atoi(variable("TIME", "0")),
                                .jobs = atoi(variable("JOBS", "0")),
                                .work = kind->work,
                                .open = kind->open,
                                .context = count > 4 ? arguments[4] : NULL};
    campaign.once_more = !strcmp(kind->name, "compile");
    campaign.unit_seconds = campaign.once_more ? 120 : 0;
    if (campaign.jobs <= 0)
        campaign.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    struct campaign_counts counts;
    campaign_run(&campaign, &counts);
    const char *program = strcmp(kind->name, "inputs") ? NULL : campaign.context;
    put_counts(stdout, &campaign, &counts, program);
    const char *path = variable("COUNTS", NULL);
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        put_counts(file, &campaign, &counts, program);
        fclose(file);
    }
    return counts.findings != 0;
}
