// The watcher of a followed log. The store's log files grow without a word, so it looks five times
// a second.
#include "api/routes/log_follow.h"

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <utility>

#include "api/routes/log_tail.h"
#include "schemas/files/file.h"
#include "schemas/types/task_context.h"

namespace trainyard::api {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_every{200};
constexpr std::size_t piece_bytes = 64 << 10;
constexpr int pieces_per_look = 32;  // 2 MiB: a long log must not keep other watchers waiting

class LogFollow : public Watcher {
 public:
  LogFollow(Backend& backend, LogRequest request)
      : backend_(backend), request_(std::move(request)) {}

  void open(const Responder& responder, const Watchers::Poke& poke) {
    stream_ = responder.stream(
        {.content_type = "text/plain; charset=utf-8", .heartbeat = StreamOptions::Heartbeat::none},
        poke);
  }

  Next look() override {
    if (stream_->gone()) return Next::done;
    // Read before the file is: what an ended task wrote is in the file by then.
    const auto found = backend_.readers->read(
        [this](scheduler::Reader& reader) { return reader.job(request_.job); });
    if (!found) return Next::done;
    if (attempt_ == 0 && !begin(*found)) return at_rest(*found) ? Next::done : Next::keep;
    const bool over = task_is_over(*found);
    if (!send_what_is_new() || !over) return Next::keep;
    if (request_.attempt || (at_rest(*found) && found->attempt == attempt_)) {
      stream_->finish();
      return Next::done;
    }
    if (found->attempt > attempt_) begin_attempt(*found, attempt_ + 1);
    return Next::keep;
  }

  [[nodiscard]] steady_clock::time_point look_at() const override {
    return steady_clock::now() + look_every;
  }
  void stop() override { stream_->finish(); }

 private:
  static bool at_rest(const Job& job) {
    return is_terminal(job.state) || job.state == JobState::suspended;
  }

  bool begin(const Job& job) {
    const std::int64_t first = request_.attempt.value_or(job.attempt);
    if (first == 0 || first > job.attempt) return false;
    attempt_ = first;
    path_ = backend_.scheduler.log_path(task_of(request_, job, attempt_));
    const auto tail = tail_offset(path_, request_.tail_lines);
    offset_ = tail ? *tail : 0;  // it has written nothing yet
    return true;
  }

  void begin_attempt(const Job& job, std::int64_t attempt) {
    attempt_ = attempt;
    path_ = backend_.scheduler.log_path(task_of(request_, job, attempt));
    offset_ = 0;
    stream_->write("==> attempt " + std::to_string(attempt) + " <==\n");
  }

  bool task_is_over(const Job& job) const {
    if (job.attempt > attempt_) return true;
    const TaskKey key = task_of(request_, job, attempt_);
    const auto tasks = backend_.readers->read(
        [&](scheduler::Reader& reader) { return reader.tasks(key.job, attempt_); });
    if (!tasks) return false;
    const auto task = std::ranges::find(*tasks, key, &TaskAttempt::key);
    return task == tasks->end() ? at_rest(job) : is_terminal(task->state);
  }

  // True when the end of the file was reached and sent.
  bool send_what_is_new() {
    // Opened anew at each look: a pipe that somebody put there would hold all watchers.
    const auto file = File::open_regular(path_, O_RDONLY);
    if (!file) return true;
    std::string piece(piece_bytes, '\0');
    for (int count = 0; count < pieces_per_look; ++count) {
      if (stream_->gone() || stream_->waiting_bytes() > 0) return false;
      if (!stream_->has_room()) return false;
      const auto bytes = file->read_at(offset_, piece);
      if (!bytes) return true;
      stream_->write(std::string_view(piece).substr(0, *bytes));
      offset_ += static_cast<std::int64_t>(*bytes);
      if (*bytes < piece.size()) return true;
    }
    return false;
  }

  Backend& backend_;
  const LogRequest request_;
  std::int64_t attempt_ = 0;  // 0: the job has not run yet
  std::string path_;
  std::int64_t offset_ = 0;
  std::shared_ptr<ResponseStream> stream_;
};

}  // namespace

TaskKey task_of(const LogRequest& request, const Job& job, std::int64_t attempt) {
  return {.job = job.id,
          .attempt = attempt,
          .role = request.role.value_or(role_of_chief(job.spec)),
          .index = request.index};
}

std::unique_ptr<Watcher> make_log_follow(Backend& backend, const LogRequest& request,
                                         const Responder& responder, const Watchers::Poke& poke) {
  auto follow = std::make_unique<LogFollow>(backend, request);
  follow->open(responder, poke);
  return follow;
}

}  // namespace trainyard::api
