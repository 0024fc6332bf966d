/* tilecc info --dependences: the machine code of each GPU image as the proofs of targets/nvptx/native/ see it: what each
 * instruction reads, writes and waits for, what it depends on, and whether the order as a whole is right.
 *
 * tilecc info --orders=SEED: a file of --tuning with an order of each code drawn at random, all of them right. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/progress.h"
#include "driver/info/info.h"
#include "targets/nvptx/native/native.h"
#include "targets/target.h"

enum { MOST_FAULTS = 20, MOST_STEPS = 2000 };

struct shown {
    const struct object *object;
    const char *name, *target, *digest;
    struct native_code *code;
    struct progress *progress;
};

/* What an instruction depends on in its block: the last in front of it for each reason, back to a wall. */
static void print_reasons(const struct shown *s, int at, int first)
{
    const struct native_code *code = s->code;
    struct native_set told = {{0}};
    bool is_first = true;
    for (int i = at - 1; i >= first; i--) {
        int place;
        enum native_edge edge = native_depends(&code->instructions[i], &code->instructions[at], &place);
        if (edge == EDGE_WALL)
            break;
        if (edge == EDGE_NONE || native_has(&told, place))
            continue;
        native_add(&told, place);
        printf("%s %s of %04x", is_first ? " [" : ",", native_place_name(s->object->arena, place),
               (unsigned)i * NATIVE_BYTES);
        is_first = false;
    }
    printf("%s\n", is_first ? "" : "]");
}

static void print_block(const struct shown *s, const struct native_block *block)
{
    printf("    block at %04x", (unsigned)block->first * NATIVE_BYTES);
    for (int i = 0; i < block->next_count; i++)
        printf("%s %04x", i ? " and" : ", goes on at", (unsigned)s->code->blocks[block->next[i]].first * NATIVE_BYTES);
    printf("\n");
    for (int i = block->first; i < block->end; i++) {
        struct buffer line = {0};
        native_print(s->object->arena, &s->code->instructions[i], &line);
        printf("        %04x %s", (unsigned)i * NATIVE_BYTES, line.data);
        print_reasons(s, i, block->first);
        buffer_free(&line);
    }
}

static void print_dependences(const struct shown *s)
{
    struct native_faults faults = {.arena = s->object->arena, .limit = MOST_FAULTS};
    printf("code    %s: native %s %s, %d instructions in %d blocks\n", s->name, s->target, s->digest, s->code->count,
           s->code->block_count);
    if (s->code->problem) {
        printf("        no other order is tried: %s\n", s->code->problem);
        return;
    }
    if (native_check_times(s->code, &faults) == 0)
        printf("        its order is right\n");
    for (int i = 0; i < faults.list.count; i++)
        printf("        not proved: %s\n", faults.list.data[i].text);
    for (int b = 0; b < s->code->block_count; b++)
        print_block(s, &s->code->blocks[b]);
}

static void print_order(const struct shown *s, uint64_t seed)
{
    struct buffer text = {0};
    struct native_walk walk = {.code = native_copy(s->code), .seed = seed};
    for (int i = 0; i < s->code->count && i < MOST_STEPS; i++)
        native_walk_step(&walk);
    native_walk_end(&walk);
    native_write_order(s->code, walk.code, &text);
    progress_clear(s->progress);
    printf("native %s %s # %s, %d of %d moves\n%s", s->target, s->digest, s->name, walk.taken, walk.tried,
           text.data ? text.data : "");
    buffer_free(&text);
}

/* False: there is no such code in it. */
static bool open_image(const struct object *object, const char *name, const Elf64_Shdr *section, struct shown *s)
{
    const unsigned char *cubin = object->data + section->sh_offset;
    size_t size = section->sh_size;
    struct cubin_kernel *kernels;
    int architecture, count;
    const char *problem, *kernel;
    if (packed_is(cubin, size))
        cubin = packed_open(object->arena, cubin, size, &size);
    if (!cubin || !cubin_read(object->arena, cubin, size, &architecture, &count, &kernels, &problem))
        return false;
    *s = (struct shown){.object = object, .name = object_shown(object, name)};
    info_split_image(object, s->name, &kernel, &s->target);
    s->digest = native_digest(object->arena, cubin + kernels[0].code.offset, kernels[0].code.size);
    s->code = nvptx_decode(object->arena, architecture, &kernels[0], cubin);
    return true;
}

/* The name of an image of machine code; NULL: the section is none. */
static const char *image_name(const struct object *object, const Elf64_Shdr *names, unsigned number,
                              Elf64_Shdr *section)
{
    const char *name = object_named_section(object, names, number, IMAGE_SECTION, section);
    return name && !info_is_ptx(name) ? name : NULL;
}

int info_print_native(const struct object *object, const Elf64_Shdr *names, const char *seed)
{
    struct progress *progress = progress_open(object->arena);
    Elf64_Shdr section;
    int count = 0, images = 0;
    for (unsigned i = 0; i < object->header.e_shnum; i++)
        images += image_name(object, names, i, &section) != NULL;
    progress_expect(progress, images);
    for (unsigned i = 0; i < object->header.e_shnum; i++) {
        struct shown s;
        const char *name = image_name(object, names, i, &section);
        if (!name || !open_image(object, name, &section, &s))
            continue;
        s.progress = progress;
        if (seed)
            progress_show(progress, s.name);
        progress_pass(progress, 1);
        if (count++ == 0 && seed)
            printf("tuning 1\n");
        if (!seed)
            print_dependences(&s);
        else if (!s.code->problem && native_check_times(s.code, NULL) == 0)
            print_order(&s, strtoull(seed, NULL, 10));
        else
            printf("# %s: no other order is tried: %s\n", s.name,
                   s.code->problem ? s.code->problem : "that of ptxas is not proved");
    }
    progress_clear(progress);
    return count;
}
