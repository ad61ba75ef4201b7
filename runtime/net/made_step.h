// MadeStep <-> its message.
#pragma once

#include "runtime/core/backup_steps.h"
#include "schemas/proto/params.pb.h"

namespace trainyard::runtime {

proto::MadeStep message_of(const MadeStep& made);
MadeStep made_step_of(const proto::MadeStep& message);

}  // namespace trainyard::runtime
