/* What front_fuzzer.c found interesting, on every run of the suite; support/corpus.h says how it is used. */
#include "front_fuzzer.c"
#include "support/corpus.h"

int main(int count, char **arguments) { return corpus_main("front", LLVMFuzzerTestOneInput, 20, count, arguments); }
