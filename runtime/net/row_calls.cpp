#include "runtime/net/row_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/core/row_layout.h"

namespace trainyard::runtime {

RowCalls::RowCalls(std::vector<RawPeer> ps, Options options)
    : ps_(std::move(ps)),
      lookups_(ps_.size(), Lookups{.next = options.process, .kept = {}}),
      options_(std::move(options)) {}

proto::RowFrame RowCalls::header(std::int64_t step) const {
  proto::RowFrame header;
  header.set_token(options_.token);
  header.set_rank(options_.rank);
  header.set_step(step);
  header.set_process(options_.process);
  return header;
}

Result<Traffic> RowCalls::read(std::span<const std::int64_t> ids, std::span<float> rows) {
  return fetch(ids, rows, std::nullopt);
}

Result<Traffic> RowCalls::look_up(std::int64_t part, std::span<const std::int64_t> ids,
                                  std::span<float> rows) {
  return fetch(ids, rows, part);
}

// What each ps is asked for; nobody where there are no ids.
Result<RowCalls::Answers> RowCalls::ask(const Bodies& bodies, Keep keep) {
  Answers answers;
  std::vector<grpc::ByteBuffer> requests(ps_.size());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    const RowBody& body = *bodies[ps];
    if (body.ids.empty()) continue;
    proto::RowFrame about = header(0);
    about.add_counts(std::ssize(body.ids));
    about.set_bags(std::ssize(body.sizes));
    about.set_elements(std::ssize(body.places));
    if (keep == Keep::yes) about.set_lookup(lookups_[ps].next);
    answers.traffic.sent += body.bytes();
    requests[ps] = encode_rows(about, bodies[ps]);
  }
  TRY_ASSIGN(answers.of_ps, exchange(Method::read, requests));
  answers.kept.resize(ps_.size());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    if (!requests[ps].Valid()) continue;
    answers.traffic.received += answers.of_ps[ps].body.bytes();
    if (keep == Keep::no) continue;
    const std::int64_t number = lookups_[ps].next++;
    if (answers.of_ps[ps].header.lookup() == number) answers.kept[ps] = number;
  }
  return answers;
}

// The floats of so many rows or bags.
Result<std::span<const float>> RowCalls::vectors_of(const Answers& answers, std::size_t ps,
                                                    std::int64_t vectors) const {
  const std::vector<float>& got = answers.of_ps[ps].body.rows;
  if (std::ssize(got) == vectors * options_.width) return std::span(got);
  return invalid(ps_[ps].name + ": answered with " + std::to_string(got.size()) + " floats for " +
                 std::to_string(vectors) + " rows or bags");
}

Result<Traffic> RowCalls::fetch(std::span<const std::int64_t> ids, std::span<float> rows,
                                std::optional<std::int64_t> part) {
  std::vector<std::vector<std::size_t>> places(ps_.size());  // by ps, in ids
  Bodies bodies;
  for (std::size_t i = 0; i < ps_.size(); ++i) bodies.push_back(std::make_shared<RowBody>());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto ps = static_cast<std::size_t>(owner_of_row(ids[i], std::ssize(ps_)));
    places[ps].push_back(i);
    bodies[ps]->ids.push_back(ids[i]);
  }
  TRY_ASSIGN(const Answers answers, ask(bodies, part ? Keep::yes : Keep::no));
  const auto width = static_cast<std::size_t>(options_.width);
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    TRY_ASSIGN(const auto got, vectors_of(answers, ps, std::ssize(places[ps])));
    for (std::size_t i = 0; i < places[ps].size(); ++i) {
      std::copy_n(got.data() + i * width, width, rows.data() + places[ps][i] * width);
    }
    if (answers.kept[ps] == 0) continue;
    lookups_[ps].kept.push_back({answers.kept[ps], *part, std::move(bodies[ps])});
  }
  return answers.traffic;
}

