/* Random sources through the front end, the interpreter, a random pipeline and the machine code of this processor:
 * all instances of an entry that fit the same arguments must agree with each other, with every pass and with the
 * code.
 *     text_test [FIRST_SEED COUNT [print]] */
#include <stdlib.h>
#include <string.h>

#include "support/differential.h"
#include "support/text.h"

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1,
             programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 40;
    struct fuzz_text_counts counts = {0};
    int64_t failures = 0;
    for (uint64_t seed = first; seed < first + programs && failures < 8; seed++) {
        struct buffer text = {0};
        if (count > 3)
            fuzz_make_text(&text, seed);
        else
            failures += !fuzz_check_text(seed, true, &counts, &text);
        if (text.size)
            fwrite(text.data, 1, text.size, stdout);
        fflush(stdout);
        buffer_free(&text);
    }
    if (count <= 3)
        printf("{\"tool\": \"text_test\", \"first\": %llu, \"programs\": %lld, \"instances\": %lld, \"unsound\": %lld, "
               "\"failures\": %lld}\n",
               (unsigned long long)first, (long long)counts.programs, (long long)counts.instances,
               (long long)counts.unsound, (long long)failures);
    return failures != 0 || (count <= 1 && counts.instances < counts.programs / 2);
}
