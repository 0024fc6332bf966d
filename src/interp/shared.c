/* Shared memory: where layouts put elements, what the bytes hold, and who touched them.  Every access comes by here. */
#include <stdlib.h>
#include <string.h>

#include "interp/machine.h"

/* ---- layouts, by their columns alone ---- */

/* Row-major element of a position: the XOR of the columns of its bits, then the repeats. */
static int64_t element_at(const struct layout *layout, uint32_t atom, int64_t repeat, int group)
{
    int64_t index[LAYOUT_RANK] = {0}, linear = 0;
    for (int place = layout->rank - 1; place >= 0; place--) /* the innermost repeats first */
        for (int d = 0; d < layout->rank; d++) {
            if (layout->repeat[d] == 1 || layout->repeat_place[d] != place)
                continue;
            index[d] = d == layout->warp_dimension ? group : repeat % layout->repeat[d];
            repeat /= d == layout->warp_dimension ? 1 : layout->repeat[d];
        }
    for (int d = 0; d < layout->rank; d++) {
        uint32_t low = atom >> layout->shift[d] & ((UINT32_C(1) << layout->atom_bits[d]) - 1);
        linear = linear * layout->extent[d] + (int64_t)low + (index[d] << layout->atom_bits[d]);
    }
    return linear;
}

static uint32_t columns(const struct layout *layout, enum layout_input input, uint32_t part)
{
    uint32_t result = 0;
    for (int bit = 0; bit < layout->bits[input]; bit++)
        if (part >> bit & 1)
            result ^= layout->column[input][bit];
    return result;
}

static void list_offsets(const struct layout *layout, int64_t elements, int32_t *offset)
{
    int bits = layout->bits[LAYOUT_OFFSET];
    for (int64_t i = 0; i < elements; i++) {
        uint32_t atom = columns(layout, LAYOUT_OFFSET, (uint32_t)i & ((UINT32_C(1) << bits) - 1));
        offset[element_at(layout, atom, i >> bits, 0)] = (int32_t)i;
    }
}

static void list_warps(const struct layout *layout, uint64_t *warps)
{
    int64_t repeats = 1;
    for (int d = 0; d < layout->rank; d++)
        if (d != layout->warp_dimension)
            repeats *= layout->repeat[d];
    for (int warp = 0; warp < layout->warp_groups << layout->bits[LAYOUT_WARP] && warp < MACHINE_MOST_WARPS; warp++)
        for (uint32_t lane = 0; lane < UINT32_C(1) << layout->bits[LAYOUT_LANE]; lane++)
            for (uint32_t reg = 0; reg < UINT32_C(1) << layout->bits[LAYOUT_REGISTER]; reg++) {
                uint32_t in_group = (uint32_t)warp & ((UINT32_C(1) << layout->bits[LAYOUT_WARP]) - 1);
                uint32_t atom = columns(layout, LAYOUT_WARP, in_group) ^ columns(layout, LAYOUT_LANE, lane) ^
                                columns(layout, LAYOUT_REGISTER, reg);
                for (int64_t repeat = 0; repeat < repeats; repeat++)
                    warps[element_at(layout, atom, repeat, warp >> layout->bits[LAYOUT_WARP])] |= UINT64_C(1) << warp;
            }
}

/* With `threads` NULL only counts them: first_thread[i + 1] is how many hold element i. */
static void visit_threads(const struct layout *layout, int32_t *first_thread, uint16_t *threads, int32_t *last)
{
    int64_t repeats = 1;
    for (int d = 0; d < layout->rank; d++)
        if (d != layout->warp_dimension)
            repeats *= layout->repeat[d];
    int lanes = 1 << layout->bits[LAYOUT_LANE], warps = layout->warp_groups << layout->bits[LAYOUT_WARP];
    for (int thread = 0; thread < 32 * warps && thread < 32 * MACHINE_MOST_WARPS; thread++)
        for (uint32_t reg = 0; thread % 32 < lanes && reg < UINT32_C(1) << layout->bits[LAYOUT_REGISTER]; reg++) {
            int warp = thread / 32;
            uint32_t in_group = (uint32_t)warp & ((UINT32_C(1) << layout->bits[LAYOUT_WARP]) - 1);
            uint32_t atom = columns(layout, LAYOUT_WARP, in_group) ^
                            columns(layout, LAYOUT_LANE, (uint32_t)thread % 32) ^ columns(layout, LAYOUT_REGISTER, reg);
            for (int64_t repeat = 0; repeat < repeats; repeat++) {
                int64_t element = element_at(layout, atom, repeat, warp >> layout->bits[LAYOUT_WARP]);
                if (last[element] == thread) /* in another register, too */
                    continue;
                last[element] = thread;
                if (threads)
                    threads[first_thread[element]++] = (uint16_t)thread;
                else
                    first_thread[element + 1]++;
            }
        }
}

