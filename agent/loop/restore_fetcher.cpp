#include "agent/loop/restore_fetcher.h"

#include <algorithm>

#include "agent/loop/retry.h"
#include "schemas/files/file.h"

namespace trainyard::agent {

RestoreFetcher::RestoreFetcher(ServerCalls& server, OnFetched on_fetched)
    : server_(server), on_fetched_(std::move(on_fetched)) {}

RestoreFetcher::~RestoreFetcher() { stop(); }

void RestoreFetcher::run() {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void RestoreFetcher::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void RestoreFetcher::add(RestoreRequest request) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(request));
  changed_.notify_all();
}

void RestoreFetcher::cancel(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  std::erase_if(queue_, [&](const RestoreRequest& request) { return request.key == key; });
  changed_.notify_all();
}

void RestoreFetcher::work(const std::stop_token& stop) {
  while (true) {
    RestoreRequest request;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      request = queue_.front();
    }
    const Status status = fetch(request, stop);
    if (stop.stop_requested()) return;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty() || queue_.front().key != request.key) continue;  // cancelled
      queue_.pop_front();
    }
    on_fetched_(request.key, status);
  }
}

Status RestoreFetcher::fetch(const RestoreRequest& request, const std::stop_token& stop) {
  TRY(fetch_file(request, request.checkpoint.manifest, stop));
  for (const ArtifactFile& shard : request.checkpoint.shards) {
    TRY(fetch_file(request, shard, stop));
  }
  return ok();
}

Status RestoreFetcher::fetch_file(const RestoreRequest& request, const ArtifactFile& file,
                                  const std::stop_token& stop) {
  Retry retry;
  while (!stop.stop_requested() && is_wanted(request.key)) {
    const Status status = server_.download({.key = request.key,
                                            .token = request.token,
                                            .job = request.checkpoint.job,
                                            .file = file,
                                            .path = request.folder + "/" + file.name});
    if (status) return ok();
    // A full disk stays full: another host may have room.
    const bool is_over = says_disk_is_full(status.error());
    if (is_over || retry.gives_up_after(status.error())) return status.error();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, retry.next_pause(), [] { return false; });
  }
  return unavailable("the start of " + to_string(request.key) + " was called off");
}

bool RestoreFetcher::is_wanted(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  return !queue_.empty() && queue_.front().key == key;
}

}  // namespace trainyard::agent
