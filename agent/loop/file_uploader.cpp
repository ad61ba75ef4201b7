#include "agent/loop/file_uploader.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "agent/loop/retry.h"
#include "schemas/base/log.h"

namespace trainyard::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t queue_length_max = 4096;
constexpr std::size_t checkpoints_kept = 2;

}  // namespace

FileUploader::FileUploader(ServerCalls& server, OnEnd on_end)
    : server_(server), on_end_(std::move(on_end)) {}

FileUploader::~FileUploader() { stop(); }

void FileUploader::run() {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void FileUploader::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

bool FileUploader::add(AnnouncedFile file) {
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= queue_length_max) return false;
  queue_.push_back(std::move(file));
  changed_.notify_all();
  return true;
}

void FileUploader::finish(const TaskKey& key) {
  {
    const std::lock_guard lock(mutex_);
    if (has_queued(key)) {
      finished_.insert(key);
      return;
    }
  }
  on_end_(key);
}

void FileUploader::forget(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  std::erase_if(queue_, [&](const AnnouncedFile& file) { return file.task.key == key; });
  finished_.erase(key);
  kept_.erase(key);
  changed_.notify_all();
}

void FileUploader::work(const std::stop_token& stop) {
  while (true) {
    AnnouncedFile file;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      file = queue_.front();
    }
    if (deliver(file, stop)) keep_newest(file);
    if (stop.stop_requested()) return;
    take_done(file);
  }
}

// True once the file is stored; false when it was refused for good, is not wanted any more, or we
// stop.
bool FileUploader::deliver(const AnnouncedFile& file, const std::stop_token& stop) {
  Retry retry;
  bool said = false;  // that it waits, and why
  while (!stop.stop_requested() && is_wanted(file)) {
    const Status status = server_.upload({.key = file.task.key,
                                          .token = file.task.token,
                                          .file = file.file,
                                          .path = file.task.folder + "/" + file.file.name});
    if (status) return true;
    if (retry.gives_up_after(status.error())) {
      log_warning("upload_refused", {{"task", to_string(file.task.key)},
                                     {"file", file.file.name},
                                     {"error", status.error().message}});
      return false;
    }
    if (!std::exchange(said, true)) {
      log_warning("upload_waits", {{"task", to_string(file.task.key)},
                                   {"file", file.file.name},
                                   {"error", status.error().message}});
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, retry.next_pause(), [] { return false; });
  }
  return false;
}

bool FileUploader::is_wanted(const AnnouncedFile& file) {
  const std::lock_guard lock(mutex_);
  return !queue_.empty() && queue_.front().task.key == file.task.key;
}

bool FileUploader::has_queued(const TaskKey& key) const {
  return std::ranges::any_of(queue_,
                             [&](const AnnouncedFile& file) { return file.task.key == key; });
}

void FileUploader::keep_newest(const AnnouncedFile& file) {
  const std::lock_guard lock(mutex_);
  auto& kept = kept_[file.task.key];
  kept.emplace_back(file.step, file.task.folder + "/" + file.file.name);
  while (true) {
    std::set<std::int64_t> steps;
    for (const auto& [step, path] : kept) steps.insert(step);
    if (steps.size() <= checkpoints_kept) return;
    std::erase_if(kept, [oldest = *steps.begin()](const auto& stored) {
      if (stored.first != oldest) return false;
      std::error_code error;  // what stays behind goes with the task's folder
      fs::remove(stored.second, error);
      fs::remove(fs::path(stored.second).parent_path(), error);  // only when empty
      return true;
    });
  }
}

void FileUploader::take_done(const AnnouncedFile& file) {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || queue_.front().task.key != file.task.key) return;  // forgotten meanwhile
    queue_.pop_front();
    last = !has_queued(file.task.key) && finished_.erase(file.task.key) > 0;
  }
  if (last) on_end_(file.task.key);
}

}  // namespace trainyard::agent
