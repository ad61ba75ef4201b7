#include "agent/link/scheduler_stream.h"

#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <utility>

#include "agent/link/channel.h"
#include "schemas/base/log.h"
#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::agent {
namespace {

using std::chrono::milliseconds, std::chrono::seconds, std::chrono::steady_clock;

constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{2000};
// A refusal renews the lease, so it has to be heard much more often than a lease is long; it also
// costs next to nothing.
constexpr milliseconds longest_pause_when_refused{500};
constexpr milliseconds connect_timeout{2000};
// A report leaves each second and each is answered. A stream that is silent for this long is dead,
// whatever TCP says.
constexpr seconds silence_max{10};

// Of a stream that ended without an answer: the server did not want it, rather than went away.
bool is_refusal(const grpc::Status& status) {
  return !status.ok() && status.error_code() != grpc::StatusCode::UNAVAILABLE &&
         status.error_code() != grpc::StatusCode::CANCELLED;
}

}  // namespace

// One stream, from its start to `finished`. gRPC calls the On... functions, one at a time.
class SchedulerStream::Call
    : public grpc::ClientBidiReactor<proto::AgentReport, proto::Assignment> {
 public:
  Call(const StreamCallbacks& callbacks, const std::shared_ptr<grpc::Channel>& channel)
      : callbacks_(callbacks), stub_(proto::AgentLink::NewStub(channel)) {}

  void start() {
    stub_->async()->Converge(&context_, this);
    AddHold();  // for `send`, which comes from outside of the callbacks
    StartRead(&assignment_);
    StartCall();
  }

  bool send(const AgentReport& report) {
    const std::lock_guard lock(mutex_);
    if (writing_ || closed_) return false;
    writing_ = true;
    report_ = to_proto(report);
    StartWrite(&report_);
    return true;
  }

  // Returns once gRPC has let go of the stream.
  grpc::Status wait_until_finished() {
    std::unique_lock lock(mutex_);
    while (!finished_) {
      changed_.wait_for(lock, seconds(1));
      if (steady_clock::now() - last_heard_ > silence_max) context_.TryCancel();
    }
    return status_;
  }

  void cancel() { context_.TryCancel(); }

  bool was_answered() {
    const std::lock_guard lock(mutex_);
    return answered_;
  }

 private:
  void OnReadDone(bool read) override {
    if (!read) {
      close();
      return;
    }
    note_answer();
    if (Result<Assignment> assignment = from_proto(assignment_)) {
      callbacks_.on_assignment(std::move(assignment).value());
    } else {
      log_warning("assignment_refused", {{"error", assignment.error().message}});
    }
    StartRead(&assignment_);
  }

  void OnWriteDone(bool written) override {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
    }
    if (written) callbacks_.on_writable();
  }

  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    finished_ = true;
    changed_.notify_all();  // under the lock: the waiter may destroy this object next
  }

  void note_answer() {
    const std::lock_guard lock(mutex_);
    last_heard_ = steady_clock::now();
    answered_ = true;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    RemoveHold();
  }

  const StreamCallbacks& callbacks_;
  std::unique_ptr<proto::AgentLink::Stub> stub_;
  grpc::ClientContext context_;
  proto::AgentReport report_;     // leaves while writing_
  proto::Assignment assignment_;  // of the read that is under way

  std::mutex mutex_;
  std::condition_variable changed_;
  bool writing_ = false;   // guarded by mutex_
  bool closed_ = false;    // guarded by mutex_: no read will follow
  bool finished_ = false;  // guarded by mutex_
  bool answered_ = false;  // guarded by mutex_
  steady_clock::time_point last_heard_ = steady_clock::now();  // guarded by mutex_
  grpc::Status status_;                                        // guarded by mutex_
};

SchedulerStream::SchedulerStream(std::string server, StreamCallbacks callbacks)
    : server_(std::move(server)), callbacks_(std::move(callbacks)) {}

SchedulerStream::~SchedulerStream() { stop(); }

void SchedulerStream::run() {
  thread_ = std::thread([this] { connect_until_stopped(); });
}

void SchedulerStream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (call_) call_->cancel();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool SchedulerStream::send(const AgentReport& report) {
  std::shared_ptr<Call> call;  // shared: the stream may end while this report is handed over
  {
    const std::lock_guard lock(mutex_);
    call = call_;
  }
  return call && call->send(report);
}

void SchedulerStream::connect_until_stopped() {
  milliseconds pause = first_pause;
  while (true) {
    const Reach reach = probe_server(server_, connect_timeout);
    if (reach == Reach::refused) callbacks_.on_refused();
    note(reach);
    const bool answered = reach == Reach::reached && converse();
    const auto longest = reach == Reach::refused ? longest_pause_when_refused : longest_pause;
    pause = answered ? first_pause : std::min(pause * 2, longest);

    wait(pause);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
}

// Says what has changed, not what goes on.
void SchedulerStream::note(Reach reach) {
  if (std::exchange(last_reach_, reach) == reach || reach == Reach::reached) return;
  log_warning("server_unreachable",
              {{"server", server_},
               {"why", reach == Reach::refused ? "nobody listens there" : "no answer"}});
}

bool SchedulerStream::converse() {
  const auto channel = make_channel(server_);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + connect_timeout)) {
    log_warning("server_speaks_no_grpc", {{"server", server_}});
    return false;
  }

  const auto call = std::make_shared<Call>(callbacks_, channel);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    call_ = call;
    call->start();
  }
  callbacks_.on_connected();
  const grpc::Status status = call->wait_until_finished();
  const bool answered = call->was_answered();
  const std::lock_guard lock(mutex_);
  call_.reset();
  if (stopping_) return answered;
  if (!answered && is_refusal(status)) {
    note_refusal(status.error_message());
  } else {
    refusals_.forget();
    log_warning("server_lost", {{"server", server_}, {"error", status.error_message()}});
  }
  return answered;
}

void SchedulerStream::note_refusal(const std::string& why) {
  if (!refusals_.take(why, steady_clock::now())) return;
  log_warning("server_refuses", {{"server", server_},
                                 {"why", why},
                                 {"message", "asking again until the server takes this agent"}});
}

void SchedulerStream::wait(milliseconds pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, pause, [this] { return stopping_; });
}

}  // namespace trainyard::agent
