#include "runtime/net/rows/row_store.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

std::string step_of_rank(std::int64_t step, std::int64_t rank) {
  return "rows of step " + std::to_string(step) + " of rank " + std::to_string(rank);
}

Error no_rank(std::int64_t rank) {
  return invalid("no rank " + std::to_string(rank) + " has rows of the table");
}

bool ascends(std::span<const std::int64_t> ids) {
  return std::ranges::adjacent_find(ids, std::greater_equal{}) == ids.end();
}

Status check_part(const RowGradients& part, const RowWidths& widths) {
  if (!ascends(part.ids)) return invalid("ids of rows must ascend");
  TRY(check_rows(part.ids, widths));
  const std::int64_t floats = widths.floats(part.ids);
  if (std::ssize(part.rows) == floats) return ok();
  return invalid(std::to_string(part.rows.size()) + " floats for rows of " +
                 std::to_string(floats));
}

// Where the floats of each row begin.
std::vector<std::size_t> begins_of(std::span<const std::int64_t> ids, const RowWidths& widths) {
  std::vector<std::size_t> begins;
  std::size_t begin = 0;
  for (const std::int64_t id : ids) {
    begins.push_back(begin);
    begin += index_of(widths.of(id));
  }
  return begins;
}

// Of so many leaves that are a node each.
std::vector<Leaves> single_leaves(std::int64_t count) {
  std::vector<Leaves> nodes;
  for (std::int64_t leaf = 0; leaf < count; ++leaf) nodes.push_back({leaf, leaf + 1});
  return nodes;
}

}  // namespace

RowStore::RowStore(Rules rules, Start start, RowTables tables)
    : rules_(std::move(rules)),
      tables_(std::move(tables)),
      version_(start.version),
      taken_(std::move(start.rank_steps)),
      held_(rules_.nodes.size()),
      ended_(rules_.nodes.size()),
      waiting_(rules_.nodes.size()) {
  ENSURE(rules_.step_at != nullptr);
  const bool is_sync = rules_.mode == Mode::sync;
  if (is_sync) taken_.assign(rules_.nodes.size(), version_);
  if (is_sync) snapshot_ = version_;  // which it began with
  taken_.resize(rules_.nodes.size());
}

Result<bool> RowStore::awaits(std::int64_t rank, std::int64_t step) const {
  if (rank < 0 || rank >= ranks()) return no_rank(rank);
  const std::int64_t taken = taken_[index_of(rank)];
  const bool is_sync = rules_.mode == Mode::sync;
  const std::int64_t next = 1 + (is_sync ? version_ : taken);
  if (step < 1 || step > next) {
    return conflict(step_of_rank(step, rank) + " come too early: step " + std::to_string(next) +
                    " is next");
  }
  return step == next && step > taken;
}

Status RowStore::check(const Push& push) const {
  const std::int64_t parts = std::ssize(rules_.nodes[index_of(push.rank)]);
  if (std::ssize(push.parts) != parts) {
    return invalid(std::to_string(push.parts.size()) + " parts of rows from rank " +
                   std::to_string(push.rank) + ", which has " + std::to_string(parts));
  }
  for (const RowGradients& part : push.parts) TRY(check_part(part, widths()));
  const bool is_sync = rules_.mode == Mode::sync;
  const bool is_misnamed = is_sync && push.snapshot != push.step;
  if (push.snapshot != 0 && (is_misnamed || push.snapshot < snapshot_)) {
    return conflict("snapshot " + std::to_string(push.snapshot) + " cannot begin with " +
                    step_of_rank(push.step, push.rank));
  }
  return ok();
}

Status RowStore::push(Push push) {
  TRY_ASSIGN(const bool is_new, awaits(push.rank, push.step));
  if (!is_new) {
    mark(push);
    return ok();
  }
  TRY(check(push));
  taken_[index_of(push.rank)] = push.step;
  const std::int64_t step = push.step;
  if (rules_.mode == Mode::async) {
    apply_at_once(std::move(push));
    return ok();
  }
  mark(push);
  held_[index_of(push.rank)] = std::move(push);
  const bool all_are_here =
      std::ranges::all_of(held_, [](const auto& held) { return held.has_value(); });
  if (rules_.made_of == MadeOf::named_ranks || !all_are_here) return ok();
  Made made{.step = step};
  for (std::int64_t rank = 0; rank < ranks(); ++rank) made.ranks.push_back(rank);
  make(made);
  return ok();
}

