/* Splitting a function into roles: what the files of `specialise` share.  See specialise.c. */
#ifndef TILECC_SPECIALISE_H
#define TILECC_SPECIALISE_H
#include "ir/ir.h"
#include "passes/loops/ring_plan.h"
#include "passes/base/pass.h"

/* Buffers that are filled and emptied together, over and over: slots in turn, two mbarriers a slot. */
struct ring {
    VECTOR(struct ir_value *) buffers; /* of the source; slots 1 */
    VECTOR(struct ir_value *) made;    /* their rings of `slots` */
    int64_t bytes, room;               /* of one slot: what is copied, and what it takes */
    struct ring_plan plan;             /* where it is filled in a loop */
    int slots;
    bool in_loop;
    bool shared;        /* the blocks of a cluster fill it together */
    bool made_by_maker; /* the maker fills it */
    bool read_by_maker;
    struct ir_value *full, *empty; /* mbarriers */
};
/* A wait of the source, the copies that it waits for, and the last operation of its block that looks at what they
 * brought. */
struct channel {
    struct ir_operation *wait, *release;
    VECTOR(struct ir_operation *) copies;
    int ring;
    /* Of what the maker makes, else NULL: the barrier behind the stores, of which `wait` is the one in front; */
    struct ir_operation *last;
    const struct layout *layout; /* ... in which it holds tiles; */
    int source;                  /* ... the channel that it makes them of. */
};
/* A store that goes through shared memory: `count` panels of `width` columns. */
struct staged_store {
    struct ir_operation *store;
    struct ir_value *ring;  /* a buffer; stores of one shape share it */
    struct ir_value *other; /* the same for the second of two consumers; or NULL */
    const struct ir_type *buffer, *part;
    int count, width;
};
struct outline {
    struct ir_function *function;
    struct pass_context *context;
    VECTOR(struct ring) rings;
    VECTOR(struct channel) channels;
    struct ir_operation *last; /* of the source's body; what is built stands behind it */
    bool *needed;              /* by value id: the producer computes it too */
    int value_count;
    bool maker;          /* there is one */
    bool *by_maker;      /* by value id: computed by the maker alone */
    const char *problem; /* why the function stays in one piece */
    struct location problem_at;
    /* stores through shared memory */
    VECTOR(struct staged_store) staged;
    int groups; /* warpgroups that each store their own rows; 0: all threads do it together */
    /* consumers */
    bool scarce;           /* beside what stores want there is room for one slot of loads alone */
    int consumers;         /* that take whole programs in turn; 1: one takes all */
    int consumer;          /* the one that is being built */
    struct ir_value *turn; /* mbarriers: consumer i may start the products of its next program */
    /* the order of programs */
    bool persistent, reversed;
    int paired; /* the grid dimension along which long programs and short ones make pairs; -1: none does */
    bool grows; /* they get longer along it */
    int raster; /* programs of dimension 0 side by side; 1: as they are numbered */
    int cluster, cluster_dimension; /* blocks that work together, neighbours along a grid dimension; 1: none */
};

/* plan_roles.c: what a producer would do; false: there is nothing, or a problem.  Whether its buffers fit is not asked. */
bool outline_find_work(struct outline *o);
/* Plans that there is no producer, and says so, because of the problem. */
void outline_plan_none(struct outline *o);
/* The first problem is the one that counts. */
void outline_fail(struct outline *o, const struct ir_operation *op, const char *problem);

/* specialise_slice.c: what the producer must compute.  False: problem says why it cannot. */
bool outline_slice(struct outline *o);
/* How a scalar moves when grid index `dimension` grows: 1 up, -1 down, 0 not at all, 2 unknown. */
int outline_direction(const struct ir_value *value, int dimension);

/* specialise_emit.c: the body of a role at the builder's point, which is moved to its end.  consumer: its number, or one of
 * these. */
enum { OUTLINE_PRODUCER = -1, OUTLINE_MAKER = -2 };
void outline_emit(struct outline *o, int consumer, struct ir_builder *builder);

/* specialise_make.c: whether there is a maker, whose rings and channels are added to the producer's; whether it does the
 * operation, and consumers do not; and the tiles that it stores to fill a channel, at the builder's point: what it loads for them,
 * or what it computes. */
