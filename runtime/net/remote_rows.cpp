// The embedding table's part of RemoteParams: calls of their own beside the streams.
#include <chrono>
#include <utility>

#include "runtime/net/channel_options.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/remote_params.h"
#include "runtime/net/row_frame.h"
#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
Status RemoteParams::add_row_peer(std::string name, const std::string& address,
                                  const std::string& local_socket) {
  if (options_.row_width == 0) return ok();
  const bool here =
      options_.transport <= RemoteOptions::Transport::unix_socket && answers_here(local_socket);
  auto channel = grpc::CreateCustomChannel(here ? local_socket_address(local_socket) : address,
                                           grpc::InsecureChannelCredentials(),
                                           channel_arguments(row_message_bytes_max));
  // A call would not wait for it: that the ps is gone is then known at once.
  Patience patience = patience_for(options_.connect_limit);
  while (!channel->WaitForConnected(WallClock::now() + kLookUp)) TRY(keep_waiting(patience));
  row_peers_.push_back({std::move(channel), std::move(name)});
  return ok();
}

RowCalls& RemoteParams::row_calls() {
  ENSURE(options_.row_width > 0);
  if (!rows_) {
    rows_.emplace(row_peers_, RowCalls::Options{.token = options_.token,
                                                .rank = options_.rank,
                                                .width = options_.row_width,
                                                .process = process_,
                                                .deadline = options_.exchange_limit,
                                                .stop = options_.stop});
  }
  return *rows_;
}

Status RemoteParams::read_rows(std::span<const std::int64_t> ids, std::span<float> rows) {
  TRY(row_calls().read(ids, rows));
  return ok();
}

Status RemoteParams::look_up_rows(std::int64_t part, std::span<const std::int64_t> ids,
                                  std::span<float> rows) {
  TRY_ASSIGN(const Traffic traffic, row_calls().look_up(part, ids, rows));
  traffic_ += traffic;
  return ok();
}

Status RemoteParams::push_rows(std::int64_t step, std::vector<RowGradients> parts) {
  TRY_ASSIGN(const Traffic traffic, row_calls().push(step, std::move(parts)));
  traffic_ += traffic;
  return ok();
}

Result<PooledBags> RemoteParams::look_up_bags(const BagView& batch) {
  TRY_ASSIGN(RowCalls::BagsRead read, row_calls().look_up_bags(batch));
  traffic_ += read.traffic;
  return std::move(read.bags);
}

Status RemoteParams::push_bags(std::int64_t step, std::span<const float> gradients) {
  TRY_ASSIGN(const Traffic traffic, row_calls().push_bags(step, gradients));
  traffic_ += traffic;
  return ok();
}

}  // namespace trainyard::runtime
