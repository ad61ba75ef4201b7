// A ps' share of an embedding table on the network: the service Rows, by gRPC. One thread serves
// all calls; what else happens to the table comes by the functions below, on any thread.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/net/gated_call.h"
#include "runtime/net/rows/row_requests.h"
#include "runtime/net/rows/row_store.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class RowServer {
 public:
  struct Options {
    std::string listen;             // "10.0.0.1:20001"; port 0 takes a free one
    std::string local_socket = {};  // an abstract Unix socket for callers of this host; empty: none
    std::string token;  // of the attempt: calls without it are sent away before they are read
    // A snapshot is whole. On the server's thread, or on that of the call that has made it so.
    std::function<void(std::int64_t snapshot, RowTables tables)> on_snapshot = {};
    // A call whose message is not there by then ends.
    std::chrono::milliseconds message_limit = std::chrono::minutes(1);
  };
  // Listens when this returns. `conflict` where another program has the port, `unavailable` where
  // it cannot be had otherwise.
  static Result<std::unique_ptr<RowServer>> start(Options options, RowStore store);
  // Who waits for rows is told that it ends.
  ~RowServer();
  RowServer(const RowServer&) = delete;
  RowServer& operator=(const RowServer&) = delete;

  [[nodiscard]] int port() const { return port_; }

  // As RowStore has them.
  Status apply(const RowStore::Made& made);
  void end_rank(std::int64_t rank, std::int64_t snapshot);
  [[nodiscard]] RowTables copy();
  [[nodiscard]] std::int64_t version();

 private:
  RowServer(Options options, RowStore store);
  Status listen();
  void offer_calls();
  [[nodiscard]] std::pair<const GatedCall::Handle*, grpc::Status> route(
      const grpc::GenericServerContext& context) const;
  void run();
  // Gives up the lock: nobody is called with it held.
  void hand_out_snapshots(std::unique_lock<std::mutex>& lock);

  const Options options_;
  std::mutex mutex_;  // guards all below but the gRPC objects
  RowRequests requests_;
  bool accepting_ = true;                                          // new calls
  bool queue_open_ = true;                                         // operations may be started
  int port_ = 0;                                                   // from its start on
  std::map<std::string, GatedCall::Handle, std::less<>> handles_;  // by method; likewise
  GatedCall::Rules rules_;                                         // likewise
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::runtime
