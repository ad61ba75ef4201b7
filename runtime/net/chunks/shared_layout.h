// Where a worker's floats lie in the memory that it shares with the ps of its host: the parameters,
// which they write, and behind them what it would send, which they read. Frames say when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/shared_floats.h"
#include "runtime/net/wire_format.h"
#include "schemas/base/index.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct SharedLayout {
  std::int64_t elements = 0;  // of the arena
  std::int64_t parts = 1;     // gradients of a step
  Wire push = Wire::float32;  // as they lie there

  // In floats.
  [[nodiscard]] std::size_t sent_begin() const { return round_up_to_alignment(index_of(elements)); }
  [[nodiscard]] std::size_t floats() const {
    const std::int64_t bytes = parts * encoded_bytes(push, elements);
    return sent_begin() + index_of((bytes + float_bytes - 1) / float_bytes);
  }
};

// It as a ps has it.
struct SharedArenas {
  SharedLayout layout;
  AlignedBuffer memory;
};
using SharedArenasPtr = std::shared_ptr<SharedArenas>;

}  // namespace trainyard::runtime
