/* Atomics: element i of input 0 goes to element i % k of the result, which is given. */
#include "core.h"

static struct judge_value combined(const struct judge_case *c, const int64_t *at, char operation)
{
    int result = c->tensor_count - 1;
    int64_t k = judge_size(c, "k");
    long double r = judge_exact(c, result, at[0]);
    struct judge_value sum = {r, fabsl(r)};
    bool is_masked = c->tensors[1].type == JUDGE_BOOL && result == 2;
    for (int64_t i = at[0]; i < c->tensors[0].elements; i += k) {
        long double x = judge_exact(c, 0, i);
        if (is_masked && judge_exact(c, 1, i) == 0)
            continue;
        sum.value += x, sum.size += fabsl(x);
        switch (operation) {
        case '<': r = lesser(r, x); break;
        case '>': r = greater(r, x); break;
        case '&': r = element_wrap(result_type(c), bits_of(r) & bits_of(x)); break;
        case '|': r = element_wrap(result_type(c), bits_of(r) | bits_of(x)); break;
        case '^': r = element_wrap(result_type(c), bits_of(r) ^ bits_of(x)); break;
        default: r = is_float(c, 0) ? 0 : element_wrap(result_type(c), bits_of(r) + bits_of(x)); break;
        }
    }
    return is_float(c, 0) && operation == '+' ? sum : exactly(r);
}
WANT(add) { return combined(c, at, '+'); }
WANT(and) { return combined(c, at, '&'); }
WANT(or) { return combined(c, at, '|'); }
WANT(xor) { return combined(c, at, '^'); }
WANT(min) { return combined(c, at, '<'); }
WANT(max) { return combined(c, at, '>'); }

/* What input 1 was before. */
WANT(old) { return exactly(at_index(c, 1, at)); }
WANT(exchange) { return exactly(at_index(c, 0, at)); }
WANT(storing) { return exactly(at_index(c, 0, at)); }
WANT(loading) { return exactly(at_index(c, 0, at)); }

WANT(cas)
{
    long double was = at_index(c, 2, at);
    return exactly(was == at_index(c, 0, at) ? at_index(c, 1, at) : was);
}

#include "atomics_rows.h"
