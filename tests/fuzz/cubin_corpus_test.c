/* What cubin_fuzzer.c found interesting, on every run of the suite; support/corpus.h says how it is used. */
#include "cubin_fuzzer.c"
#include "support/corpus.h"

int main(int count, char **arguments) { return corpus_main("cubin", LLVMFuzzerTestOneInput, 200, count, arguments); }