const struct element_places *machine_threads(struct run *run, const struct layout *layout)
{
    const struct element_places *known = machine_places(run, layout);
    if (known->threads || layout->shared)
        return layout->shared ? NULL : known;
    struct element_places *places = run->places;
    while (places->layout != layout)
        places = places->next;
    int64_t elements = 1;
    for (int d = 0; d < layout->rank; d++)
        elements *= layout->extent[d];
    int32_t *first = ARENA_ARRAY(run->arena, int32_t, elements + 1), *last = ARENA_ARRAY(run->arena, int32_t, elements);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < elements; i++)
            last[i] = -1;
        visit_threads(layout, first, places->threads, last);
        if (pass)
            break;
        for (int64_t i = 0; i < elements; i++)
            first[i + 1] += first[i];
        places->threads = ARENA_ARRAY(run->arena, uint16_t, first[elements] + 1);
    }
    for (int64_t i = elements; i > 0; i--) /* each went on to where the next one starts */
        first[i] = first[i - 1];
    first[0] = 0;
    places->first_thread = first;
    return places;
}

const struct element_places *machine_places(struct run *run, const struct layout *layout)
{
    for (const struct element_places *old = run->places; old; old = old->next)
        if (old->layout == layout)
            return old;
    int64_t elements = 1;
    for (int d = 0; d < layout->rank; d++)
        elements *= layout->extent[d];
    struct element_places *places = ARENA_NEW(run->arena, struct element_places);
    *places = (struct element_places){.layout = layout, .next = run->places};
    if (layout->shared) {
        places->offset = ARENA_ARRAY(run->arena, int32_t, elements);
        list_offsets(layout, elements, places->offset);
    } else {
        places->warps = ARENA_ARRAY(run->arena, uint64_t, elements);
        list_warps(layout, places->warps);
    }
    return run->places = places;
}

int64_t machine_element_byte(const struct machine_part *part, const struct ir_type *type, int64_t element)
{
    const struct machine_buffer *buffer = part->buffer;
    const struct ir_type *whole = buffer->value->type;
    int64_t at[IR_MAX_RANK], linear = 0;
    memcpy(at, part->start, sizeof at);
    for (int d = type->rank - 1; d >= 0; d--) {
        at[part->dimension[d]] += element % type->extent[d];
        element /= type->extent[d];
    }
    for (int d = 0; d < whole->rank; d++)
        linear = linear * whole->extent[d] + at[d];
    int64_t place = buffer->offset_of ? buffer->offset_of[linear] : linear;
    return buffer->base + part->slot * buffer->slot_bytes + place * (ir_element_info[whole->element].bits / 8);
}

/* ---- bytes ---- */

static void make_room(struct machine_block *block, int64_t size)
{
    if (size > block->capacity) {
        int64_t capacity = int64_max(size, block->capacity * 2);
        block->bytes = realloc(block->bytes, (size_t)capacity);
        block->shadow = realloc(block->shadow, (size_t)capacity * sizeof *block->shadow);
        if (!block->bytes || !block->shadow)
            memory_exhausted();
        block->capacity = capacity;
    }
    if (size <= block->size)
        return;
    memset(block->bytes + block->size, 0xa5, (size_t)(size - block->size));
    memset(block->shadow + block->size, 0, (size_t)(size - block->size) * sizeof *block->shadow);
    block->size = size;
}

