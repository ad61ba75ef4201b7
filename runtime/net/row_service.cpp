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

Result<grpc::ByteBuffer> PsServer::read_rows(const grpc::ByteBuffer& request) const {
  TRY_ASSIGN(const RowMessage message, decode_rows(request));
  TRY(check_token(message.header.token()));
  if (!message.body.rows.empty()) return invalid("a request for rows has ids alone");
  auto body = std::make_shared<RowBody>();
  TRY_ASSIGN(body->rows, aggregator_.read_rows(message.body.ids));
  return encode_rows({}, std::move(body));
}

Result<grpc::ByteBuffer> PsServer::stage_rows(const grpc::ByteBuffer& request) {
  TRY_ASSIGN(RowMessage message, decode_rows(request));
  TRY(check_token(message.header.token()));
  const std::int64_t rank = message.header.rank();
  const std::int64_t step = message.header.step();
  TRY_ASSIGN(auto parts, parted(std::move(message), aggregator_.row_width()));
  TRY(aggregator_.stage_rows(rank, step, std::move(parts)));
  return encode_rows({}, std::make_shared<RowBody>());
}

}  // namespace trainyard::runtime
