// Attention, places in a sequence, dropout.
#include <cmath>

#include "runtime/math/elements/dropout.h"
#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

// One head of one example.
struct Head {
  std::int64_t example;
  std::int64_t head;
  std::int64_t first;  // of its features
  std::int64_t depth;
};

Number score(const Call& call, const Head& of, std::int64_t query, std::int64_t key) {
  const Array& q = call.inputs[0];
  const Array& k = call.inputs[1];
  const std::int64_t features = q.shape.columns();
  Sum sum;
  for (std::int64_t i = of.first; i < of.first + of.depth; ++i) {
    sum.add_product(q[(of.example * q.shape[1] + query) * features + i],
                    k[(of.example * k.shape[1] + key) * features + i]);
  }
  return sum.number() / std::sqrt(static_cast<double>(of.depth));
}

// What a dropout multiplies element `at` of an example by, of whose elements there are `each`.
double kept_factor(double rate, std::uint32_t layer, const Call& call, std::int64_t example,
                   std::uint64_t each, std::int64_t at) {
  if (rate == 0 || call.pass == Pass::evaluate) return 1;
  const std::uint64_t position = call.feed.first_position + static_cast<std::uint64_t>(example);
  const float factor =
      dropout_factor_at(call.feed.seed, layer, dropout_threshold(rate), dropout_factor(rate),
                        position * each + static_cast<std::uint64_t>(at));
  return static_cast<double>(factor);
}

}  // namespace

Numbers defined(const SdpaOp& op, const Call& call) {
  const std::int64_t examples = call.inputs[0].shape[0];
  const std::int64_t queries = call.inputs[0].shape[1];
  const std::int64_t features = call.inputs[0].shape[2];
  const std::int64_t keys = call.inputs[1].shape[1];
  const std::int64_t line_queries = op.line_queries == 0 ? queries : op.line_queries;
  const std::int64_t line_keys = op.line_keys == 0 ? keys : op.line_keys;
  const auto each = static_cast<std::uint64_t>(op.heads * line_queries * line_keys);
  Numbers y(static_cast<std::size_t>(call.output.elements()));
  const std::int64_t depth = features / op.heads;
  for (std::int64_t of = 0; of < examples * op.heads; ++of) {
    const Head head{of / op.heads, of % op.heads, of % op.heads * depth, depth};
    const std::int64_t there = op.has_lengths ? call.length(head.example, keys) : keys;
    for (std::int64_t query = 0; query < queries; ++query) {
      const std::int64_t seen = op.is_causal ? std::min(there, query + 1) : there;
      Numbers scores;
      for (std::int64_t key = 0; key < seen; ++key) scores.push_back(score(call, head, query, key));
      Numbers parts = seen == 0 ? Numbers{} : log_losses(scores.data(), seen);
      for (std::int64_t key = 0; key < seen; ++key) {
        const std::int64_t at = (head.head * line_queries + query) * line_keys + key;
        Number& part = parts[static_cast<std::size_t>(key)];
        part = exp(-part) * kept_factor(op.dropout, op.layer, call, head.example, each, at);
      }
      for (std::int64_t i = head.first; i < head.first + depth; ++i) {
        Sum sum;
        for (std::int64_t key = 0; key < seen; ++key) {
          sum.add_product(parts[static_cast<std::size_t>(key)],
                          call.inputs[2][(head.example * keys + key) * features + i]);
        }
        y[static_cast<std::size_t>((head.example * queries + query) * features + i)] = sum.number();
      }
    }
  }
  return y;
}

Numbers defined(const PositionsOp&, const Call& call) {
  const std::int64_t each = call.x().shape[1] * call.x().shape[2];
  Numbers y;
  for (std::int64_t i = 0; i < call.output.elements(); ++i) {
    y.push_back(call.x()[i] + call.inputs[1][i % each]);
  }
  return y;
}

Numbers defined(const RopeOp& op, const Call& call) {
  const std::int64_t time = call.x().shape[1];
  const std::int64_t features = call.x().shape[2];
  const std::int64_t depth = features / op.rotation.heads;
  Numbers y;
  for (std::int64_t at = 0; at < call.output.elements(); at += 2) {
    const auto place = static_cast<double>(at / features % time);
    const auto pair = static_cast<double>(at % features % depth);
    const double angle = place * std::pow(op.rotation.theta, -pair / static_cast<double>(depth));
    const Number& a = call.x()[at];
    const Number& b = call.x()[at + 1];
    y.push_back(a * std::cos(angle) - b * std::sin(angle));
    y.push_back(a * std::sin(angle) + b * std::cos(angle));
  }
  return y;
}

Numbers defined(const DropoutOp& op, const Call& call) {
  const std::int64_t here = call.output.elements() / call.output[0];
  const std::uint64_t each = op.stride == 0 ? static_cast<std::uint64_t>(here) : op.stride;
  Numbers y;
  for (std::int64_t i = 0; i < call.output.elements(); ++i) {
    y.push_back(call.x()[i] * kept_factor(op.rate, op.layer, call, i / here, each, i % here));
  }
  return y;
}

}  // namespace trainyard::runtime::reference
