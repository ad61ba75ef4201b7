#include "runtime/model/replicas.h"

#include <algorithm>
#include <utility>

#include "runtime/core/arena_layout.h"
#include "runtime/model/final_part.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

Replicas::Replicas(const Setting& setting)
    : variables_(setting.models.front()->variables()),
      elements_(index_of(setting.models.front()->arena_elements())),
      state_begin_(std::min(elements_, index_of(state_begin_of(variables_)))),
      tree_(setting.nodes, std::ssize(setting.models)),
      threads_(setting.threads),
      resident_(setting.resident),
      places_(tree_.places()),
      results_(index_of(tree_.leaves().count())) {
  for (Model* const model : setting.models) {
    ENSURE(model->rows().empty() && index_of(model->arena_elements()) == elements_);
    const NodeSums::Shape shape{.elements = elements_, .state = state_begin_};
    replicas_.push_back(std::make_unique<Replica>(replicas_.size(), *model, shape));
  }
}

Replicas::~Replicas() {
  const std::lock_guard lock(mutex_);
  state_.is_over = true;
  asked_.notify_all();
}

void Replicas::start() {
  ENSURE(threads_of_replicas_.empty());
  const std::size_t nodes = tree_.places() - tree_.additions().size();
  if (resident_ == nullptr) {
    for (std::size_t place = nodes; place < places_.size(); ++place) {
      places_[place] = scratch_.emplace_back(elements_).span();
    }
  }
  for (auto& replica : replicas_) {
    threads_of_replicas_.emplace_back([this, &replica = *replica] { serve(replica); });
  }
}

Result<bool> Replicas::add_up(const Step& step) {
  begin(step);
  Result<bool> done = false;
  try {
    done = lead();
  } catch (...) {
    end_step();
    await_ends();
    throw;
  }
  if (!done.has_value() || !*done) end_step();
  await_ends();
  if (state_.failure) std::rethrow_exception(std::exchange(state_.failure, nullptr));
  return done;
}

void Replicas::begin(const Step& step) {
  ENSURE(!threads_of_replicas_.empty() && step.parameters.arena.size() == elements_);
  const std::size_t nodes = tree_.places() - tree_.additions().size();
  ENSURE(step.sums.size() == (resident_ == nullptr ? nodes * elements_ : 0));
  ENSURE(step.rounded.empty() || (step.rounded.size() == nodes && tree_.additions().empty()));
  if (resident_ == nullptr) {
    for (std::size_t i = 0; i < nodes; ++i) {
      places_[i] = step.sums.subspan(i * elements_, elements_);
    }
  }
  step_ = &step;
  const std::lock_guard lock(mutex_);
  state_.is_ending = false;
  state_.failure = nullptr;
  state_.there = 0;
  state_.is_all_there = false;
  state_.known = 0;
  state_.computing = replicas_.size();
  for (auto& replica : replicas_) {
    replica->waited = {};
    replica->final_from = static_cast<std::int64_t>(elements_);
  }
  ++state_.round;
  asked_.notify_all();
}

Result<bool> Replicas::lead() {
  TRY(bring_parameters());
  TRY_ASSIGN(const bool are_known, await_results());
  if (!are_known) return false;
  TRY_ASSIGN(const Step::Then then, step_->on_results(results_));
  if (resident_ == nullptr) {
    add_final_parts(then);
    return !is_ending();
  }
  await_ends();
  if (is_ending()) return false;
  resident_->add_up();
  return true;
}

// In the order of the arena. A forward pass reads no state, which lies behind all others; then the
// last step's sums were read, and a backward pass may write where they are.
Status Replicas::bring_parameters() {
  const auto tell = [this](std::int64_t there, bool is_all) {
    const std::lock_guard lock(mutex_);
    state_.there = there;
    state_.is_all_there = is_all;
    asked_.notify_all();
  };
  for (const Variable& variable : variables_) {
    if (variable.update == UpdateRule::running_average) continue;
    if (is_ending()) return ok();
    TRY(step_->await(variable.offset + variable.elements));
    tell(variable.offset + variable.elements, false);
  }
  const auto all = static_cast<std::int64_t>(elements_);
  if (state_begin_ < elements_) TRY(step_->await(all));
  tell(all, true);
  return ok();
}

// False: the step ends before.
Result<bool> Replicas::await_results() {
  std::unique_lock lock(mutex_);
  told_.wait(lock, [this] { return state_.is_ending || state_.known == results_.size(); });
  return !state_.is_ending;
}

// What is final of all replicas is added while they compute the rest.
void Replicas::add_final_parts(Step::Then then) {
  std::size_t settled = state_begin_;
  while (true) {
    std::size_t from = settled;
    std::size_t computing = 0;
    {
      std::unique_lock lock(mutex_);
      told_.wait(lock, [&] {
        from = 0;
        for (const auto& replica : replicas_) {
          from = std::max(from, index_of(replica->final_from));
        }
        return state_.is_ending || state_.computing == 0 || from < settled;
      });
      if (state_.is_ending) return;
      computing = state_.computing;
    }
    if (computing == 0) break;
    add(from, settled);
    settled = from;
    if (then == Step::Then::streams) step_->settle(static_cast<std::int64_t>(from));
  }
  add(0, settled);
  add(state_begin_, elements_);
}