void outline_choose_maker(struct outline *o);
bool outline_is_of_maker(const struct outline *o, const struct ir_operation *op);
void outline_make_tiles(const struct outline *o, struct ir_builder *builder, const struct channel *channel, bool loads,
                        struct ir_value **copies);

/* specialise_programs.c: whether blocks walk over programs, and in which order these come. */
void outline_order_programs(struct outline *o);
/* What a block knows of its pairs, and of the short programs behind them, before the first; i32. */
struct outline_pairs {
    struct ir_value *fits;                   /* bool: all in 32 bits */
    struct ir_value *few;                    /* bool: short ones are not worth while */
    struct ir_value *block, *blocks;         /* its number, and how many there are */
    struct ir_value *along;                  /* programs of a line */
    struct ir_value *all_lines, *last_line;  /* how many lines there are, in twos; the number of the last */
    struct ir_value *paired, *left;          /* pairs that blocks take whole; programs that are left */
    struct ir_value *short_pairs;            /* of these, in twos, those at the first `places` of each line, */
    struct ir_value *places, *lines;         /* ... but at one more of all behind so many lines, in twos */
    struct ir_value *first_end, *second_end; /* pairs of these lines, and of all but a last single one */
};
struct outline_pairs outline_count_pairs(const struct outline *o, struct ir_builder *builder, struct ir_value *block,
                                         struct ir_value *programs, struct ir_value *blocks);
/* The coordinates of a program of the block, which it takes in that turn, an i32. */
void outline_place_pair(const struct outline *o, struct ir_builder *builder, const struct outline_pairs *pairs,
                        struct ir_value *program, struct ir_value *turn, struct ir_value **coordinate);

/* Whether two consumers take programs in turn; and how far a ring is moved on by a program of another
 * one, at the builder's point. */
void outline_choose_consumers(struct outline *o);
void outline_one_consumer(struct outline *o, const char *why);
/* The loop over which they all are filled. */
const struct ir_operation *outline_common_loop(const struct outline *o);
struct ir_value *outline_fillings(const struct outline *o, int ring, struct ir_builder *builder,
                                  struct ir_value *const *copies);

/* specialise_cluster.c: reads function->cluster and sets it to what is done, 0 for single blocks. */
void outline_choose_cluster(struct outline *o);
bool outline_is_shared(const struct outline *o, const struct ir_operation *copy);

/* specialise_store.c */
struct ir_value *outline_unconverted(struct ir_value *value); /* looks through convert_layout */
void outline_plan_stores(struct outline *o);
void outline_plan_apart(struct outline *o);
/* An operation that each warpgroup does by itself, where they store so. */
struct ir_operation *outline_build_of_groups(const struct outline *o, struct ir_builder *builder,
                                             enum ir_opcode opcode);
bool outline_is_staging(const struct outline *o, const struct ir_value *buffer);
/* Bytes that are free when rings of stores, all but the first, have a single slot; and that done. */
int64_t outline_spare_staging(const struct outline *o);
void outline_save_staging(struct outline *o);
const struct staged_store *outline_staged(const struct outline *o, const struct ir_operation *store); /* or NULL */
/* The store with operands (view, indexes) already mapped; copies[id] is the copy of a value of the source, or NULL. */
void outline_emit_store(struct outline *o, struct ir_builder *builder, const struct staged_store *staged,
                        struct ir_value *const *copies, struct ir_value *const *operands);

static inline struct ir_value *outline_buffer_of(const struct ir_operation *copy)
{
    return copy->operands[copy->operand_count - 1];
}
static inline bool outline_has_buffer(const struct ring *ring, const struct ir_value *buffer)
{
    for (int i = 0; i < ring->buffers.count; i++)
        if (ring->buffers.data[i] == buffer)
            return true;
    return false;
}
static inline int outline_channel(const struct outline *o, const struct ir_operation *wait)
{
    for (int i = 0; i < o->channels.count; i++)
        if (o->channels.data[i].wait == wait)
            return i;
    return -1;
}
/* Whether an operation holds a wait of the ring (any ring: -1), itself or inside. */
bool outline_holds_ring(const struct outline *o, const struct ir_operation *op, int ring);
#endif