// By lookups where what is kept for its parts is what they are of; else by ids.
RowCalls::Frame RowCalls::frame_of(proto::RowFrame about, std::vector<RowGradients> share,
                                   const Lookups& lookups) const {
  Frame frame{.header = std::move(about), .body = nullptr};
  bool known = true;
  auto next = lookups.kept.begin();
  if (next != lookups.kept.end()) frame.header.set_lookup(next->number);
  for (std::int64_t part = 0; part < std::ssize(share); ++part) {
    const std::vector<std::int64_t>& ids = share[static_cast<std::size_t>(part)].ids;
    frame.counts.push_back(std::ssize(ids));
    std::vector<std::int64_t> together;
    std::int64_t count = 0;
    for (; next != lookups.kept.end() && next->part == part; ++next, ++count) {
      together = count == 0 ? next->asked->ids : add_ids(together, next->asked->ids);
    }
    known = known && together == ids;
    frame.header.add_lookups(count);
  }
  frame.body = std::make_shared<RowBody>(joined(std::move(share)));
  frame.ids = std::exchange(frame.body->ids, {});
  if (!known || frame.counts.empty()) spell_out(frame);
  return frame;
}

void RowCalls::spell_out(Frame& frame) {
  frame.header.clear_lookup();
  frame.header.clear_lookups();
  frame.header.mutable_counts()->Assign(frame.counts.begin(), frame.counts.end());
  frame.body->ids = std::exchange(frame.ids, {});
}

Traffic RowCalls::traffic_of(const std::vector<Frame>& frames) {
  Traffic traffic;
  for (const Frame& frame : frames) traffic.sent += frame.body->bytes();
  return traffic;
}

Status RowCalls::send(const std::vector<Frame>& frames) {
  std::vector<grpc::ByteBuffer> requests;
  for (const Frame& frame : frames) requests.push_back(encode_rows(frame.header, frame.body));
  TRY(exchange(Method::push, requests));
  return ok();
}

Result<Traffic> RowCalls::send_or_spell_out(std::vector<Frame> frames, const SpellOut& by_ids) {
  Traffic traffic = traffic_of(frames);
  Status sent = send(frames);
  if (!sent.has_value() && sent.error().code == Code::not_found) {
    by_ids(frames);
    traffic += traffic_of(frames);
    sent = send(frames);
  }
  TRY(std::move(sent));
  return traffic;
}

Result<Traffic> RowCalls::push(std::int64_t step, std::vector<RowGradients> parts) {
  std::vector<std::vector<RowGradients>> shares(ps_.size());
  for (RowGradients& part : parts) {
    auto split = split_by_owner(std::move(part), std::ssize(ps_), options_.width);
    for (std::size_t ps = 0; ps < shares.size(); ++ps) shares[ps].push_back(std::move(split[ps]));
  }
  std::vector<Frame> frames;
  for (std::size_t ps = 0; ps < shares.size(); ++ps) {
    frames.push_back(frame_of(header(step), std::move(shares[ps]), lookups_[ps]));
    lookups_[ps].kept.clear();
  }
  return send_or_spell_out(std::move(frames), [](std::vector<Frame>& named) {
    for (Frame& frame : named) {
      if (frame.header.lookups_size() > 0) spell_out(frame);
    }
  });
}

Result<std::vector<RowMessage>> RowCalls::exchange(Method method,
                                                   const std::vector<grpc::ByteBuffer>& requests) {
  const char* const path = method == Method::read ? "/trainyard.proto.Params/ReadRows"
                                                  : "/trainyard.proto.Params/PushRows";
  TRY_ASSIGN(
      const auto answers,
      call_each(path, ps_, requests,
                {.deadline = options_.deadline, .token = options_.token, .stop = options_.stop}));
  std::vector<RowMessage> replies(answers.size());
  for (std::size_t ps = 0; ps < answers.size(); ++ps) {
    if (!requests[ps].Valid()) continue;
    auto reply = decode_rows(answers[ps]);
    if (!reply.has_value())
      return Error{reply.error().code, ps_[ps].name + ": " + reply.error().message};
    replies[ps] = *std::move(reply);
  }
  return replies;
}

}  // namespace trainyard::runtime
