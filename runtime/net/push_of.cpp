#include "runtime/net/push_of.h"

#include <utility>

namespace trainyard::runtime {

Push push_of(const proto::PushFrame& header, Payload gradient) {
  return {.rank = header.rank(),
          .step = header.step(),
          .base_version = header.base_version(),
          .sums = {.examples = header.examples(),
                   .loss_sum = header.loss_sum(),
                   .correct = header.correct()},
          .snapshot_step = header.snapshot_step(),
          .holds = header.holds(),
          .announced_snapshot = header.announced_snapshot(),
          .residuals = header.residuals(),
          .gradient = std::move(gradient)};
}

}  // namespace trainyard::runtime
