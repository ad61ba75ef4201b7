// Fetches the checkpoint files that a task starts from, before it starts.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "agent/link/server_calls.h"
#include "schemas/types/checkpoint.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

struct RestoreRequest {
  TaskKey key;
  std::string token;  // the task's
  Checkpoint checkpoint;
  std::string folder;  // the files' names are relative to it; tasks of an attempt share it
};

class RestoreFetcher {
 public:
  // Called on the fetcher's thread. An error means that the files cannot be had, not that the
  // server is away: that is waited for. Never called for a cancelled request.
  using OnFetched = std::function<void(const TaskKey& key, const Status& status)>;

  RestoreFetcher(ServerCalls& server, OnFetched on_fetched);
  ~RestoreFetcher();  // stop(); the server's calls must have been cancelled for it to be quick
  RestoreFetcher(const RestoreFetcher&) = delete;
  RestoreFetcher& operator=(const RestoreFetcher&) = delete;

  void run();
  void stop();

  void add(RestoreRequest request);
  void cancel(const TaskKey& key);

 private:
  void work(const std::stop_token& stop);
  Status fetch(const RestoreRequest& request, const std::stop_token& stop);
  Status fetch_file(const RestoreRequest& request, const ArtifactFile& file,
                    const std::stop_token& stop);
  bool is_wanted(const TaskKey& key);

  ServerCalls& server_;
  const OnFetched on_fetched_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<RestoreRequest>
      queue_;  // guarded by mutex_, one per starting task; the first is under way
  std::jthread thread_;
};

}  // namespace trainyard::agent
