// The part of a ps' server that gives out rows of an embedding table and takes their gradients.
#include <memory>
#include <utility>

#include "runtime/net/ps_server.h"
#include "runtime/net/row_frame.h"
#include "runtime/net/unary_call.h"

namespace trainyard::runtime {

void PsServer::offer_rows() {
  using Call = UnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>;
  offer_calls<Call>(&ParamsService::RequestReadRows,
                    [this](const grpc::ByteBuffer& request, const Call::Reply& reply) {
                      reply(read_rows(request));
                    });
  offer_calls<Call>(&ParamsService::RequestPushRows,
                    [this](const grpc::ByteBuffer& request, const Call::Reply& reply) {
                      reply(stage_rows(request));
                    });
}

Result<grpc::ByteBuffer> PsServer::read_rows(const grpc::ByteBuffer& request) {
  TRY_ASSIGN(RowMessage message, decode_rows(request));
  TRY(check_token(message.header.token()));
  if (!message.body.rows.empty()) return invalid("a request for rows has ids alone");
  auto body = std::make_shared<RowBody>();
  TRY_ASSIGN(body->rows, aggregator_.read_rows(message.body.ids));
  proto::RowFrame answer;
  if (const std::int64_t number = message.header.lookup(); number != 0) {
    TRY_ASSIGN(const bool kept,
               lookups_.keep(message.header.rank(), number, std::move(message.body.ids)));
    if (kept) answer.set_lookup(number);
  }
  return encode_rows(answer, std::move(body));
}

// Those of the lookups that it names.
Status PsServer::add_ids(RowMessage& message) {
  proto::RowFrame& header = message.header;
  if (header.counts_size() > 0) return invalid("gradients name their rows by ids or by lookups");
  const std::span<const std::int64_t> lookups(header.lookups().data(),
                                              static_cast<std::size_t>(header.lookups_size()));
  TRY_ASSIGN(auto parts, lookups_.take(header.rank(), header.lookup(), lookups));
  std::vector<std::int64_t>& ids = message.body.ids;
  for (std::vector<std::int64_t>& part : parts) {
    header.add_counts(std::ssize(part));
    if (ids.empty()) {
      ids = std::move(part);
    } else {
      ids.insert(ids.end(), part.begin(), part.end());
    }
  }
  return ok();
}

Result<grpc::ByteBuffer> PsServer::stage_rows(const grpc::ByteBuffer& request) {
  TRY_ASSIGN(RowMessage message, decode_rows(request));
  TRY(check_token(message.header.token()));
  const std::int64_t rank = message.header.rank();
  const std::int64_t step = message.header.step();
  if (message.header.lookups_size() > 0) TRY(add_ids(message));
  TRY_ASSIGN(auto parts, parted(std::move(message), aggregator_.row_width()));
  TRY(aggregator_.stage_rows(rank, step, std::move(parts)));
  return encode_rows({}, std::make_shared<RowBody>());
}

}  // namespace trainyard::runtime
