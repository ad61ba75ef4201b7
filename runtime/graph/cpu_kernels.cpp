// The CPU's table: each op is a call of runtime/math/ops, its family's in runtime/graph/cpu.
#include <variant>
#include <vector>

#include "runtime/graph/cpu/attention.h"
#include "runtime/graph/cpu/by_examples.h"
#include "runtime/graph/cpu/dense.h"
#include "runtime/graph/cpu/dropout.h"
#include "runtime/graph/cpu/elementwise.h"
#include "runtime/graph/cpu/image.h"
#include "runtime/graph/cpu/in_batch.h"
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

template <class Kind>
Needs needs_of_threads(const Kind& kind, std::span<const Shape> inputs, const Shape& output,
                       std::int64_t threads) {
  if constexpr (requires { cpu_needs(kind, inputs, output, threads); }) {
    return cpu_needs(kind, inputs, output, threads);
  } else {
    Needs needs = needs_on_cpu(kind, inputs, output);
    if constexpr (DividedByExamples<Kind>) {
      if (needs.scratch == 0) return needs;
      std::vector<Shape> halves;
      for (const Shape& input : inputs) halves.push_back(half_of(input));
      const Needs half = needs_on_cpu(kind, halves, half_of(output));
      needs.scratch = divided_scratch(needs.scratch, half.scratch, threads);
    }
    return needs;
  }
}

// Calls visit(part) for parts of the call's examples, or for the whole call where it is one.
template <class Kind, class Call, class Visit>
bool divide(const Kind& kind, const Call& call, const Shape& output, Visit visit) {
  if (call.threads.count() == 1) return false;
  const Items examples = examples_of(call, element_nanoseconds(kind));
  if (examples.count <= 1) return false;
  const InputShapes shapes(call.inputs);
  const std::int64_t saved = needs_on_cpu(kind, shapes.all(), output).saved;
  call.threads.split(examples, [&](const Part& part) { visit(part, saved); });
  return true;
}

template <class Kind>
void run_by_threads(const Kind& kind, const ForwardCall& call) {
  if constexpr (DividedByExamples<Kind>) {
    const auto run_part = [&](const Part& part, std::int64_t saved) {
      if (part.count() == call.feed.examples) return run_on_cpu(kind, call);
      run_on_cpu(kind, ForwardPart(call, part, saved).call());
    };
    if (divide(kind, call, call.output.shape, run_part)) return;
  }
  run_on_cpu(kind, call);
}

template <class Kind>
void run_back_by_threads(const Kind& kind, const BackwardCall& call) {
  if constexpr (DividedByExamples<Kind>) {
    const auto run_part = [&](const Part& part, std::int64_t saved) {
      if (part.count() == call.feed.examples) return run_back_on_cpu(kind, call);
      run_back_on_cpu(kind, BackwardPart(call, part, saved).call());
    };
    if (divide(kind, call, call.output_gradient.shape, run_part)) return;
  }
  run_back_on_cpu(kind, call);
}

class CpuKernels : public Kernels {
 public:
  [[nodiscard]] Needs needs(const Op& op, std::span<const Shape> inputs, const Shape& output,
                            std::int64_t threads) const override {
    return std::visit(
        [&](const auto& kind) { return needs_of_threads(kind, inputs, output, threads); }, op);
  }
  void forward(const Op& op, const ForwardCall& call) const override {
    std::visit([&](const auto& kind) { run_by_threads(kind, call); }, op);
  }
  void backward(const Op& op, const BackwardCall& call) const override {
    std::visit([&](const auto& kind) { run_back_by_threads(kind, call); }, op);
  }
};

const CpuKernels instance;

}  // namespace

const Kernels& cpu_kernels = instance;

}  // namespace trainyard::runtime
