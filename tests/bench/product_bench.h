// trainyard-bench compute --device: products of matrices on a GPU or on the cores of this machine,
// beside what either can do at most, and on a GPU beside PyTorch.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/device/product_run.h"
#include "schemas/base/result.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_device.h"

namespace trainyard::bench {

// "ROWSxINxOUT", each from 1 to 16384.
std::optional<runtime::ProductShape> product_shape_of(std::string_view text);

// `unavailable` where there is no such device, with the sentence that a task would end with.
// `only`: else those that are asked for of cubes and the products of some networks.
Result<std::vector<BenchResult>> bench_products(DeviceKind kind,
                                                const std::optional<runtime::ProductShape>& only);

}  // namespace trainyard::bench
