// One job's progress in words: the line that is redrawn on a terminal, the plain lines of a log,
// the closing words. Pure functions of what the server said.
#pragma once

#include <string>

#include "api/client/job_view.h"

namespace trainyard::client {

// "digits  ━━━━━─────  46%  loss 0.2143  61,200 examples/s  ETA 4.1s  batch accuracy 0.9391  step
// 920/2,000", never wider than `columns`: the bar gets shorter, what comes later is left out, a
// long name loses its middle.
std::string progress_line(const JobView& job, std::size_t columns);

// The same without the bar, of any width.
std::string plain_line(const JobView& job);

// What became of it, on one or more lines: "digits-mlp succeeded in 12s: test accuracy 0.9801, test
// loss 0.0312".
std::string closing_words(const JobView& job);

}  // namespace trainyard::client
