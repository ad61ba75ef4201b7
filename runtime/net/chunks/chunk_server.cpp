#include "runtime/net/chunks/chunk_server.h"

#include <utility>

#include "runtime/net/waiting.h"
#include "schemas/base/check.h"
#include "schemas/base/clock.h"

namespace trainyard::runtime {

Result<std::unique_ptr<ChunkServer>> ChunkServer::start(std::vector<StreamSocket> listeners,
                                                        Options options, ChunkStore store) {
  ENSURE(!listeners.empty());
  TRY_ASSIGN(FramePoll poll, FramePoll::open(FramePoll::Reports::until_read));
  for (const StreamSocket& listener : listeners) {
    TRY(poll.add(listener.descriptor(), poll_key(listener.descriptor())));
  }
  return std::unique_ptr<ChunkServer>(
      new ChunkServer(std::move(poll), std::move(listeners), std::move(options), std::move(store)));
}

ChunkServer::ChunkServer(FramePoll poll, std::vector<StreamSocket> listeners, Options options,
                         ChunkStore store)
    : poll_(std::move(poll)),
      options_(std::move(options)),
      core_(options_.rules, options_.start),
      store_(std::move(store)),
      workers_(options_.rules.ranks),
      end_(options_.limits, options_.rules.ranks, workers_),
      names_(options_, workers_),
      snapshots_(options_, {.core = core_, .store = store_}, workers_, [this] { poll_.ring(); }),
      frames_(options_, {.core = core_,
                         .store = store_,
                         .workers = workers_,
                         .names = names_,
                         .snapshots = snapshots_,
                         .end = end_}),
      connections_({.token = options_.token, .plan = options_.plan, .ranks = options_.rules.ranks},
                   poll_, std::move(listeners), workers_, frames_) {
  ENSURE(store_.chunks() == options_.rules.chunks);
  ENSURE(store_.has_residuals() == options_.rules.has_residuals);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ChunkServer::~ChunkServer() { stop_serving(); }

void ChunkServer::stop_serving() {
  thread_.request_stop();
  poll_.ring();
  if (thread_.joinable()) thread_.join();
}

Result<ChunkServer::Ended> ChunkServer::await_end(const std::stop_token& stop) {
  end_.wait(stop);
  stop_serving();
  const auto end = end_.end();
  if (!end) return Ended::stopped;
  if (!end->is_good) return unavailable(end->why);
  return Ended::finished;
}

void ChunkServer::run(const std::stop_token& stop) {
  try {
    serve(stop);
  } catch (const ShareFailed& failure) {
    if (options_.on_failed) options_.on_failed(failure.what());
  }
}

void ChunkServer::serve(const std::stop_token& stop) {
  Time looked = steady_now();
  FramePoll::Events events;
  while (!stop.stop_requested()) {
    for (const FramePoll::Event& event : poll_.wait(events)) {
      if (event.is_bell) {
        snapshots_.tell_written();
      } else {
        connections_.serve(event);
      }
      if (!store_.has_under_way()) connections_.send_all();
    }
    // Sending waits for the GPU, so it is given all that has come before.
    if (store_.has_under_way()) connections_.send_all();
    const Time now = steady_now();
    if (now - looked < Millis{look_up_millis}) continue;
    looked = now;
    connections_.drop_silent();
    end_.look();
  }
}

}  // namespace trainyard::runtime
