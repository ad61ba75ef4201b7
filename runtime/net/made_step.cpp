#include "runtime/net/made_step.h"

namespace trainyard::runtime {

proto::MadeStep message_of(const MadeStep& made) {
  proto::MadeStep message;
  message.set_version(made.version);
  message.mutable_ranks()->Assign(made.ranks.begin(), made.ranks.end());
  message.set_snapshot(made.snapshot);
  return message;
}

MadeStep made_step_of(const proto::MadeStep& message) {
  return {.version = message.version(),
          .ranks = {message.ranks().begin(), message.ranks().end()},
          .snapshot = message.snapshot()};
}

}  // namespace trainyard::runtime