// Elementwise: no bit depends on how the range is divided.
void Replicas::add(std::size_t begin, std::size_t end) {
  if (tree_.additions().empty() || begin >= end) return;
  constexpr std::int64_t block = 4096;
  const Items items{.count = static_cast<std::int64_t>(end - begin),
                    .nanoseconds_each = 0.5 * static_cast<double>(tree_.additions().size()),
                    .unit = block};
  threads_.split(items, [&](const Part& part) {
    tree_.add_up(places_, begin + index_of(part.begin), begin + index_of(part.end));
  });
}

void Replicas::await_ends() {
  std::unique_lock lock(mutex_);
  told_.wait(lock, [this] { return state_.computing == 0; });
}

void Replicas::end_step() {
  const std::lock_guard lock(mutex_);
  state_.is_ending = true;
  asked_.notify_all();
  told_.notify_all();
}

bool Replicas::is_ending() {
  const std::lock_guard lock(mutex_);
  return state_.is_ending;
}

void Replicas::serve(Replica& replica) {
  for (std::int64_t round = 1;; ++round) {
    {
      std::unique_lock lock(mutex_);
      asked_.wait(lock, [&] { return state_.is_over || state_.round == round; });
      if (state_.is_over) return;
    }
    std::exception_ptr failure;
    try {
      compute(replica);
    } catch (...) {
      failure = std::current_exception();
      end_step();
    }
    const std::lock_guard lock(mutex_);
    if (!state_.failure) state_.failure = std::move(failure);
    failure = nullptr;  // so that the leader's thread is the last to have one
    replica.final_from = 0;
    --state_.computing;
    told_.notify_all();
  }
}

void Replicas::compute(Replica& replica) {
  if (resident_ != nullptr) return compute_there(replica);
  RowGradients no_rows;
  const auto leaf = [&](std::int64_t number, NodeSum sum) -> Result<bool> {
    return compute_leaf(replica, number, sum.dense);
  };
  for (const ReplicaTree::Piece& piece : tree_.pieces(replica.number)) {
    const NodeSum sum{places_[piece.place], no_rows};
    const bool is_rounded = !step_->rounded.empty();
    replica.rounded = is_rounded ? step_->rounded[piece.place] : std::span<std::uint16_t>();
    if (!*replica.sums.add_up(piece.node, sum, leaf)) return end_step();
  }
}

void Replicas::compute_there(Replica& replica) {
  for (const auto& [node, place] : tree_.pieces(replica.number)) {
    for (std::int64_t leaf = node.begin; leaf < node.end; ++leaf) {
      const LeafOfNode of_node{.is_first = leaf == node.begin,
                               .is_last = leaf + 1 == node.end,
                               .ends = nodes_that_end_with(leaf, node)};
      if (!compute_leaf(replica, leaf, {}, of_node)) return end_step();
    }
    resident_->keep_sum(replica.number, place);
  }
}

// False: there is no batch, or the step ends.
bool Replicas::compute_leaf(Replica& replica, std::int64_t leaf, std::span<float> sum,
                            const std::optional<LeafOfNode>& of_node) {
  if (is_ending()) return false;
  const Batch* const batch = step_->next_batch(replica.number);
  if (batch == nullptr) return false;
  FinalPart final_part(variables_);
  GradientCallbacks callbacks{
      .on_need = [&](std::size_t variable) { await_variable(replica, variable); },
      .on_result = [&](const BatchResult& result) { await_all(replica, leaf, result); },
      .on_final = {},
      .leaf = of_node,
      .bfloat16 = replica.rounded,
      .parameters_stay = step_->parameters_stay};
  if (resident_ == nullptr && leaf + 1 == leaves_of_replica(replica.number).end) {
    callbacks.on_final = [&](std::size_t variable) {
      const std::int64_t from = final_part.add(variable);
      if (from == 0) return;  // the last of it when all is well
      replica.sums.settle(index_of(from));
      tell_final(replica, from);
    };
  }
  replica.model.gradient(step_->parameters, *batch, sum, callbacks);
  return true;
}

void Replicas::await_variable(Replica& replica, std::size_t variable) {
  const Variable& needed = variables_[variable];
  if (needed.update == UpdateRule::running_average) return;
  const auto start = std::chrono::steady_clock::now();
  {
    std::unique_lock lock(mutex_);
    asked_.wait(
        lock, [&] { return state_.is_ending || state_.there >= needed.offset + needed.elements; });
  }
  replica.waited += std::chrono::steady_clock::now() - start;
}

// Before the first gradient is written.
void Replicas::await_all(Replica& replica, std::int64_t leaf, const BatchResult& result) {
  const auto start = std::chrono::steady_clock::now();
  {
    std::unique_lock lock(mutex_);
    results_[index_of(leaf - tree_.leaves().begin)] = result;
    ++state_.known;
    told_.notify_all();
    asked_.wait(lock, [this] { return state_.is_ending || state_.is_all_there; });
  }
  replica.waited += std::chrono::steady_clock::now() - start;
}

void Replicas::tell_final(Replica& replica, std::int64_t from) {
  const std::lock_guard lock(mutex_);
  replica.final_from = std::min(replica.final_from, from);
  told_.notify_all();
}

}  // namespace trainyard::runtime
