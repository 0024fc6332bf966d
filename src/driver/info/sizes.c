/* What takes the bytes of an object, told from its sections: their names say the kernel, and of images the GPU.
 *
 *   .text.tile.softmax_f16   .rela.text.tile.softmax_f16   .data.rel.ro.tile.softmax_f16   …
 *   .rodata.tile.image.softmax_f16__12.sm_90a              …__12.sm_90a.ptx                  */
#include <stdlib.h>
#include <string.h>

#include "driver/info/info.h"

enum size_part { PART_CODE, PART_IMAGE, PART_REST, PART_COUNT };

struct piece {
    const char *kernel, *target; /* target: of an image */
    enum size_part part;
    uint64_t size;
};
struct pieces {
    VECTOR(struct piece) list;
};

static const struct {
    const char *prefix;
    enum size_part part;
} kinds[] = {{".text.tile.", PART_CODE},
             {".text.tile_shared.", PART_CODE},
             {".rodata.tile.image.", PART_IMAGE},
             {".rodata.tile.", PART_REST},
             {".data.rel.ro.tile.", PART_REST}};

void info_split_image(const struct object *object, const char *name, const char **kernel, const char **target)
{
    const char *dot = strchr(name, '.'), *end = dot ? dot : name + strlen(name), *number = end;
    while (number > name && number[-1] >= '0' && number[-1] <= '9')
        number--;
    bool numbered = number - name > 2 && number[-1] == '_' && number[-2] == '_';
    *kernel = arena_substring(object->arena, name, (size_t)((numbered ? number - 2 : end) - name));
    *target = dot ? dot + 1 : "?";
}

/* Kernels' names have no dots. */
bool info_is_ptx(const char *image)
{
    size_t size = strlen(image);
    return size > 4 && strcmp(image + size - 4, ".ptx") == 0;
}

static bool read_piece(const struct object *object, const char *name, uint64_t size, struct piece *piece)
{
    bool tells_places = strncmp(name, ".rela.", 6) == 0;
    name += tells_places ? 5 : 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].prefix);
        if (strncmp(name, kinds[i].prefix, length) != 0)
            continue;
        *piece = (struct piece){name + length, NULL, tells_places ? PART_REST : kinds[i].part, size};
        if (piece->part == PART_IMAGE)
            info_split_image(object, name + length, &piece->kernel, &piece->target);
        return true;
    }
    return false;
}

static int compare_kernels(const void *a, const void *b)
{
    return strcmp(((const struct piece *)a)->kernel, ((const struct piece *)b)->kernel);
}

static int compare_targets(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return strcmp(x->target ? x->target : "", y->target ? y->target : "");
}

struct sum {
    uint64_t bytes[PART_COUNT], all;
    int images;
};

static void add(struct sum *sum, const struct piece *piece)
{
    sum->bytes[piece->part] += piece->size;
    sum->all += piece->size;
    sum->images += piece->part == PART_IMAGE;
}

static void print_kernel(const struct object *object, const char *kernel, const struct sum *sum)
{
    printf("size    %s: %llu bytes, %llu of host code", object_shown(object, kernel), (unsigned long long)sum->all,
           (unsigned long long)sum->bytes[PART_CODE]);
    if (sum->images)
        printf(", %llu in %d image%s", (unsigned long long)sum->bytes[PART_IMAGE], sum->images,
               sum->images == 1 ? "" : "s");
    printf("\n");
}

void info_print_sizes(const struct object *object, const Elf64_Shdr *names)
{
    struct pieces pieces = {0};
    struct sum all = {0};
    for (unsigned i = 0; i < object->header.e_shnum; i++) {
        Elf64_Shdr section;
        struct piece piece;
        if (object_section(object, i, &section) && section.sh_type != SHT_NOBITS &&
            read_piece(object, object_name(object, names, section.sh_name), section.sh_size, &piece)) {
            vector_push(object->arena, &pieces.list, piece);
            add(&all, &piece);
        }
    }
    struct piece *list = pieces.list.data;
    size_t count = (size_t)pieces.list.count;
    if (count)
        qsort(list, count, sizeof *list, compare_kernels);
    for (size_t i = 0, next; i < count; i = next) {
        struct sum sum = {0};
        for (next = i; next < count && compare_kernels(&list[i], &list[next]) == 0; next++)
            add(&sum, &list[next]);
        print_kernel(object, list[i].kernel, &sum);
    }
    if (count)
        qsort(list, count, sizeof *list, compare_targets);
    for (size_t i = 0, next; i < count; i = next) {
        struct sum sum = {0};
        for (next = i; next < count && compare_targets(&list[i], &list[next]) == 0; next++)
            add(&sum, &list[next]);
        if (list[i].target)
            printf("size    %s: %llu bytes in %d image%s\n", object_shown(object, list[i].target),
                   (unsigned long long)sum.all, sum.images, sum.images == 1 ? "" : "s");
    }
    printf("size    all: %zu bytes", object->size);
    if (all.all <= object->size) /* sections of a broken file overlap */
        printf(", %llu of them names, constants and tables of the object",
               (unsigned long long)(object->size - all.all));
    printf("\n");
}
