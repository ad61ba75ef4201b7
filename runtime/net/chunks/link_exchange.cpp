#include "runtime/net/chunks/link_exchange.h"

#include <utility>

#include "runtime/net/chunks/control_payload.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

std::vector<std::int64_t> holders_of(const WorkerArenas& arenas) {
  std::vector<std::int64_t> holders;
  for (const ArenaChunk& chunk : arenas.chunks()) holders.push_back(chunk.holder);
  return holders;
}

std::unique_ptr<Exchange> plain_exchange(const LinkExchange::Rules& rules,
                                         const WorkerArenas& arenas) {
  if (rules.backups) return nullptr;
  return std::make_unique<Exchange>(Exchange::Rules{.mode = rules.mode,
                                                    .servers = rules.servers,
                                                    .ps_of = holders_of(arenas),
                                                    .max_steps = rules.max_steps,
                                                    .asks_ahead = rules.asks_ahead});
}

std::unique_ptr<BackupExchange> backup_exchange(const LinkExchange::Rules& rules,
                                                const WorkerArenas& arenas) {
  if (!rules.backups) return nullptr;
  return std::make_unique<BackupExchange>(BackupExchange::Rules{.rank = rules.rank,
                                                                .servers = rules.servers,
                                                                .ps_of = holders_of(arenas),
                                                                .max_steps = rules.max_steps});
}

}  // namespace

LinkExchange::LinkExchange(Rules rules, const WorkerArenas& arenas, SmallFrames& small,
                           GiveUpHandler give_up)
    : rules_(std::move(rules)),
      arenas_(arenas),
      small_(small),
      give_up_(std::move(give_up)),
      plain_(plain_exchange(rules_, arenas)),
      backup_(backup_exchange(rules_, arenas)),
      core_(backup_ ? static_cast<WorkerExchange&>(*backup_) : *plain_),
      left_out_(rules_.backups ? index_of(rules_.backups->ranks) : 0) {
  if (!rules_.gathers_norms) return;
  std::vector<bool> has_share;
  for (std::int64_t ps = 0; ps < rules_.servers; ++ps) {
    has_share.push_back(!arenas.chunks_of(index_of(ps)).empty());
  }
  norms_.emplace(std::move(has_share));
}

std::optional<WorkerExchange::ChunkToSend> LinkExchange::next_to_send(std::size_t ps) {
  return core_.next_to_send(static_cast<std::int64_t>(ps));
}

void LinkExchange::perform(const std::vector<ExchangeEffect>& effects) {
  const auto say = [this](std::int64_t ps, const FrameHeader& header) {
    small_.add(index_of(ps), small_frame(header));
  };
  for (const ExchangeEffect& effect : effects) {
    if (const auto* ask = std::get_if<AskParameters>(&effect)) {
      say(ask->ps, {.kind = FrameKind::ask_parameters,
                    .flag = ask->chunk.has_value(),
                    .chunk = ask->chunk ? arenas_.number_in_share(*ask->chunk) : 0,
                    .step = ask->version});
    } else if (const auto* turn = std::get_if<AskTurn>(&effect)) {
      say(0, {.kind = FrameKind::ask_turn, .step = turn->step});
    } else if (const auto* ended = std::get_if<SayEnded>(&effect)) {
      say(ended->ps, {.kind = FrameKind::ended, .snapshot = ended->snapshot});
    } else if (const auto* names = std::get_if<HandNames>(&effect)) {
      hand_names(names->ps);
    } else if (const auto* begin = std::get_if<BeginStep>(&effect)) {
      next_ = NextStep{.step = begin->step};
    } else if (const auto* over = std::get_if<TrainingOver>(&effect)) {
      next_ = NextStep{.step = over->step, .is_over = true};
    } else if (const auto* given_up = std::get_if<GiveUp>(&effect)) {
      give_up_(given_up->why);
    }
  }
}

