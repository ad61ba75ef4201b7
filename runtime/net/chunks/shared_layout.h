// What workers and ps of one host share, and where it lies there. Of a worker: the parameters,
// which its ps write, and behind them what it would send, which they read. Of a ps that has the
// whole model, sync: its weights, which workers read where they lie. Frames say when.
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

// How many versions of the parameters lie side by side. Sync they come while those before them are
// still read; else chunks have versions of their own, and one place each. Worker and ps go by it.
constexpr std::int64_t versions_kept(Mode mode, bool has_backups) {
  return mode == Mode::sync && !has_backups ? 2 : 1;
}

// Where an arena of that version begins among so many, in floats.
inline std::size_t begin_of_version(std::int64_t version, std::int64_t versions,
                                    std::int64_t elements) {
  return index_of(version % versions) * round_up_to_alignment(index_of(elements));
}

struct SharedLayout {
  std::int64_t elements = 0;  // of the arena
  std::int64_t versions = 1;  // of the parameters: versions_kept()
  std::int64_t parts = 1;     // gradients of a step
  Wire push = Wire::float32;  // as they lie there
  std::int64_t state_begin = no_state;
  // Parameters that come rounded lie so, too: behind the floats of all versions.
  bool stay_rounded = false;

  [[nodiscard]] ArenaEncoding encoding() const {
    return {.wire = push, .elements = elements, .state_begin = state_begin};
  }
  // In floats.
  [[nodiscard]] std::size_t parameters_begin(std::int64_t version) const {
    return begin_of_version(version, versions, elements);
  }
  [[nodiscard]] std::size_t sent_begin() const {
    return exact_floats() + (stay_rounded ? index_of(versions) * rounded_floats() : 0);
  }
  // In bytes: of what lies rounded.
  [[nodiscard]] std::size_t rounded_byte(std::int64_t version, std::int64_t element) const {
    return (exact_floats() + index_of(version % versions) * rounded_floats()) * sizeof(float) +
           index_of(element) * sizeof(std::uint16_t);
  }
  [[nodiscard]] std::size_t floats() const {
    const std::int64_t bytes = parts * encoded_bytes(encoding());
    return sent_begin() + index_of((bytes + float_bytes - 1) / float_bytes);
  }

 private:
  [[nodiscard]] std::size_t exact_floats() const {
    return index_of(versions) * round_up_to_alignment(index_of(elements));
  }
  // Of a version, two numbers to a float.
  [[nodiscard]] std::size_t rounded_floats() const {
    return round_up_to_alignment(index_of((elements + 1) / 2));
  }
};

// The weights of a ps, of two versions: each is overwritten by the next but one, when the gradients
// of all ranks that were computed with the one between are there.
struct SharedWeights {
  std::int64_t elements = 0;  // of the arena

  // In floats.
  [[nodiscard]] std::size_t begin_of(std::int64_t version) const {
    return begin_of_version(version, 2, elements);
  }
  [[nodiscard]] std::size_t floats() const { return begin_of(1) + index_of(elements); }
};

// A worker's, as a ps has it.
struct SharedArenas {
  SharedLayout layout;
  AlignedBuffer memory;
  std::uint64_t file = 0;  // SharedFloats::file_number()
};
using SharedArenasPtr = std::shared_ptr<SharedArenas>;

}  // namespace trainyard::runtime
