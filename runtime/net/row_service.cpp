// The part of a ps' server that gives out rows of an embedding table and takes their gradients.
#include <memory>
#include <utility>

#include "runtime/math/rows/row_bags.h"
#include "runtime/net/ps_server.h"
#include "runtime/net/row_frame.h"

namespace trainyard::runtime {

void PsServer::offer_rows() {
  handles_["ReadRows"] = [this](const grpc::ByteBuffer& request, const GatedCall::Reply& reply) {
    reply(read_rows(request));
  };
  handles_["PushRows"] = [this](const grpc::ByteBuffer& request, const GatedCall::Reply& reply) {
    reply(stage_rows(request));
  };
}

// What an earlier process of the task had under way may arrive after its successor has staged its
// own.
Status PsServer::check_rows_caller(const proto::RowFrame& header) const {
  TRY(check_token(header.token()));
  const auto newest = newest_caller_.find(header.rank());
  if (newest != newest_caller_.end() && header.process() < newest->second.first) {
    return superseded();
  }
  return ok();
}

Result<grpc::ByteBuffer> PsServer::read_rows(const grpc::ByteBuffer& request) {
  TRY_ASSIGN(RowMessage message, decode_rows(request));
  TRY(check_rows_caller(message.header));
  LookedUp what;
  if (message.header.bags() > 0) {
    TRY_ASSIGN(what.bags, bags_of(message));
  } else if (!message.body.rows.empty() || !message.body.places.empty()) {
    return invalid("a request for rows has ids alone");
  }
  auto body = std::make_shared<RowBody>();
  TRY_ASSIGN(body->rows, aggregator_.read_rows(message.body.ids));
  if (what.pooled()) body->rows = pool_bags(what.bags, body->rows, aggregator_.row_width());
  proto::RowFrame answer;
  if (const std::int64_t number = message.header.lookup(); number != 0) {
    what.ids = std::move(message.body.ids);
    TRY_ASSIGN(const bool kept, lookups_.keep(message.header.rank(), number, std::move(what)));
    if (kept) answer.set_lookup(number);
  }
  return encode_rows(answer, std::move(body));
}

// That a request asks for the sums of.
Result<SparseRows> PsServer::bags_of(const RowMessage& message) const {
  if (!pools_rows_) return invalid("rows are summed by a ps in asynchronous training alone");
  const RowBody& body = message.body;
  if (std::ssize(body.sizes) > row_message_floats_max / aggregator_.row_width()) {
    return invalid(std::to_string(body.sizes.size()) + " bags of " +
                   std::to_string(aggregator_.row_width()) +
                   " floats are more than a message holds");
  }
  SparseRows bags{.offsets = {0}, .columns = {}, .values = body.rows};
  for (const std::uint32_t size : body.sizes) bags.offsets.push_back(bags.offsets.back() + size);
  bags.columns.assign(body.places.begin(), body.places.end());  // too large ones are below 0 then
  TRY(check_bags(bags, std::ssize(body.ids)));
  return bags;
}

// The gradients of the rows that its lookups name.
Result<std::vector<RowGradients>> PsServer::looked_up_parts(RowMessage& message) {
  const proto::RowFrame& header = message.header;
  if (header.counts_size() > 0) return invalid("gradients name their rows by ids or by lookups");
  const std::span<const std::int64_t> lookups(header.lookups().data(),
                                              static_cast<std::size_t>(header.lookups_size()));
  TRY_ASSIGN(auto looked_up, lookups_.take(header.rank(), header.lookup(), lookups));
  const std::int64_t width = aggregator_.row_width();
  std::int64_t vectors = 0;
  for (const LookedUp& part : looked_up) vectors += part.vectors();
  if (std::ssize(message.body.rows) != vectors * width) {
    return invalid(std::to_string(message.body.rows.size()) + " floats for " +
                   std::to_string(vectors) + " rows of " + std::to_string(width));
  }
  std::vector<RowGradients> parts;
  if (looked_up.size() == 1 && !looked_up.front().pooled()) {
    parts.push_back({std::move(looked_up.front().ids), std::move(message.body.rows)});
    return parts;
  }
  std::span<const float> left(message.body.rows);
  for (LookedUp& part : looked_up) {
    const auto own = left.first(static_cast<std::size_t>(part.vectors() * width));
    left = left.subspan(own.size());
    if (part.pooled()) {
      parts.push_back(spread_bags(std::move(part.ids), part.bags, own, width));
    } else {
      parts.push_back({.ids = std::move(part.ids), .rows = {own.begin(), own.end()}});
    }
  }
  return parts;
}

Result<grpc::ByteBuffer> PsServer::stage_rows(const grpc::ByteBuffer& request) {
  TRY_ASSIGN(RowMessage message, decode_rows(request));
  TRY(check_rows_caller(message.header));
  const std::int64_t rank = message.header.rank();
  const std::int64_t step = message.header.step();
  std::vector<RowGradients> parts;
  if (message.header.lookups_size() > 0) {
    TRY_ASSIGN(parts, looked_up_parts(message));
  } else {
    TRY_ASSIGN(parts, parted(std::move(message), aggregator_.row_width()));
  }
  TRY(aggregator_.stage_rows(rank, step, std::move(parts)));
  return encode_rows({}, std::make_shared<RowBody>());
}

}  // namespace trainyard::runtime
