/* Inputs that a fuzzer kept, as a file of the suite: for each its size in digits, a newline, its bytes, a newline; all
 * compressed by zstd.
 *
 *     NAME_corpus_test                  every input, cut short in places, and with bytes changed: the same on every run
 *     NAME_corpus_test seeds FIRST N    N changed inputs, which nobody ran before if FIRST is new
 *     NAME_corpus_test unpack FOLDER    a file each, for libFuzzer to start from
 *     NAME_corpus_test pack FOLDER      replaces the corpus by the files of the folder
 *     NAME_corpus_test FILE             one input, for instance the one that libFuzzer left */
#ifndef TILECC_TEST_CORPUS_H
#define TILECC_TEST_CORPUS_H
#include <stddef.h>
#include <stdint.h>

/* The corpus is $SRCDIR/tests/fuzz/corpus/NAME.zst; each input is also run in so many changed forms.  The result is
 * main's. */
int corpus_main(const char *name, int (*run)(const uint8_t *data, size_t size), int changes, int count,
                char **arguments);
#endif
