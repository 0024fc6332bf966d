/* What the files of `tilecc info` share: an object file in memory, of which nothing is believed. */
#ifndef TILECC_INFO_H
#define TILECC_INFO_H
#include <elf.h>

#include "base/base.h"
#include "runtime-stub/tile_rt.h"

struct object {
    const unsigned char *data;
    size_t size;
    Elf64_Ehdr header;
    struct arena *arena;
};

/* Reads the header.  False: it is no 64-bit object. */
bool object_open(struct object *object);
/* False: the file ends before, or has no such section. */
bool object_read(const struct object *object, uint64_t offset, void *into, size_t size);
bool object_section(const struct object *object, unsigned index, Elf64_Shdr *section);
/* The symbol that a relocation of these relocations names. */
bool object_symbol(const struct object *object, const Elf64_Shdr *relocations, const Elf64_Rela *relocation,
                   Elf64_Sym *symbol);
/* A string of a string section, "" where the file is broken. */
const char *object_name(const struct object *object, const Elf64_Shdr *strings, uint64_t offset);
/* A name from the file, which may hold anything, for a terminal. */
const char *object_shown(const struct object *object, const char *name);
/* Sections of kernels' host code and of images begin so, and behind it comes the name. */
#define CODE_SECTION ".text.tile."
#define IMAGE_SECTION ".rodata.tile.image."
/* That name, where section `index` is in the file and begins so; else NULL. */
const char *object_named_section(const struct object *object, const Elf64_Shdr *names, unsigned index,
                                 const char *prefix, Elf64_Shdr *section);
/* "softmax_f16__12.sm_90a.ptx": softmax_f16, and sm_90a.ptx. */
void info_split_image(const struct object *object, const char *name, const char **kernel, const char **target);
/* Of an image's name. */
bool info_is_ptx(const char *name);
/* Adds the object as JSON to `out`; gives the number of kernels and images. */
int info_put_json(const struct object *object, const Elf64_Shdr *names, const char *path, const char *machine,
                  struct buffer *out);
/* What info_print_instances tells, as the members of an array of JSON, with how each is launched. */
void info_put_instances(const struct object *object, const Elf64_Shdr *names, unsigned code, struct buffer *out);
/* Adds the images of TARGET[:KERNEL] to the files.  NULL, or what is wrong. */
struct output_set;
const char *info_extract(const struct object *object, const Elf64_Shdr *names, const char *words,
                         struct output_set *files);
/* The instances of the kernel whose host code is the section: how many for each target and what of, and a line for each
 * of the processor's. */
void info_print_instances(const struct object *object, unsigned code);
/* Whether an image is packed; what it holds, NULL: it is damaged, or packed in another way. */
bool packed_is(const void *data, size_t size);
const void *packed_open(struct arena *arena, const void *data, size_t size, size_t *unpacked_size);
/* What takes the bytes of the object: a line for each kernel, each GPU, and the rest. */
void info_print_sizes(const struct object *object, const Elf64_Shdr *names);
/* The machine code of GPU images as its proofs see it; with a seed, as text, a file of --tuning with other orders of it.
 * Gives the number of images. */
int info_print_native(const struct object *object, const Elf64_Shdr *names, const char *seed);
#endif
