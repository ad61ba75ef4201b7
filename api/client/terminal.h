// What the client needs of the terminal and the clock: widths, waiting, signals.
#pragma once

#include <cstddef>

#include "schemas/base/time.h"

namespace trainyard::client {

bool output_is_terminal();
bool error_output_is_terminal();
std::size_t terminal_columns();  // of stderr; 80 when it does not say
std::size_t output_columns();    // of stdout when it is a terminal; else as many as there may be

// While it lives, SIGINT and SIGTERM end the calls under way (interrupt_calls) instead of the
// program.
class InterruptibleScope {
 public:
  InterruptibleScope();
  ~InterruptibleScope();
  InterruptibleScope(const InterruptibleScope&) = delete;
  InterruptibleScope& operator=(const InterruptibleScope&) = delete;
};

// Returns early at a signal.
void pause_for(Millis duration);

}  // namespace trainyard::client
