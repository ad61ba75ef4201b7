#include "runtime/net/rows/row_server.h"

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/net/channel_options.h"
#include "runtime/net/completion.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/stream_socket.h"
#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

constexpr std::string_view service_path = "/trainyard.proto.Rows/";

// For messages that are on their way when a server ends.
constexpr std::chrono::seconds end_limit{1};

// gRPC does not tell.
Error why_not_listening(const std::string& address) {
  const int port = std::atoi(address.c_str() + address.rfind(':') + 1);
  const auto tried = StreamSocket::listen_tcp(address, port);
  if (!tried.has_value()) return tried.error();
  return unavailable("cannot listen on " + address);
}

}  // namespace

Result<std::unique_ptr<RowServer>> RowServer::start(Options options, RowStore store) {
  std::unique_ptr<RowServer> server(new RowServer(std::move(options), std::move(store)));
  TRY(server->listen());
  return server;
}

RowServer::RowServer(Options options, RowStore store)
    : options_(std::move(options)), requests_(std::move(store)) {}

Status RowServer::listen() {
  grpc::ServerBuilder builder;
  configure_server(builder, RowData::message_bytes_max);
  int local_port = 0;
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port_);
  if (!options_.local_socket.empty()) {
    builder.AddListeningPort(local_socket_address(options_.local_socket),
                             grpc::InsecureServerCredentials(), &local_port);
  }
  builder.RegisterAsyncGenericService(&service_);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_ || port_ == 0) return why_not_listening(options_.listen);
  offer_calls();
  thread_ = std::jthread([this] { run(); });
  return ok();
}

void RowServer::offer_calls() {
  handles_["ReadRows"] = [this](const grpc::ByteBuffer& message, const GatedCall::Reply& reply) {
    requests_.read(message, reply);
  };
  handles_["PushRows"] = [this](const grpc::ByteBuffer& message, const GatedCall::Reply& reply) {
    requests_.push(message, reply);
  };
  rules_.next = [this](auto* context, auto* stream, void* tag) {
    if (!accepting_) return false;
    service_.RequestCall(context, stream, queue_.get(), queue_.get(), tag);
    return true;
  };
  rules_.route = [this](const grpc::GenericServerContext& context) { return route(context); };
  rules_.may_go_on = [this] { return queue_open_; };
  rules_.queue = queue_.get();
  rules_.message_limit = options_.message_limit;
  GatedCall::offer(rules_);
}

std::pair<const GatedCall::Handle*, grpc::Status> RowServer::route(
    const grpc::GenericServerContext& context) const {
  if (!has_gang_token(context)) return {nullptr, unauthenticated("the call carries no token")};
  if (!has_gang_token(context, options_.token)) {
    return {nullptr, to_grpc(conflict("the token is not that of this attempt"))};
  }
  std::string_view method = context.method();
  method.remove_prefix(method.starts_with(service_path) ? service_path.size() : 0);
  const auto found = handles_.find(method);
  if (found != handles_.end()) return {&found->second, grpc::Status::OK};
  return {nullptr, {grpc::StatusCode::UNIMPLEMENTED, "there is no such call"}};
}

void RowServer::run() {
  void* tag = nullptr;
  bool good = false;
  while (queue_->Next(&tag, &good)) {
    std::unique_lock lock(mutex_);
    static_cast<Completion*>(tag)->done(good);
    hand_out_snapshots(lock);
  }
}

void RowServer::hand_out_snapshots(std::unique_lock<std::mutex>& lock) {
  std::vector<RowStore::Snapshot> snapshots = requests_.store().take_snapshots();
  lock.unlock();
  for (RowStore::Snapshot& snapshot : snapshots) {
    if (options_.on_snapshot) options_.on_snapshot(snapshot.step, std::move(snapshot.tables));
  }
}

RowServer::~RowServer() {
  if (!server_) return;
  {
    const std::lock_guard lock(mutex_);
    accepting_ = false;
    requests_.store().close(unavailable("the ps is ending"));
  }
  // Its thread serves on meanwhile. What is left after the limit is cancelled.
  server_->Shutdown(std::chrono::system_clock::now() + end_limit);
  {
    const std::lock_guard lock(mutex_);
    queue_open_ = false;
    queue_->Shutdown();
  }
}

Status RowServer::apply(const RowStore::Made& made) {
  std::unique_lock lock(mutex_);
  const Status applied = requests_.store().apply(made);
  hand_out_snapshots(lock);
  return applied;
}

void RowServer::end_rank(std::int64_t rank, std::int64_t snapshot) {
  std::unique_lock lock(mutex_);
  requests_.store().end(rank, snapshot);
  hand_out_snapshots(lock);
}

RowTables RowServer::copy() {
  const std::lock_guard lock(mutex_);
  return requests_.store().copy();
}

std::int64_t RowServer::version() {
  const std::lock_guard lock(mutex_);
  return requests_.store().version();
}

}  // namespace trainyard::runtime
