/* A program that is talked to while it runs: bytes to its standard input, lines from its standard output. */
#ifndef TILECC_PARTNER_H
#define TILECC_PARTNER_H
#include "base/base.h"

#include <sys/types.h>

struct partner {
    pid_t id; /* 0: there is none */
    int line; /* the socket that both ends talk through */
    struct buffer heard;
    size_t taken; /* of them */
};

/* Starts argv[0] with our environment in a folder; it ends with us.  False, with errno. */
bool partner_start(struct partner *partner, const char *const *argv, const char *folder);
/* False: it has ended. */
bool partner_send(struct partner *partner, const void *data, size_t size);
/* Its next line, without the end; NULL: it has ended, or said nothing for so many seconds. */
const char *partner_hear(struct partner *partner, struct arena *arena, int seconds);
/* Ends it, whatever it does. */
void partner_end(struct partner *partner);
#endif
