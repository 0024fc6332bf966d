/* Finds the fake driver of fake_cuda.h, which stands in LD_LIBRARY_PATH as libcuda.so.1; a test without it ends. */
#ifndef FAKE_OPEN_H
#define FAKE_OPEN_H
#include "fake_cuda.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* *where: a pointer to the function of that name. */
static inline void fake_find(const char *name, void *where)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *address = library ? dlsym(library, name) : NULL;
    if (address == NULL) {
        fprintf(stderr, "no fake driver: %s\n", dlerror());
        exit(2);
    }
    memcpy(where, &address, sizeof address);
}

static inline struct fake_cuda *fake_open(void)
{
    struct fake_cuda *(*get)(void);
    fake_find("fake_cuda", &get);
    return get();
}
#endif