int64_t machine_place(struct machine *machine, const struct ir_operation *op, int64_t bytes)
{
    int64_t offset = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1);
    if (offset < 0) /* not placed: a place of its own behind all others */
        offset = (machine->current->home->size + 1023) / 1024 * 1024;
    if (bytes < 0 || offset + bytes > INT64_C(1) << 30)
        interp_stop(machine->run, op, "needs more shared memory than there can be");
    make_room(machine->current->home, offset + bytes);
    return offset;
}

uint64_t machine_read(const struct machine_block *block, int64_t byte, enum ir_element element)
{
    return memory_load_bits(block->bytes + byte, element);
}

void machine_write(struct machine_block *block, int64_t byte, enum ir_element element, uint64_t bits)
{
    memory_store_bits(block->bytes + byte, element, bits);
}

/* ---- who touches them ---- */

uint64_t machine_active_warps(const struct machine *machine)
{
    uint64_t all = machine->current->warps >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << machine->current->warps) - 1;
    return all << machine->current->first_warp;
}

void machine_operation_begin(struct machine *machine) { machine->operations++; }

static struct event event_of(const struct machine *machine, const struct ir_operation *op, bool writes)
{
    return (struct event){.op = op,
                          .operation = machine->operations,
                          .role = machine->current->number,
                          .writes = writes,
                          .first_epoch = machine->epochs.count};
}

static struct accessor accessor_of(struct machine *machine, const struct event *event, uint64_t warps)
{
    return (struct accessor){.machine = machine,
                             .block = machine->current->home,
                             .op = event->op,
                             .warps = warps,
                             .writes = event->writes,
                             .event = machine_event(machine, event)};
}

struct accessor machine_access_ordinary(struct machine *machine, const struct ir_operation *op, uint64_t warps,
                                        bool writes)
{
    struct event event = event_of(machine, op, writes);
    event.ordinary = true;
    for (int warp = 0; warp < machine->warps; warp++)
        if (warps >> warp & 1) {
            machine_epoch_push(machine, (struct epoch){warp, machine->agents.data[warp].time});
            event.epochs++;
        }
    return accessor_of(machine, &event, warps);
}

struct accessor machine_access_scratch(struct machine *machine, const struct ir_operation *op, bool writes)
{
    struct accessor accessor = machine_access_ordinary(machine, op, machine_active_warps(machine), writes);
    machine->events.data[accessor.event].scratch = true;
    accessor.name = "scratch";
    return accessor;
}

struct accessor machine_access_asynchronous(struct machine *machine, const struct ir_operation *op, bool writes,
                                            bool ordinary, int first_epoch, int epochs)
{
    struct event event = event_of(machine, op, writes);
    event.ordinary = ordinary;
    event.asynchronous = true;
    event.first_epoch = first_epoch;
    event.epochs = epochs;
    return accessor_of(machine, &event, machine_active_warps(machine));
}

/* ---- races ---- */

static bool ordered_before(const struct accessor *accessor, const struct event *old, bool fenced)
{
    struct machine *machine = accessor->machine;
    if (accessor->any_warp)
        return machine_knows_together(machine, old, accessor->warps, fenced);
    for (int warp = 0; warp < machine->warps; warp++)
        if (accessor->warps >> warp & 1 && !machine_knows(machine, old, warp, fenced))
            return false;
    return true;
}

static const char *role_text(int role, char *text, size_t size)
{
    if (role < 0)
        return "";
    snprintf(text, size, " in role %d", role);
    return text;
}

static _Noreturn void report_race(const struct accessor *accessor, const struct event *old)
{
    const struct event *now = &accessor->machine->events.data[accessor->event];
    const char *text = ir_op_info[accessor->op->opcode].text, *other = ir_op_info[old->op->opcode].text;
    char here[24], there[24];
    interp_stop(accessor->machine->run, accessor->op,
                "race on %s: %s%s %s it, and %s at %d:%d%s%s %s it: nothing orders them", accessor->name, text,
                role_text(now->role, here, sizeof here), accessor->writes ? "writes" : "reads", other, old->op->at.line,
                old->op->at.column, role_text(old->role, there, sizeof there), old->asynchronous ? " still" : "",
                old->writes ? "writes" : "reads");
}

