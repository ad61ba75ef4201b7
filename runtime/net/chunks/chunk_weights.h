// The weights of a share, chunk by chunk: the newest version and, sync, the one before, and where
// they lie: here, in memory that workers of this host read, or, async, in that of the worker whose
// push makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/shared_layout.h"
#include "runtime/net/chunks/store_layout.h"
#include "runtime/net/pool.h"
#include "runtime/net/shared_floats.h"
#include "runtime/ps/parameter_server.h"

namespace trainyard::runtime {

class ChunkWeights {
 public:
  // `first`: of all chunks, one after another.
  ChunkWeights(StoreLayoutPtr layout, const AlignedBuffer& first);

  struct Version {
    AlignedBuffer master;
    AlignedBuffer rounded;  // bfloat16, two to a float, where the pull has that
  };
  using VersionPtr = std::shared_ptr<Version>;
  // The newest, of the chunk's elements.
  [[nodiscard]] std::span<const float> newest(std::int64_t chunk) const;
  // Room for the version that this update makes. Async: `memory` of the rank that pushes, where it
  // lends it. It may be the newest version's own: each element is read before it is written.
  [[nodiscard]] VersionPtr begin(const UpdateChunk& what, const SharedArenasPtr& memory);
  // The version is written there: from now on it is the newest.
  void finish(const UpdateChunk& what, VersionPtr next);

  // Where the pull rounds: but not these.
  [[nodiscard]] bool is_exact(const ParameterServer::ChunkToSend& what) const;
  // A chunk's weights as the wire has them: of its newest version, or the one before. They stay as
  // they are while the owner lives.
  [[nodiscard]] ChunkBytes parameters(const ParameterServer::ChunkToSend& what);
  // The same, as a worker has them that they came to.
  void write_parameters(const ParameterServer::ChunkToSend& what, SharedArenas& arenas) const;

  // SharedWeights in which workers of this host read what else is written to them; -1: there are
  // none.
  [[nodiscard]] int shared_descriptor() const { return shared_ ? shared_->descriptor() : -1; }

 private:
  struct Chunk {
    std::int64_t version = 0;
    VersionPtr newest;
    VersionPtr previous;
  };
  [[nodiscard]] const Chunk& at(std::int64_t chunk) const { return chunks_.at(index_of(chunk)); }
  [[nodiscard]] std::optional<SharedFloats> make_shared_memory() const;
  [[nodiscard]] VersionPtr shared_place(std::int64_t chunk, std::int64_t version) const;
  [[nodiscard]] VersionPtr place_of_rank(const UpdateChunk& what, const SharedArenasPtr& memory);
  [[nodiscard]] bool is_lent(std::int64_t chunk) const;
  [[nodiscard]] ChunkBytes bytes_of(const ParameterServer::ChunkToSend& what) const;
  [[nodiscard]] bool rounds(const ParameterServer::ChunkToSend& what) const;
  void round(std::int64_t chunk, Version& version) const;

  StoreLayoutPtr layout_;
  std::optional<SharedFloats> shared_;   // all weights
  std::shared_ptr<Pool<Version>> pool_;  // or of the largest chunk; readers outlive a store
  std::vector<Chunk> chunks_;
  std::vector<std::vector<VersionPtr>> own_;  // async: by rank and chunk, in the rank's memory
};

}  // namespace trainyard::runtime