void RowStore::apply_at_once(Push push) {
  const std::vector<Leaves>& nodes = rules_.nodes[index_of(push.rank)];
  const auto order = addition_order(nodes, rules_.leaves);
  const RowGradients sum = sum_of_rows(std::move(push.parts), order, widths());
  const Step step = rules_.step_at(++version_);
  const RowTable::Update update{
      .learning_rate = step.learning_rate, .step = version_, .gradient_scale = step.gradient_scale};
  tables_.apply(sum, update);
  if (cut_ && cut_->open[index_of(push.rank)]) cut_->tables.apply(sum, update);
  mark(push);
}

// Who sends again what is here may say of a snapshot that an earlier process has not: then it is
// made yet, as long as the version is the newest.
void RowStore::mark(const Push& push) {
  if (push.snapshot <= 0) return;
  if (rules_.mode == Mode::async) {
    if (push.step == taken_[index_of(push.rank)]) leave_cut(push.rank, push.snapshot);
    return;
  }
  if (rules_.made_of == MadeOf::named_ranks || push.snapshot != push.step) return;
  if (push.snapshot <= snapshot_) return;
  snapshot_ = push.snapshot;
  save_if_made();
}

void RowStore::save_if_made() {
  if (snapshot_ == version_) snapshots_.push_back({snapshot_, tables_.fork()});
}

Status RowStore::check(const Made& made) const {
  if (rules_.mode == Mode::async || rules_.made_of == MadeOf::all_ranks) {
    return invalid("no ranks are named for the steps of this job");
  }
  if (made.step != version_ + 1) {
    return conflict("step " + std::to_string(made.step) + " of the rows cannot follow version " +
                    std::to_string(version_));
  }
  if (made.ranks.empty() || !ascends(made.ranks)) {
    return invalid("a step is made of one rank or more, and each once");
  }
  if (made.snapshot != 0 && made.snapshot != made.step) {
    return invalid("step " + std::to_string(made.step) + " makes no snapshot " +
                   std::to_string(made.snapshot));
  }
  for (const std::int64_t rank : made.ranks) {
    if (rank < 0 || rank >= ranks()) return no_rank(rank);
    if (!held_[index_of(rank)]) return conflict(step_of_rank(made.step, rank) + " are not here");
  }
  return ok();
}

Status RowStore::apply(const Made& made) {
  if (made.step <= version_) return ok();
  TRY(check(made));
  if (made.snapshot != 0) snapshot_ = made.snapshot;
  make(made);
  return ok();
}

void RowStore::make(const Made& made) {
  std::vector<RowGradients> parts;
  std::vector<Leaves> nodes;
  for (const std::int64_t rank : made.ranks) {
    std::ranges::move(held_[index_of(rank)]->parts, std::back_inserter(parts));
    const std::vector<Leaves>& own = rules_.nodes[index_of(rank)];
    nodes.insert(nodes.end(), own.begin(), own.end());
  }
  std::int64_t leaves = rules_.leaves;
  if (rules_.made_of == MadeOf::named_ranks) {
    leaves = std::ssize(made.ranks);
    nodes = single_leaves(leaves);
  }
  RowGradients sum = sum_of_rows(std::move(parts), addition_order(nodes, leaves), widths());
  for (auto& held : held_) held.reset();

  RowGradients before{.ids = {}, .rows = std::vector<float>(sum.rows.size())};
  const Step step = rules_.step_at(++version_);
  tables_.apply(sum,
                {.learning_rate = step.learning_rate,
                 .step = version_,
                 .gradient_scale = step.gradient_scale},
                before.rows);
  before.ids = std::move(sum.ids);
  before_ = std::move(before);
  save_if_made();
  answer_waiting();
}

