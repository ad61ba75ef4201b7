// A gang that exchanges gradients and parameters by chunks, for benchmarks: sgd, sync, for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/net/chunks/chunk_server.h"
#include "runtime/net/chunks/worker_link.h"
#include "schemas/types/transport.h"

namespace trainyard::bench {

struct ChunkGang {
  std::int64_t elements = 0;
  std::int64_t ranks = 1;
  std::int64_t servers = 1;
  WireSpec wire{};
  double learning_rate = 1e-3;
};

// At a free port of loopback; parameters of zeros.
std::unique_ptr<runtime::ChunkServer> serve_share(const ChunkGang& gang, std::size_t index);

// A worker whose gradient is always the same.
class ChunkWorker {
 public:
  ChunkWorker(const ChunkGang& gang, std::int64_t rank, std::vector<std::string> servers,
              Transport best);
  // Its gradient up, and the parameters that it and those of the others have made down.
  void exchange();

  [[nodiscard]] std::span<float> gradient() { return link_->gradient(); }
  [[nodiscard]] std::span<const float> parameters() const { return link_->parameters(); }

 private:
  std::int64_t elements_;
  std::unique_ptr<runtime::WorkerLink> link_;
};

}  // namespace trainyard::bench