static void compare(const struct accessor *accessor, uint32_t index)
{
    struct machine *machine = accessor->machine;
    struct event *old = &machine->events.data[index];
    const struct event *now = &machine->events.data[accessor->event];
    if (old->compared == accessor->event || old->operation == now->operation)
        return;
    if (!ordered_before(accessor, old, false))
        report_race(accessor, old);
    if (old->writes && old->ordinary && !now->ordinary && !ordered_before(accessor, old, true))
        interp_stop(machine->run, accessor->op,
                    "no fence_async between %s at %d:%d, which writes %s, and %s, which %s it",
                    ir_op_info[old->op->opcode].text, old->op->at.line, old->op->at.column, accessor->name,
                    ir_op_info[accessor->op->opcode].text, accessor->writes ? "writes" : "reads");
    old->compared = accessor->event;
}

/* Whoever learns the later event knows the earlier one. */
static bool covers(const struct machine *machine, const struct event *later, const struct event *earlier)
{
    for (int i = 0; i < earlier->epochs; i++) {
        const struct epoch *old = &machine->epochs.data[earlier->first_epoch + i];
        bool found = false;
        for (int k = 0; k < later->epochs && !found; k++) {
            const struct epoch *next = &machine->epochs.data[later->first_epoch + k];
            found = next->agent == old->agent && next->time >= old->time;
        }
        if (!found)
            return false;
    }
    return true;
}

/* The set with the accessor's event; without those that it makes superfluous. */
static uint32_t add_reader(const struct accessor *accessor, uint32_t set)
{
    struct machine *machine = accessor->machine;
    const struct event *now = &machine->events.data[accessor->event];
    struct readers *from = &machine->sets.data[set];
    if (from->added == accessor->event)
        return from->result;
    int first = machine->members.count, count = from->count;
    for (int i = 0; i < count; i++) {
        uint32_t old = machine->members.data[machine->sets.data[set].first + i];
        const struct event *event = &machine->events.data[old];
        bool known = !now->asynchronous && !accessor->any_warp && ordered_before(accessor, event, false);
        if (!known && !covers(machine, now, event))
            vector_push(machine->arena, &machine->members, old);
    }
    vector_push(machine->arena, &machine->members, accessor->event);
    struct readers made = {.first = first, .count = machine->members.count - first};
    vector_push(machine->arena, &machine->sets, made);
    from = &machine->sets.data[set];
    from->added = accessor->event;
    from->result = (uint32_t)machine->sets.count - 1;
    return from->result;
}

static void check_written(const struct accessor *accessor, const struct shadow *shadow)
{
    struct machine *machine = accessor->machine;
    const struct event *now = &machine->events.data[accessor->event], *writer = &machine->events.data[shadow->writer];
    if (now->scratch)
        return;
    if (!shadow->writer)
        interp_stop(machine->run, accessor->op, "reads a part of %s that nothing wrote", accessor->name);
    if (writer->scratch)
        interp_stop(machine->run, accessor->op, "reads a part of %s that %s at %d:%d overwrote with its scratch",
                    accessor->name, ir_op_info[writer->op->opcode].text, writer->op->at.line, writer->op->at.column);
}

void machine_touch(const struct accessor *accessor, int64_t byte, int64_t size)
{
    struct machine *machine = accessor->machine;
    for (int64_t i = byte; i < byte + size; i++) {
        struct shadow *shadow = &accessor->block->shadow[i];
        if (shadow->writer && machine->events.data[shadow->writer].op->opcode == OP_MBARRIER)
            interp_stop(machine->run, accessor->op, "touches shared memory that holds an mbarrier");
        if (shadow->writer)
            compare(accessor, shadow->writer);
        if (!accessor->writes) {
            check_written(accessor, shadow);
            shadow->readers = add_reader(accessor, shadow->readers);
            continue;
        }
        const struct readers *readers = &machine->sets.data[shadow->readers];
        for (int k = 0; k < readers->count; k++)
            compare(accessor, machine->members.data[readers->first + k]);
        *shadow = (struct shadow){.writer = accessor->event};
    }
}
