// The CPU's table: each op is a call of runtime/math/ops, its family's in runtime/graph/cpu.
#include <variant>

#include "runtime/graph/cpu/attention.h"
#include "runtime/graph/cpu/dense.h"
#include "runtime/graph/cpu/dropout.h"
#include "runtime/graph/cpu/elementwise.h"
#include "runtime/graph/cpu/image.h"
#include "runtime/graph/cpu/layout.h"
#include "runtime/graph/cpu/loss.h"
#include "runtime/graph/cpu/metric.h"
#include "runtime/graph/cpu/norm.h"
#include "runtime/graph/cpu/product.h"
#include "runtime/graph/cpu/recurrent.h"
#include "runtime/graph/cpu/reduce.h"
#include "runtime/graph/cpu/row.h"
#include "runtime/graph/cpu/sequence_loss.h"
#include "runtime/graph/cpu/source.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {
namespace {

// Most ops need no room.
template <class Kind>
Needs needs_on_cpu(const Kind& kind, std::span<const Shape> inputs, const Shape& output) {
  if constexpr (requires { cpu_needs(kind, inputs, output); }) {
    return cpu_needs(kind, inputs, output);
  } else {
    return {};
  }
}

}  // namespace

constinit const Kernels cpu_kernels{
    .needs =
        [](const Op& op, std::span<const Shape> inputs, const Shape& output) {
          return std::visit([&](const auto& kind) { return needs_on_cpu(kind, inputs, output); },
                            op);
        },
    .forward =
        [](const Op& op, const ForwardCall& call) {
          std::visit([&](const auto& kind) { run_on_cpu(kind, call); }, op);
        },
    .backward =
        [](const Op& op, const BackwardCall& call) {
          std::visit([&](const auto& kind) { run_back_on_cpu(kind, call); }, op);
        }};

}  // namespace trainyard::runtime
