/* Fixed latencies, from latencies.def. */
#include "targets/nvptx/native/private.h"

enum {
    PIPE_GUARD = NATIVE_PORT_GUARD,
    PIPE_ADDEND = NATIVE_PORT_ADDEND,
    PIPE_ADDEND_HIGH = NATIVE_PORT_ADDEND_HIGH,
    PIPE_ANY = NATIVE_PORTS
};
/* Of what is not in the table. */
enum { UNKNOWN = 60 };

static const struct {
    int producer;
    enum native_kind kind;
    int consumer, cycles[2];
} rows[] = {
#define LATENCY(producer, kind, consumer, sm_80, sm_90) {PIPE_##producer, KIND_##kind, PIPE_##consumer, {sm_80, sm_90}},
#define LATE(reader, writer, sm_80, sm_90)
#define SPACE(first, second, sm_80, sm_90)
#include "targets/nvptx/native/latencies.def"
#undef LATENCY
#undef LATE
#undef SPACE
};

const struct native_late native_late[NATIVE_LATE_ROWS] = {
#define LATENCY(producer, kind, consumer, sm_80, sm_90)
#define SPACE(first, second, sm_80, sm_90)
#define LATE(reader, writer, sm_80, sm_90) {PIPE_##reader, PIPE_##writer, {sm_80, sm_90}},
#include "targets/nvptx/native/latencies.def"
#undef LATENCY
#undef LATE
#undef SPACE
};

static const struct {
    int first, second, cycles[2];
} spaces[] = {
#define LATENCY(producer, kind, consumer, sm_80, sm_90)
#define LATE(reader, writer, sm_80, sm_90)
#define SPACE(first, second, sm_80, sm_90) {PIPE_##first, PIPE_##second, {sm_80, sm_90}},
#include "targets/nvptx/native/latencies.def"
#undef LATENCY
#undef LATE
#undef SPACE
};

int native_space(int architecture, enum native_pipe first, enum native_pipe second)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (spaces[i].first == (int)first && spaces[i].second == (int)second)
            return spaces[i].cycles[architecture >= 90];
    return 1;
}

enum native_kind native_kind(int place)
{
    return place < NATIVE_UNIFORM             ? KIND_R
           : place < NATIVE_PREDICATE         ? KIND_UR
           : place < NATIVE_UNIFORM_PREDICATE ? KIND_P
                                              : KIND_UP;
}

enum native_kind native_kind_written(const struct native_instruction *in, int place)
{
    enum { CODE_IMAD_HI = 0x027 };
    bool high = in->form->pipe == PIPE_WIDE && (in->form->code == CODE_IMAD_HI || place != native_first(&in->writes));
    return high && native_kind(place) == KIND_R ? KIND_HIGH : native_kind(place);
}

int native_port(const struct native_instruction *in, int place)
{
    if (place == in->guard)
        return NATIVE_PORT_GUARD;
    if (!native_has(&in->addends, place))
        return (int)in->form->pipe;
    return place == native_first(&in->addends) ? NATIVE_PORT_ADDEND : NATIVE_PORT_ADDEND_HIGH;
}

static int latency(int architecture, int producer, int kind, int port)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].producer == producer && (int)rows[i].kind == kind &&
            (rows[i].consumer == port || rows[i].consumer == PIPE_ANY))
            return rows[i].cycles[architecture >= 90];
    return UNKNOWN;
}

void native_latencies(int architecture, short latencies[PIPE_COUNT][NATIVE_KINDS][NATIVE_PORTS])
{
    for (int producer = 0; producer < PIPE_COUNT; producer++)
        for (int kind = 0; kind < NATIVE_KINDS; kind++)
            for (int port = 0; port < NATIVE_PORTS; port++)
                latencies[producer][kind][port] = (short)latency(architecture, producer, kind, port);
}
