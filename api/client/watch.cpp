#include "api/client/watch.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "api/client/progress.h"
#include "api/client/terminal.h"
#include "schemas/base/clock.h"

namespace trainyard::client {
namespace {

constexpr Millis between_drawings{100};  // a fast job changes more often than a person can read
constexpr Millis between_attempts{500};

Time steady_now() { return read_clocks().steady; }

class ProgressDisplay {
 public:
  virtual ~ProgressDisplay() = default;
  virtual void show(const JobView& job) = 0;
  virtual void note(const std::string& words) = 0;
};

class TerminalDisplay final : public ProgressDisplay {
 public:
  ~TerminalDisplay() override { std::fputs("\r\x1b[K", stderr); }
  void show(const JobView& job) override { draw(progress_line(job, terminal_columns() - 1)); }
  void note(const std::string& words) override { draw(words.substr(0, terminal_columns() - 1)); }

 private:
  static void draw(const std::string& line) { std::fprintf(stderr, "\r%s\x1b[K", line.c_str()); }
};

class PlainDisplay final : public ProgressDisplay {
 public:
  void show(const JobView& job) override {
    const int tenth = static_cast<int>(job.progress * 10);
    if (job.state == state_ && tenth == tenth_ && job.message == message_) return;
    state_ = job.state;
    tenth_ = tenth;
    message_ = job.message;
    std::fprintf(stderr, "%s\n", plain_line(job).c_str());
  }
  void note(const std::string& words) override { std::fprintf(stderr, "%s\n", words.c_str()); }

 private:
  std::optional<JobState> state_;
  int tenth_ = -1;
  std::string message_;
};

std::unique_ptr<ProgressDisplay> make_display() {
  if (error_output_is_terminal()) return std::make_unique<TerminalDisplay>();
  return std::make_unique<PlainDisplay>();
}

Result<JobView> next_version(Rest& rest, const std::string& job_id, std::int64_t known_version) {
  const std::string path = "/v1/jobs/" + percent_encode(job_id) +
                           "?wait_version=" + std::to_string(known_version) + "&timeout_seconds=30";
  TRY_ASSIGN(const Answer answer, rest.send({.path = path, .timeout = seconds(45)}));
  TRY_ASSIGN(const nlohmann::json job, json_of(answer));
  return parse_job(job);
}

Result<JobView> first_view(Rest& rest, const std::string& job_id) {
  TRY_ASSIGN(const nlohmann::json job, rest.get_json("/v1/jobs/" + percent_encode(job_id)));
  return parse_job(job);
}

}  // namespace

Result<JobView> watch_job(Rest& rest, const std::string& job_id, Millis patience) {
  const std::unique_ptr<ProgressDisplay> display = make_display();
  TRY_ASSIGN(JobView job, first_view(rest, job_id));
  Time last_answer = steady_now();
  bool noted = false;
  display->show(job);
  while (!job.at_rest()) {
    const Time asked = steady_now();
    Result<JobView> next = next_version(rest, job_id, job.version);
    const Time now = steady_now();
    if (next) {
      job = std::move(*next);
      display->show(job);
      last_answer = now;
      noted = false;
      if (!job.at_rest()) pause_for(between_drawings - (now - asked));
      continue;
    }
    const bool is_worth_waiting = next.error().code == Code::unavailable && !calls_interrupted();
    if (!is_worth_waiting || now - last_answer > patience) return next.error();
    if (!noted) display->note(next.error().message + "; its jobs go on, asking again");
    noted = true;
    pause_for(between_attempts);
  }
  return job;
}

}  // namespace trainyard::client