void RowStore::end(std::int64_t rank, std::int64_t snapshot) {
  ENSURE(rank >= 0 && rank < ranks());
  ended_[index_of(rank)] = true;
  if (snapshot > snapshot_) begin_cut(snapshot);
  if (cut_) leave_cut(rank, cut_->step);
}

void RowStore::begin_cut(std::int64_t snapshot) {
  snapshot_ = snapshot;
  cut_.emplace(Cut{.step = snapshot, .tables = tables_.fork(), .open = ended_});
  cut_->open.flip();
}

void RowStore::leave_cut(std::int64_t rank, std::int64_t snapshot) {
  if (snapshot > snapshot_) begin_cut(snapshot);
  if (!cut_ || cut_->step != snapshot) return;  // whole already
  cut_->open[index_of(rank)] = false;
  if (std::ranges::find(cut_->open, true) != cut_->open.end()) return;
  snapshots_.push_back({cut_->step, std::move(cut_->tables)});
  cut_.reset();
}

Status RowStore::check(const Read& read) const {
  if (read.rank < 0 || read.rank >= ranks()) return no_rank(read.rank);
  TRY(check_rows(read.ids, widths()));
  if (const std::int64_t floats = widths().floats(read.ids); floats > rules_.floats_max) {
    return invalid(std::to_string(read.ids.size()) + " rows of " + std::to_string(floats) +
                   " floats are more than a message holds");
  }
  if (!read.version) return ok();
  if (rules_.mode == Mode::async) return invalid("rows have no versions in asynchronous training");
  const bool is_past = *read.version < version_ - (before_ ? 1 : 0);
  const bool may_be_past = rules_.made_of == MadeOf::named_ranks;
  if (*read.version > version_ + 1 || (is_past && !may_be_past)) {
    return conflict("version " + std::to_string(*read.version) +
                    " of the rows is asked for where there is " + std::to_string(version_));
  }
  return ok();
}

void RowStore::read(Read read, Reply reply) {
  const Status checked = check(read);
  if (!checked.has_value()) return reply(checked.error());
  std::optional<Waiting>& waiting = waiting_[index_of(read.rank)];
  if (auto earlier = std::exchange(waiting, std::nullopt)) {
    earlier->reply(conflict("another request of this rank has come"));
  }
  if (read.version.value_or(version_) <= version_) {
    return reply(rows_of(read.version.value_or(version_), read.ids));
  }
  if (closed_) return reply(*closed_);
  waiting = {std::move(read), std::move(reply)};
}

std::vector<float> RowStore::rows_of(std::int64_t version,
                                     std::span<const std::int64_t> ids) const {
  std::vector<float> rows(index_of(widths().floats(ids)));
  tables_.read(ids, rows);
  if (version != version_ - 1 || !before_) return rows;
  const std::vector<std::size_t> begins = begins_of(before_->ids, widths());
  std::size_t to = 0;
  for (const std::int64_t id : ids) {
    const std::size_t width = index_of(widths().of(id));
    const auto changed = std::ranges::lower_bound(before_->ids, id);
    if (changed != before_->ids.end() && *changed == id) {
      const std::size_t from = begins[index_of(changed - before_->ids.begin())];
      std::copy_n(before_->rows.data() + from, width, rows.data() + to);
    }
    to += width;
  }
  return rows;
}

void RowStore::answer_waiting() {
  for (std::optional<Waiting>& waiting : waiting_) {
    if (!waiting || *waiting->read.version > version_) continue;
    const Waiting due = *std::exchange(waiting, std::nullopt);
    due.reply(rows_of(version_, due.read.ids));
  }
}

void RowStore::close(const Error& why) {
  closed_ = why;
  for (std::optional<Waiting>& waiting : waiting_) {
    if (const auto due = std::exchange(waiting, std::nullopt)) due->reply(why);
  }
}

std::vector<RowStore::Snapshot> RowStore::take_snapshots() { return std::exchange(snapshots_, {}); }

}  // namespace trainyard::runtime
