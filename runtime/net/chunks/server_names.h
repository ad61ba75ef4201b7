// Of a ps where a step is made of some ranks alone: what workers report and hand on, and what ps 0
// tells them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/net/chunks/connected_workers.h"
#include "runtime/net/chunks/named_ranks.h"
#include "runtime/net/chunks/server_options.h"
#include "runtime/ps/step_names.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ServerNames {
 public:
  // `workers` outlives this.
  ServerNames(const ServerOptions& options, const ConnectedWorkers& workers);

  // A worker reports a step to ps 0. The step that is named by it, if one is: all who are there are
  // told.
  Result<std::optional<NamedStep>> take_report(std::int64_t rank, const FrameHeader& header);
  // A worker hands on what ps 0 has named.
  [[nodiscard]] Result<NamedStep> take_names(const FrameHeader& header,
                                             std::span<const std::byte> payload) const;
  // Who is new here is told what is named.
  void joined(std::int64_t rank) const;
  // Of ps 0: as StepNames::late(). Else empty.
  [[nodiscard]] std::vector<std::int64_t> late() const;

 private:
  void tell_newest(std::int64_t rank) const;
  void tell_late(std::int64_t rank) const;

  const StepMembers members_;
  const ConnectedWorkers& workers_;
  std::optional<StepNames> names_;  // of ps 0
};

}  // namespace trainyard::runtime
