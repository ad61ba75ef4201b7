// A worker's floats: the arena of parameters, that of each gradient of a step, and both as the wire
// has them, chunk by chunk. Who may touch which chunk when, WorkerExchange decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/onebit_encoder.h"
#include "runtime/net/chunks/shared_layout.h"
#include "runtime/net/shared_floats.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class WorkerArenas {
 public:
  struct Rules {
    std::vector<ArenaChunk> chunks;
    std::int64_t holders = 1;
    std::int64_t parts = 1;     // gradients that a step sends: nodes of the reduction tree
    std::int64_t versions = 1;  // of parameters, as in SharedLayout
    Wire push = Wire::float32;
    Wire pull = Wire::float32;     // float32 or bfloat16
    bool shares = false;           // with a ps of this host, where the system has such memory
    std::vector<Range> gaps = {};  // onebit: as in OneBitEncoder::Shape
    // Chunks from there on are state, of float32 whatever the wires.
    std::int64_t state_begin = no_state;
    // bfloat16: who computes gradients writes them to rounded() as the wire has them, and of
    // gradient() state alone.
    bool come_rounded = false;
    // Likewise of the pull: who computes reads what came rounded from rounded_parameters().
    bool stay_rounded = false;
  };
  explicit WorkerArenas(Rules rules);

  [[nodiscard]] const std::vector<ArenaChunk>& chunks() const { return rules_.chunks; }
  // Chunks of a holder, in the order in which it numbers them.
  [[nodiscard]] const std::vector<std::int64_t>& chunks_of(std::size_t holder) const {
    return chunks_of_.at(holder);
  }
  [[nodiscard]] std::uint32_t number_in_share(std::int64_t chunk) const;
  [[nodiscard]] const Range& range_of(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t state_begin() const { return rules_.state_begin; }

  // Memory for a ps of this host; -1: there is none.
  [[nodiscard]] int shared_descriptor() const { return shared_ ? shared_->descriptor() : -1; }

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] std::span<const float> parameters(std::int64_t version) const;
  [[nodiscard]] bool stay_rounded() const { return rules_.stay_rounded; }
  // Where those lie of a version that came so: each before state at its place in the arena. Of
  // parameters() then state alone is there.
  [[nodiscard]] std::span<const std::uint16_t> rounded_parameters(std::int64_t version) const;
  [[nodiscard]] std::span<float> gradient() { return gradient_.span(); }
  // Where gradients that come so are written, of a part: each element before state at its place in
  // the arena. Empty: they come as they are.
  [[nodiscard]] std::span<std::uint16_t> rounded(std::int64_t part);
  // They are read elsewhere, and take no memory here until they are written again.
  void drop_parameters();

  // Elements of the gradients from here on have to be final before the chunk is encoded.
  [[nodiscard]] std::int64_t final_from(std::int64_t chunk) const;
  // They are: so they are sent from now on. From the last chunk to the first, but for those of
  // state, whose order is free. False: onebit or state, and a number of them is none. A sign would
  // hide it, and a residual keep it for ever; of state no loss would show it.
  [[nodiscard]] bool encode(std::int64_t chunk);
  [[nodiscard]] bool keeps_versions() const { return rules_.versions > 1; }
  [[nodiscard]] bool encodes() const { return rules_.push != Wire::float32; }
  [[nodiscard]] std::vector<std::span<const std::byte>> gradient_of(std::int64_t chunk);

  // What encodes gradients, and keeps their residuals; none: nullptr.
  [[nodiscard]] OneBitEncoder* onebit() { return encoder_ ? &*encoder_ : nullptr; }

  // Parameters come as the pull has them, or, the last, as float32.
  enum class Form { pulled, exact };
  [[nodiscard]] std::size_t parameter_bytes(std::int64_t chunk, Form form) const;
  // Where a chunk's parameters may come in as they are; where they are decoded here, nowhere.
  [[nodiscard]] std::span<std::byte> parameter_place(std::int64_t chunk, std::int64_t version,
                                                     Form form);
  // They came exact, and may be read rounded, too: async a step has some of both forms where its
  // worker came back among the last pushes.
  void round(std::int64_t chunk, std::int64_t version);
  // They came into this landing, as the pull has them.
  void decode(std::int64_t chunk, std::int64_t version, std::span<const float> landing);

 private:
  [[nodiscard]] bool is_rounded(std::int64_t chunk, Form form) const;
  [[nodiscard]] std::span<std::byte> rounded_of(std::int64_t chunk, std::int64_t version);
  [[nodiscard]] std::span<float> parameters_of(std::int64_t chunk, std::int64_t version);
  [[nodiscard]] std::span<std::byte> sent();
  [[nodiscard]] SharedLayout layout() const;
  [[nodiscard]] std::optional<SharedFloats> make_shared_memory() const;

  const Rules rules_;
  const std::vector<std::vector<std::int64_t>> chunks_of_;
  std::vector<std::uint32_t> number_in_share_;
  const std::int64_t elements_;
  std::optional<SharedFloats> shared_;  // all that a ps reads or writes
  AlignedBuffer parameters_;
  AlignedBuffer gradient_;  // of each part, one after another
  AlignedBuffer encoded_;   // of the gradient, where the wire is not float32
  std::optional<OneBitEncoder> encoder_;
};

}  // namespace trainyard::runtime
