#include "runtime/role/local_exchange.h"

#include <algorithm>
#include <future>
#include <utility>

#include "runtime/math/finite.h"
#include "runtime/role/row_exchange.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

// So much of the weights, slots and gradient stays in the cache together.
constexpr std::size_t block = 4096;

AlignedBuffer copy_of(const AlignedBuffer& buffer) {
  AlignedBuffer copy(buffer.size());
  std::ranges::copy(buffer.span(), copy.data());
  return copy;
}

}  // namespace

LocalExchange::LocalExchange(Rules rules, Start start, std::optional<RowStore> rows,
                             SnapshotFiles files)
    : rules_(std::move(rules)),
      version_(start.version),
      weights_(std::move(start.weights)),
      slots_(std::move(start.slots)),
      resident_(std::move(start.resident)),
      gradient_(weights_.size()),
      rows_(std::move(rows)),
      computed_on_(std::move(start.computed_on)),
      writer_(std::move(files)) {}

Result<NextStep> LocalExchange::next() {
  if (version_ >= rules_.max_steps) return NextStep{.step = version_, .is_over = true};
  return NextStep{.step = version_ + 1};
}

// A gradient's first elements are final last: nothing reads the parameters any more.
void LocalExchange::settle(std::int64_t from) {
  if (from > 0) return;
  is_finite_ = all_finite(state_sums());
  if (!is_finite_) return;
  ++version_;
  update_all(next_update());
  sums_ += std::exchange(step_sums_, {});
  const bool is_saved = std::exchange(snapshot_, 0) == version_;
  if (resident_ != nullptr && (is_saved || version_ == rules_.max_steps)) {
    resident_->fetch_weights(weights_.span());
    resident_->fetch_slots(slots_);
  }
  if (is_saved) save(version_);
}

// What stands in the place of a gradient of running averages.
std::span<const float> LocalExchange::state_sums() {
  const auto elements = std::ssize(gradient_.span());
  const std::int64_t begin = std::min(elements, rules_.state_begin);
  const std::span<float> sums = gradient_.span().subspan(index_of(begin));
  if (resident_ != nullptr && !sums.empty()) resident_->fetch_gradient(begin, sums);
  return sums;
}

void LocalExchange::update_all(const UpdateStep& step) {
  if (resident_ != nullptr) return resident_->update(rules_.update, rules_.optimizer, step);
  rules_.threads.split({.count = std::ssize(weights_.span()),
                        .nanoseconds_each = 1,
                        .unit = static_cast<std::int64_t>(block)},
                       [&](const Part& part) { update(step, part); });
}

std::span<const float> LocalExchange::parameters_on_host() {
  if (resident_ != nullptr) resident_->fetch_weights(weights_.span());
  return weights_.span();
}

// What the gradient counts for, of which all is there.
UpdateStep LocalExchange::next_update() const {
  UpdateStep step{.learning_rate = rules_.learning_rate_at(version_),
                  .number = version_,
                  .gradient_scale =
                      mean_factor(rules_.mean_over, step_sums_.denominator, rules_.gradient_scale),
                  .average_scale = rules_.gradient_scale};
  if (rules_.clip_norm > 0) {
    ExactSum squares;
    if (resident_ != nullptr) {
      resident_->add_squares(rules_.update, squares);
    } else {
      rules_.update.add_squares(0, gradient_.span(), squares);
    }
    step.gradient_scale *= clip_factor(squares.value(), step.gradient_scale, rules_.clip_norm);
  }
  return step;
}

// Elementwise: a result does not depend on how the arena is cut.
void LocalExchange::update(const UpdateStep& step, const Part& part) {
  std::vector<std::span<float>> slots(slots_.size());
  const std::size_t end = index_of(part.end);
  for (std::size_t begin = index_of(part.begin); begin < end; begin += block) {
    const std::size_t count = std::min(block, end - begin);
    for (std::size_t i = 0; i < slots.size(); ++i)
      slots[i] = slots_[i].span().subspan(begin, count);
    const auto weights = weights_.span().subspan(begin, count);
    rules_.update.apply(rules_.optimizer, step, static_cast<std::int64_t>(begin),
                        {.gradient = gradient_.span().subspan(begin, count),
                         .weights = weights,
                         .out = weights,
                         .slots = slots});
  }
}

void LocalExchange::tell_sums(std::int64_t step, const BatchSums& sums) {
  ENSURE(step == version_ + 1);
  step_sums_ = sums;
}

ExchangeNews LocalExchange::take_news() {
  return {.version = version_, .sums = std::exchange(sums_, {}), .traffic = {}};
}

void LocalExchange::begin_snapshot(std::int64_t snapshot, AfterSnapshot /*then*/) {
  snapshot_ = snapshot;
}

void LocalExchange::save(std::int64_t step) {
  ShareSnapshot snapshot{.step = step,
                         .version = version_,
                         .rank_steps = {version_},
                         .weights = copy_of(weights_),
                         .slots = {}};
  for (const AlignedBuffer& slot : slots_) snapshot.slots.push_back(copy_of(slot));
  if (rows_) snapshot.rows = rows_->copy();
  writer_.take(std::move(snapshot));
}

Result<std::vector<WrittenShard>> LocalExchange::shards(SnapshotWriter::Request request) {
  if (!writer_.knows(request.step) && request.step == rules_.max_steps) save(request.step);
  std::promise<Result<WrittenShard>> written;
  writer_.when_written(std::move(request), [&written](Result<WrittenShard> shard) {
    written.set_value(std::move(shard));
  });
  TRY_ASSIGN(WrittenShard shard, written.get_future().get());
  return std::vector{std::move(shard)};
}

Result<std::unique_ptr<RowExchange>> LocalExchange::open_rows() {
  if (!rows_) return invalid("the model has no embedding table");
  return std::unique_ptr<RowExchange>(std::make_unique<LocalRows>(*rows_));
}

Result<AlignedBuffer> LocalExchange::read_snapshot(std::int64_t snapshot) {
  TRY_ASSIGN(const ShareSnapshotPtr newest, writer_.newest(snapshot));
  return copy_of(newest->weights);
}

}  // namespace trainyard::runtime
