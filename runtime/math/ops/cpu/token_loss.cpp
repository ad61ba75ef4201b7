#include "runtime/math/ops/token_loss.h"

#include <algorithm>

#include "runtime/math/ops/loss.h"
#include "runtime/math/ops/reduction.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// The tokens of one example that count.
struct Tokens {
  std::int64_t example;
  std::int64_t count;
  std::span<const std::int32_t> labels;
  std::int64_t first;  // of their logits
  Shape shape;         // [count, classes]
};

template <class Visit>
void for_each_example(const Shape& logits, const TokenLabels& labels, Visit visit) {
  ENSURE(logits.rank() == 3 && std::ssize(labels.labels) == logits[0] * logits[1]);
  ENSURE(labels.lengths.empty() || std::ssize(labels.lengths) == logits[0]);
  const std::int64_t time = logits[1];
  for (std::int64_t example = 0; example < logits[0]; ++example) {
    const std::int64_t count =
        labels.lengths.empty() ? time : labels.lengths[static_cast<std::size_t>(example)];
    visit(Tokens{.example = example,
                 .count = count,
                 .labels = labels.labels.subspan(static_cast<std::size_t>(example * time),
                                                 static_cast<std::size_t>(count)),
                 .first = example * time * logits[2],
                 .shape = {count, logits[2]}});
  }
}

}  // namespace

void token_cross_entropy(ConstTensor logits, const TokenLabels& labels, Tensor losses,
                         Tensor probabilities, Tensor token_losses) {
  ENSURE(losses.elements() == logits.shape[0] && token_losses.elements() >= logits.shape[1]);
  for_each_example(logits.shape, labels, [&](const Tokens& tokens) {
    const Tensor each{token_losses.data, {tokens.count}};
    softmax_cross_entropy({logits.data + tokens.first, tokens.shape}, tokens.labels, each,
                          {probabilities.data + tokens.first, tokens.shape}, labels.smoothing);
    losses.data[tokens.example] = static_cast<float>(sum_in_double(each.span()));
  });
}

void token_cross_entropy_gradient(const TokenLabels& labels, const TokenGradient& call) {
  const Shape& shape = call.probabilities.shape;
  ENSURE(call.logits_gradient.shape == shape && call.token_gradients.elements() >= shape[1]);
  for_each_example(shape, labels, [&](const Tokens& tokens) {
    const Tensor each{call.token_gradients.data, {tokens.count}};
    std::ranges::fill(each.span(), call.losses_gradient.data[tokens.example]);
    float* const to = call.logits_gradient.data + tokens.first;
    softmax_cross_entropy_gradient({call.probabilities.data + tokens.first, tokens.shape},
                                   tokens.labels, each, {to, tokens.shape}, call.write,
                                   labels.smoothing);
    if (call.write == Write::add) return;
    std::fill_n(to + tokens.shape.elements(), (shape[1] - tokens.count) * shape[2], 0.0F);
  });
}

void match_tokens(ConstTensor logits, const TokenLabels& labels, Tensor matches,
                  Tensor token_matches) {
  ENSURE(matches.elements() == logits.shape[0] && token_matches.elements() >= logits.shape[1]);
  for_each_example(logits.shape, labels, [&](const Tokens& tokens) {
    const Tensor each{token_matches.data, {tokens.count}};
    match_labels({logits.data + tokens.first, tokens.shape}, tokens.labels, each);
    matches.data[tokens.example] = static_cast<float>(sum_in_double(each.span()));
  });
}

}  // namespace trainyard::runtime
