/* A driver for tests, to be built as libcuda.so.1: contexts, streams, libraries and launches are only written down, and
 * any function can be told to fail.  What real drivers refuse (another device's image, loading inside a capture) it
 * refuses too. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H
#include <stdint.h>

enum { FAKE_FUNCTIONS = 64, FAKE_SLOTS = 64, FAKE_DEVICES = 2, FAKE_MAPS = 4, FAKE_ENCODES = 16 };

/* A context and a stream are pointers to these. */
struct fake_context {
    int device;
    unsigned long long id;
    int destroyed;
};
struct fake_stream {
    struct fake_context *context;
    int capturing;
};

struct fake_script {
    const char *function;
    int from, count, result; /* calls from..from+count-1 of the function, the first being 1, give this result */
};

struct fake_launch {
    unsigned grid[3], block[3], shared, cluster;
    void *stream, *function;
    uint64_t slots[FAKE_SLOTS];
    uint64_t maps[FAKE_MAPS][16];
    int overlap, priority, attributes; /* programmatic stream serialization; how many attributes there were */
    int policy;                        /* of clusters */
};

/* What cuTensorMapEncodeTiled was told.  The map that it makes holds `number` and the address in its first two words. */
struct fake_encode {
    int number, type, interleave, swizzle, promotion, beyond;
    unsigned rank;
    uint64_t address, extents[5], strides[4];
    uint32_t box[5], steps[5];
};

struct fake_cuda {
    struct fake_script scripts[8];
    int script_count;
    int version;                       /* cuDriverGetVersion */
    int architecture[FAKE_DEVICES];    /* 10 * major + minor */
    int multiprocessors[FAKE_DEVICES]; /* asked for once a device */
    int shared_optin;
    int clusters;       /* that run at the same time, of any kernel */
    int global_capture; /* a capture in global mode goes on in some thread */
    int launches, loads, unloads, primaries, attributes, synchronized; /* how often */
    int unsafe_in_capture; /* how often something was loaded while that was forbidden: the capture is lost */
    int64_t blocks;        /* sum over launches */
    struct fake_launch last;
    struct fake_encode encodes[FAKE_ENCODES]; /* the first ones */
    int encode_count, unaligned_maps;
    int map_count;      /* how many maps a kernel's parameters have behind the slots */
    uint64_t bases[16]; /* slot `base_slot` of the first launches */
    int base_slot;
    int report_slot; /* where a kernel's parameters have the address of its report; 0: nowhere */
    uint64_t report; /* what each launch writes there, unless 0 */
    int slot_count;  /* how many slots a kernel's parameters have */
    struct fake_context primary[FAKE_DEVICES];
    int pools, memories, freed; /* how many were made, and given back */
    int mixed;                  /* launches with another thread's fill between their own and them */
    void *memory[16];           /* the first ones; what they held stays to be looked at */
};
/* Exported by the library. */
struct fake_cuda *fake_cuda(void);
void fake_set_current(struct fake_context *context); /* of this thread */
struct fake_context *fake_current(void);
int fake_calls(const char *function);
void fake_report(uint64_t report); /* what launches of this thread write to their report, 0: nothing */
#endif
