// trainyard-bench compute --device: the gradient of a batch of whole networks on a GPU or on the
// cores of this machine, by the clock, beside PyTorch there, eager and compiled.
#pragma once

#include <functional>
#include <vector>

#include "schemas/base/result.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_device.h"

namespace trainyard::bench {

// Hands over the results of one network after another, as all of them take many minutes.
// `unavailable` where there is no such device, or where it fails.
Status bench_networks(DeviceKind kind,
                      const std::function<void(const std::vector<BenchResult>&)>& report);

}  // namespace trainyard::bench
