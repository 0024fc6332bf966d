/* What cache_fuzzer.c found interesting, on every run of the suite; support/corpus.h says how it is used. */
#include "cache_fuzzer.c"
#include "support/corpus.h"

int main(int count, char **arguments) { return corpus_main("cache", LLVMFuzzerTestOneInput, 200, count, arguments); }
