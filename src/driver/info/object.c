/* See info.h. */
#include "driver/info/info.h"

#include <string.h>

static bool is_inside(const struct object *object, uint64_t offset, uint64_t size)
{
    return offset <= object->size && size <= object->size - offset;
}

bool object_read(const struct object *object, uint64_t offset, void *into, size_t size)
{
    if (!is_inside(object, offset, size))
        return false;
    memcpy(into, object->data + offset, size);
    return true;
}

bool object_section(const struct object *object, unsigned index, Elf64_Shdr *section)
{
    return index < object->header.e_shnum &&
           object_read(object, object->header.e_shoff + (uint64_t)index * sizeof *section, section, sizeof *section) &&
           (section->sh_type == SHT_NOBITS || is_inside(object, section->sh_offset, section->sh_size));
}

const char *object_name(const struct object *object, const Elf64_Shdr *strings, uint64_t offset)
{
    if (strings->sh_type != SHT_STRTAB || offset >= strings->sh_size)
        return "";
    const char *text = (const char *)object->data + strings->sh_offset + offset;
    return memchr(text, 0, strings->sh_size - offset) ? text : "";
}

const char *object_named_section(const struct object *object, const Elf64_Shdr *names, unsigned index,
                                 const char *prefix, Elf64_Shdr *section)
{
    size_t length = strlen(prefix);
    if (!object_section(object, index, section) || section->sh_type == SHT_NOBITS)
        return NULL;
    const char *name = object_name(object, names, section->sh_name);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

bool object_open(struct object *object)
{
    Elf64_Shdr names;
    return object_read(object, 0, &object->header, sizeof object->header) &&
           memcmp(object->header.e_ident, ELFMAG, SELFMAG) == 0 && object->header.e_ident[EI_CLASS] == ELFCLASS64 &&
           object->header.e_ident[EI_DATA] == ELFDATA2LSB && object->header.e_shentsize == sizeof(Elf64_Shdr) &&
           object_section(object, object->header.e_shstrndx, &names);
}

const char *object_shown(const struct object *object, const char *name)
{
    char *copy = arena_string(object->arena, name);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
    return copy;
}

bool object_symbol(const struct object *object, const Elf64_Shdr *relocations, const Elf64_Rela *relocation,
                   Elf64_Sym *symbol)
{
    Elf64_Shdr symbols;
    if (!object_section(object, relocations->sh_link, &symbols) || symbols.sh_type != SHT_SYMTAB)
        return false;
    uint64_t offset = ELF64_R_SYM(relocation->r_info) * sizeof *symbol;
    return offset < symbols.sh_size && object_read(object, symbols.sh_offset + offset, symbol, sizeof *symbol);
}
