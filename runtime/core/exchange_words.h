// Words of an exchange with parameter servers that its socket side and its roles share.
#pragma once

#include <cstdint>

#include "runtime/core/batch_sums.h"

namespace trainyard::runtime {

struct NextStep {
  // To compute; with `is_over` the last that was made. With backup workers steps are left out that
  // were made without this worker.
  std::int64_t step = 0;
  bool is_over = false;
};

// Whose goodbye it is: the chief says by it that training is over.
enum class Leaving { worker, chief };

struct Traffic {
  std::int64_t sent = 0;  // bytes of tensors, ids and rows, whichever way they took
  std::int64_t received = 0;
  std::int64_t pooled = 0;  // requests for rows that a ps has answered with sums of them

  Traffic& operator+=(const Traffic& more) {
    sent += more.sent;
    received += more.received;
    pooled += more.pooled;
    return *this;
  }
};

struct ExchangeNews {
  std::int64_t version = 0;  // of the parameters: of the first of ps 0's chunks
  BatchSums sums = {};       // of what was applied since it was asked last; told to the chief alone
  Traffic traffic = {};      // likewise
};

}  // namespace trainyard::runtime
