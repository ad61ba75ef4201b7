#include "runtime/net/row_calls.h"

#include <algorithm>
#include <utility>

#include "runtime/core/row_layout.h"

namespace trainyard::runtime {

RowCalls::RowCalls(std::vector<RawPeer> ps, Options options)
    : ps_(std::move(ps)), options_(std::move(options)) {}

proto::RowFrame RowCalls::header(std::int64_t step) const {
  proto::RowFrame header;
  header.set_token(options_.token);
  header.set_rank(options_.rank);
  header.set_step(step);
  return header;
}

Result<Traffic> RowCalls::read(std::span<const std::int64_t> ids, std::span<float> rows) {
  std::vector<std::vector<std::size_t>> places(ps_.size());  // by ps, in ids
  std::vector<std::shared_ptr<RowBody>> bodies;
  for (std::size_t i = 0; i < ps_.size(); ++i) bodies.push_back(std::make_shared<RowBody>());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto ps = static_cast<std::size_t>(owner_of_row(ids[i], std::ssize(ps_)));
    places[ps].push_back(i);
    bodies[ps]->ids.push_back(ids[i]);
  }
  std::vector<grpc::ByteBuffer> requests(ps_.size());
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    if (places[ps].empty()) continue;
    proto::RowFrame about = header(0);
    about.add_counts(std::ssize(places[ps]));
    requests[ps] = encode_rows(about, bodies[ps]);
  }
  TRY_ASSIGN(const std::vector<RowMessage> replies, exchange(Method::read, requests));
  const auto width = static_cast<std::size_t>(options_.width);
  Traffic traffic{.sent = std::ssize(std::as_bytes(ids)), .received = 0};
  for (std::size_t ps = 0; ps < ps_.size(); ++ps) {
    const std::vector<float>& got = replies[ps].body.rows;
    if (got.size() != places[ps].size() * width) {
      return invalid(ps_[ps].name + ": answered with " + std::to_string(got.size()) +
                     " floats for " + std::to_string(places[ps].size()) + " rows");
    }
    traffic.received += replies[ps].body.bytes();
    for (std::size_t i = 0; i < places[ps].size(); ++i) {
      std::copy_n(got.data() + i * width, width, rows.data() + places[ps][i] * width);
    }
  }
  return traffic;
}

Result<Traffic> RowCalls::push(std::int64_t step, std::vector<RowGradients> parts) {
  const std::int64_t owners = std::ssize(ps_);
  std::vector<std::vector<RowGradients>> shares(ps_.size());
  for (RowGradients& part : parts) {
    auto split = split_by_owner(std::move(part), owners, options_.width);
    for (std::size_t ps = 0; ps < shares.size(); ++ps) shares[ps].push_back(std::move(split[ps]));
  }
  Traffic traffic;
  std::vector<grpc::ByteBuffer> requests;
  for (auto& share : shares) {
    proto::RowFrame about = header(step);
    for (const RowGradients& part : share) about.add_counts(std::ssize(part.ids));
    const auto body = std::make_shared<RowBody>(joined(std::move(share)));
    traffic.sent += body->bytes();
    requests.push_back(encode_rows(about, body));
  }
  TRY(exchange(Method::push, requests));
  return traffic;
}

Result<std::vector<RowMessage>> RowCalls::exchange(Method method,
                                                   const std::vector<grpc::ByteBuffer>& requests) {
  const char* const path = method == Method::read ? "/trainyard.proto.Params/ReadRows"
                                                  : "/trainyard.proto.Params/PushRows";
  TRY_ASSIGN(const auto answers, call_each(path, ps_, requests, options_.limits));
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
