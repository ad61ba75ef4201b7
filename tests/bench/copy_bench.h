// How fast bytes travel: what a step that stays on a GPU, and one whose parameters come and go, is
// held against.
#pragma once

#include <vector>

#include "schemas/base/result.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_device.h"

namespace trainyard::bench {

// Copies in the device's memory, which read and write each byte, and of a GPU those from and to
// memory of the host that copies need not wait for. In GB/s of what is copied. `unavailable` where
// there is no such device.
Result<std::vector<BenchResult>> bench_copies(DeviceKind kind);

}  // namespace trainyard::bench
