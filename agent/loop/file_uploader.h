// Brings the checkpoint files that tasks announce to the server, one after another, for as long as
// it takes; then keeps the newest two checkpoints of each task here and deletes the older.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/link/server_calls.h"
#include "agent/loop/task_files.h"
#include "schemas/types/run_event.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

struct AnnouncedFile {
  TaskFiles task;
  std::int64_t step = 0;  // of the checkpoint it belongs to
  ArtifactFile file;      // its name is relative to the task's folder
};

class FileUploader {
 public:
  // Called on the uploader's thread, or within `finish`: all files of a finished task are stored,
  // or refused for good.
  using OnEnd = std::function<void(const TaskKey& key)>;

  FileUploader(ServerCalls& server, OnEnd on_end);
  ~FileUploader();  // stop(); the server's calls must have been cancelled for it to be quick
  FileUploader(const FileUploader&) = delete;
  FileUploader& operator=(const FileUploader&) = delete;

  void run();
  void stop();

  // False: the queue is full, try again later.
  bool add(AnnouncedFile file);
  void finish(const TaskKey& key);  // no more files will be added
  void forget(const TaskKey& key);

 private:
  void work(const std::stop_token& stop);
  bool deliver(const AnnouncedFile& file, const std::stop_token& stop);
  bool is_wanted(const AnnouncedFile& file);
  void keep_newest(const AnnouncedFile& file);
  void take_done(const AnnouncedFile& file);
  [[nodiscard]] bool has_queued(const TaskKey& key) const;  // under mutex_

  ServerCalls& server_;
  const OnEnd on_end_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<AnnouncedFile> queue_;  // guarded by mutex_, bounded; the first is under way
  std::set<TaskKey> finished_;       // guarded by mutex_: to be told when their last file is done
  std::map<TaskKey, std::vector<std::pair<std::int64_t, std::string>>>
      kept_;  // (step, path) of stored files, of the thread and `forget`: guarded by mutex_
  std::jthread thread_;
};

}  // namespace trainyard::agent