void LinkExchange::say_sums(std::int64_t step, const BatchSums& sums) {
  FrameStream::Outgoing& said = sums_[index_of(step % 2)];
  said = small_frame({.kind = FrameKind::sums, .step = step}, encode_sums(sums));
  denominators_[index_of(step % 2)] = sums.denominator;
  small_.add(0, said);
}

std::int64_t LinkExchange::denominator_of(std::int64_t step) const {
  const std::size_t place = index_of(step % 2);
  return sums_[place].header.step == step ? denominators_[place] : 0;
}

// The connection before may have lost them.
void LinkExchange::say_sums_again() {
  for (const FrameStream::Outgoing& said : sums_) {
    if (said.header.step > 0) small_.add(0, said);
  }
}

std::int64_t LinkExchange::ask_snapshot() {
  ENSURE(plain_ != nullptr);
  return plain_->ask_snapshot();
}

std::int64_t LinkExchange::marked_snapshot() const {
  return plain_ == nullptr ? 0 : plain_->marked();
}

void LinkExchange::want_snapshot(AfterSnapshot then) {
  ENSURE(backup_ != nullptr);
  backup_->want_snapshot(then);
}

std::int64_t LinkExchange::named_snapshot() const {
  return backup_ == nullptr ? 0 : backup_->named().snapshot;
}

std::optional<std::int64_t> LinkExchange::named_snapshot_from(std::int64_t wanted) const {
  const NamedStep& newest = backup_->named();
  if (newest.snapshot >= wanted && newest.snapshot < rules_.max_steps) return newest.snapshot;
  if (newest.step >= rules_.max_steps) return 0;
  return std::nullopt;
}

std::optional<FrameStream::Outgoing> LinkExchange::next_report() {
  const auto report = backup_ == nullptr ? std::nullopt : backup_->next_report();
  if (!report) return std::nullopt;
  return small_frame({.kind = FrameKind::whole,
                      .flag = report->holds,
                      .step = report->step,
                      .snapshot = report->snapshot});
}

void LinkExchange::hand_names(std::int64_t ps) {
  const auto& [step, ranks, snapshot] = backup_->named();
  small_.add(index_of(ps),
             small_frame({.kind = FrameKind::named, .step = step, .snapshot = snapshot},
                         encode_ranks(ranks, rules_.backups->ranks)));
}

Status LinkExchange::take_names(std::size_t ps, const FrameHeader& header,
                                std::span<const std::byte> payload) {
  if (backup_ == nullptr || ps != 0) return invalid("steps are not named here");
  if (header.step < 1 || header.step > rules_.max_steps || header.snapshot > header.step) {
    return invalid("step " + std::to_string(header.step) + " cannot be named");
  }
  TRY_ASSIGN(auto ranks, decode_ranks(payload, *rules_.backups));
  perform(
      backup_->name({.step = header.step, .ranks = std::move(ranks), .snapshot = header.snapshot}));
  return ok();
}

Status LinkExchange::take_squares(std::size_t ps, const FrameHeader& header,
                                  std::span<const std::byte> payload) {
  if (!norms_) return invalid("no norm is asked for");
  if (header.step < 1 || header.step > rules_.max_steps) return invalid("a norm of no step");
  TRY_ASSIGN(const ExactSum squares, decode_squares(payload));
  const auto all = norms_->take(ps, header.step, squares);
  if (!all) return ok();
  for (std::size_t each = 0; each < index_of(rules_.servers); ++each) {
    if (arenas_.chunks_of(each).empty()) continue;
    small_.add(each, small_frame({.kind = FrameKind::total_squares, .step = header.step},
                                 encode_total_squares(*all)));
  }
  return ok();
}

Status LinkExchange::take_late(std::size_t ps, const FrameHeader& header) {
  if (ps != 0 || header.chunk >= left_out_.size()) return invalid("a count of no rank");
  if (header.step < 0 || header.step > rules_.max_steps) return invalid("a count of no steps");
  left_out_[header.chunk] = header.step;
  return ok();
}

}  // namespace trainyard::runtime
