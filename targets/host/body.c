/* So that a linker tells two bodies of one kernel.  Of two archives that both have `f` it opens one, which satisfies whoever
 * calls `f`, and never looks into the other; but of an archive that defines what is only a common symbol so far, it takes the
 * definition.  So an object has some of `f.body_a` to `f.body_p` as common symbols and defines the others, as a hash of
 * its code says:
 *
 *   body 1   common  a b d ...   defined  c e ...
 *   body 2   common  a c d ...   defined  b e ...     body 1 in the link asks for b, and meets a second `f`
 *
 * All sets of common symbols have half of all names, so that none is part of another.  An equal body defines none of what
 * is asked for, and is left where it is.  Definitions are of the descriptor, since functions do not take the place of
 * common symbols. */
#include "targets/host/host.h"

enum { MARKS = 16, COMMON_MARKS = MARKS / 2 };

static uint64_t count_sets(int names, int chosen)
{
    uint64_t count = 1;
    for (int i = 0; i < chosen; i++)
        count = count * (uint64_t)(names - i) / (uint64_t)(i + 1);
    return count;
}

static void add_mark(struct host_builder *builder, const char *name, bool is_common, LLVMValueRef descriptor)
{
    LLVMValueRef mark;
    if (is_common) {
        mark = LLVMAddGlobal(builder->module, builder->i8, name);
        LLVMSetLinkage(mark, LLVMCommonLinkage);
        LLVMSetInitializer(mark, LLVMConstInt(builder->i8, 0, false));
        LLVMSetAlignment(mark, 1);
    } else {
        mark = LLVMAddAlias2(builder->module, LLVMGlobalGetValueType(descriptor), 0, descriptor, name);
    }
    LLVMSetVisibility(mark, LLVMHiddenVisibility);
}

void host_mark_body(struct host_builder *builder, const struct kernel_entry *entry, LLVMValueRef descriptor)
{
    uint64_t number = entry->body % count_sets(MARKS, COMMON_MARKS); /* of the sets in their order */
    int left = COMMON_MARKS;
    for (int i = 0; i < MARKS; i++) {
        uint64_t without = count_sets(MARKS - i - 1, left);
        bool is_common = left && number >= without;
        add_mark(builder, arena_printf(builder->arena, "%s.body_%c", entry->symbol, 'a' + i), is_common, descriptor);
        if (is_common) {
            number -= without;
            left--;
        }
    }
}
