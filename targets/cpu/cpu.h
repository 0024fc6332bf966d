/* CPU code from Value IR, into an LLVM module that targets/host owns. */
#ifndef TILECC_CPU_H
#define TILECC_CPU_H
#include "targets/common/lines.h"
#include "targets/target.h"
#include <llvm-c/Core.h>

/* AArch64 has its NEON at the first level and no other. */
enum cpu_isa { CPU_BASELINE, CPU_WIDE /* AVX2 and FMA */, CPU_WIDEST /* AVX-512 */, CPU_ISA_COUNT };
/* Adds  void symbol(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)  for the variant's function at
 * this ISA level (function attributes target-cpu, target-features); internal linkage is the caller's business.  scratch
 * is aligned to 64 bytes; sets *scratch_bytes.  The nests are in vectors and unrolled already: LLVM's passes need
 * neither vectorize nor unroll.  `lines`: where its debug information goes, or NULL.  False: reported (something the
 * CPU target does not do yet); the module is of no use then. */
bool cpu_emit_function(const struct target_options *options, LLVMModuleRef module, const struct kernel_entry *entry,
                       const struct kernel_variant *variant, enum cpu_isa isa, const char *symbol, struct lines *lines,
                       int64_t *scratch_bytes);
/* Which ISA levels the host triple has; names for TILE_CPU_ISA. */
bool cpu_has_isa(const char *triple, enum cpu_isa isa);
const char *cpu_isa_name(const char *triple, enum cpu_isa isa);
#endif
