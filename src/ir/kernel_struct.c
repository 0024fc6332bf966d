/* How C lays a struct of the language out: each member is what a parameter of its type is (an `int` for a bool or the
 * member of an enum, 32 bits for narrower integers, a float for narrower floats), at the next multiple of its size, and
 * the whole is a multiple of the largest. */
#include "ir/kernel.h"

static int64_t size_of(const struct kernel_parameter *member)
{
    if (member->kind == KERNEL_POINTER)
        return 8;
    return member->kind == KERNEL_SCALAR && ir_element_info[member->element].bits == 64 ? 8 : 4;
}

int64_t kernel_struct_offset(const struct kernel_struct *structure, int number)
{
    int64_t at = 0, largest = 4;
    for (int i = 0; i < structure->count; i++) {
        int64_t size = size_of(&structure->members[i]);
        at = (at + size - 1) / size * size;
        if (i == number)
            return at;
        at += size;
        largest = size > largest ? size : largest;
    }
    return (at + largest - 1) / largest * largest;
}
