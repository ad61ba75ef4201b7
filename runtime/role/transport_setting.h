// Which way to the ps an operator allows, where the best one misbehaves on a host.
#pragma once

#include "schemas/base/result.h"
#include "schemas/types/transport.h"

namespace trainyard::runtime {

// The best transport that this task may try: what `transport_variable` names, shared memory where
// it is not set. `invalid` for any other name.
Result<Transport> allowed_transport();

}  // namespace trainyard::runtime
