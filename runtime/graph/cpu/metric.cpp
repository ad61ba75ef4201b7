#include "runtime/graph/cpu/metric.h"

#include "runtime/math/ops/loss.h"

namespace trainyard::runtime {

void run_on_cpu(const MatchLabelsOp&, const ForwardCall& call) {
  match_labels(call.inputs[0], call.feed.labels, call.output);
}

void run_on_cpu(const MatchBinaryLabelsOp&, const ForwardCall& call) {
  match_binary_labels(call.inputs[0], call.feed.labels, call.output);
}

void run_on_cpu(const TopKOp& op, const ForwardCall& call) {
  match_top_labels(op.k, call.inputs[0], call.feed.labels, call.output);
}

void run_on_cpu(const AbsoluteErrorOp&, const ForwardCall& call) {
  absolute_error(call.inputs[0], call.feed.targets, call.output);
}

}  // namespace trainyard::runtime
