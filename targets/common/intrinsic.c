/* Calls of the intrinsics that ops.def names: `?` in a name is s or u, and some take one more argument, which says whether
 * an edge of the operation is undefined. */
#include "targets/common/intrinsic.h"

#include <string.h>

static unsigned find(const char *pattern, enum ir_element element)
{
    char name[64];
    snprintf(name, sizeof name, "%s", pattern);
    char *sign = strchr(name, '?');
    if (sign)
        *sign = ir_is_signed(element) ? 's' : 'u';
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        die("ops.def: LLVM has no intrinsic %s", name);
    return id;
}

LLVMValueRef intrinsic_call(LLVMModuleRef module, LLVMBuilderRef builder, enum ir_opcode opcode,
                            enum ir_element element, const LLVMValueRef *operands)
{
    enum { MOST = 8 };
    const struct ir_op_info *info = &ir_op_info[opcode];
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type = LLVMTypeOf(operands[0]);
    LLVMValueRef arguments[MOST];
    int count = info->least + info->false_arguments;
    if (!info->intrinsic || count > MOST)
        die("%s is no intrinsic", info->text);
    for (int i = 0; i < count; i++)
        arguments[i] = i < info->least ? operands[i] : LLVMConstInt(LLVMInt1TypeInContext(context), 0, false);
    unsigned id = find(info->intrinsic, element);
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, &type, 1);
    LLVMTypeRef signature = LLVMIntrinsicGetType(context, id, &type, 1);
    return LLVMBuildCall2(builder, signature, function, arguments, (unsigned)count, "");
}
