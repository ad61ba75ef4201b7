// What a task that is there is to do, as an assignment says it.
#pragma once

#include <string>

#include "schemas/base/result.h"
#include "schemas/proto/agent.pb.h"
#include "schemas/types/agent.h"

namespace trainyard {

inline proto::StopOrder to_proto(StopOrder order) {
  if (order == StopOrder::run) return proto::RUN;
  return order == StopOrder::save ? proto::SAVE : proto::STOP;
}

inline Result<StopOrder> stop_order_from(proto::StopOrder order) {
  if (order == proto::RUN) return StopOrder::run;
  if (order == proto::STOP) return StopOrder::stop;
  if (order == proto::SAVE) return StopOrder::save;
  return invalid("stop must be RUN, STOP or SAVE, got " + std::to_string(int{order}));
}

}  // namespace trainyard
