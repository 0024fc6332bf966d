/* Problems that their suite has as a program: what it gives for small sizes is stored in a file, which
 * npbench/reference.py makes, and the same in plain C is the peer, in results and in time.
 *
 * A line of the file is a result of a problem: PROBLEM TENSOR ELEMENTS SUM SIZE, where SIZE is the sum of the absolute
 * values, and behind them pairs of a position and the element there. */
#ifndef JUDGE_STORED_H
#define JUDGE_STORED_H
#include "judge.h"

void stored_open(const char *file);

/* Judges each element of all results by the peer's; where `stored`, sums and elements by the file, too.  The call is
 * done. */
void stored_judge(const struct judge_case *c, bool stored, struct judge_verdict *verdict);

/* Processor time of both, each the least of several runs, each of which begins with the same inputs. */
void stored_time(struct judge_case *c, struct judge_verdict *verdict);

/* Writes sizes and tensors as lines, "size NAME VALUE" and "tensor NAME TYPE GIVEN RESULT EXTENT...", an empty line, and
 * the inputs one behind the other. */
void stored_write_inputs(const struct judge_case *c);
#endif
