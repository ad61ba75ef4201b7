// RowCalls of a batch's bags: each ps gives its rows of them, or their sums.
#include <algorithm>
#include <string>
#include <utility>

#include "runtime/net/row_calls.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

namespace {

// Of a request.
std::shared_ptr<RowBody> body_of(const BagShare& share) {
  auto body = std::make_shared<RowBody>();
  body->ids = share.ids;
  if (share.mode == RowMode::rows) return body;
  for (std::size_t bag = 0; bag < share.examples.size(); ++bag) {
    body->sizes.push_back(
        static_cast<std::uint32_t>(share.bags.offsets[bag + 1] - share.bags.offsets[bag]));
  }
  body->places.assign(share.bags.columns.begin(), share.bags.columns.end());
  body->rows = share.bags.values;
  return body;
}

}  // namespace

Result<RowCalls::BagsRead> RowCalls::look_up_bags(const BagView& batch) {
  std::vector<BagShare> shares = share_bags(batch, std::ssize(ps_), options_.width);
  Bodies bodies;
  for (const BagShare& share : shares) bodies.push_back(body_of(share));
  TRY_ASSIGN(const Answers answers, ask(bodies, Keep::yes));
  BagsRead read{.bags = {.x = join_bags(shares, batch.x.rows()), .vectors = {}},
                .traffic = answers.traffic};
  asked_.clear();
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    BagShare& share = shares[ps];
    TRY_ASSIGN(const auto got, vectors_of(answers, ps, share.vectors()));
    read.bags.vectors.insert(read.bags.vectors.end(), got.begin(), got.end());
    if (!share.ids.empty() && share.mode == RowMode::bags) ++read.traffic.pooled;
    asked_.push_back({.share = std::move(share), .lookup = answers.kept[ps]});
  }
  return read;
}

// By ids where the ps keeps nothing: then the gradients are of rows, whatever was asked for.
std::vector<RowCalls::Frame> RowCalls::frames_of_bags(std::int64_t step,
                                                      std::span<const float> gradients,
                                                      Naming naming) const {
  std::vector<Frame> frames;
  for (const auto& [share, lookup] : asked_) {
    const auto own = gradients.first(static_cast<std::size_t>(share.vectors() * options_.width));
    gradients = gradients.subspan(own.size());
    Frame frame{.header = header(step), .body = std::make_shared<RowBody>()};
    if (naming == Naming::lookups && lookup != 0) {
      frame.header.set_lookup(lookup);
      frame.header.add_lookups(1);
      frame.body->rows.assign(own.begin(), own.end());
    } else {
      frame.header.add_counts(std::ssize(share.ids));
      RowGradients rows{.ids = share.ids, .rows = {own.begin(), own.end()}};
      if (share.mode == RowMode::bags) {
        rows = spread_bags(share.ids, share.bags, own, options_.width);
      }
      frame.body->ids = std::move(rows.ids);
      frame.body->rows = std::move(rows.rows);
    }
    frames.push_back(std::move(frame));
  }
  ENSURE(gradients.empty());
  return frames;
}

Result<Traffic> RowCalls::push_bags(std::int64_t step, std::span<const float> gradients) {
  ENSURE(asked_.size() == ps_.size());
  return send_or_spell_out(
      frames_of_bags(step, gradients, Naming::lookups),
      [&](std::vector<Frame>& frames) { frames = frames_of_bags(step, gradients, Naming::ids); });
}

}  // namespace trainyard::runtime
