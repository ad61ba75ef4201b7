#include "api/client/watch.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "api/client/changes.h"
#include "api/client/columns.h"
#include "api/client/progress.h"
#include "api/client/terminal.h"
#include "api/client/text.h"
#include "schemas/base/clock.h"

namespace trainyard::client {
namespace {

constexpr Millis between_drawings{100};  // a fast job changes more often than a person can read
constexpr Millis between_attempts{500};

class ProgressDisplay {
 public:
  virtual ~ProgressDisplay() = default;
  virtual void show(const JobView& job) = 0;
  virtual void note(const std::string& words) = 0;
  virtual void fit() {}  // to a window that may have been resized
};

// Changes of state go up the screen, the line of progress stays below them.
class TerminalDisplay final : public ProgressDisplay {
 public:
  ~TerminalDisplay() override { std::fputs("\r\x1b[K", stderr); }
  void show(const JobView& job) override {
    for (const std::string& line : changes_.next(job)) {
      std::fprintf(stderr, "\r\x1b[K%s\n", line.c_str());
    }
    job_ = job;
    note_.clear();
    draw();
  }
  void note(const std::string& words) override {
    note_ = words;
    draw();
  }
  void fit() override {
    if (terminal_columns() != columns_) draw();
  }

 private:
  // A column stays free: a cursor behind the last one makes some terminals wrap.
  void draw() {
    columns_ = terminal_columns();
    const std::string line = note_.empty() ? progress_line(job_, columns_ - 1)
                                           : cut_short(printable(note_), columns_ - 1);
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  }

  ChangeLines changes_;
  JobView job_;
  std::string note_;
  std::size_t columns_ = 0;
};

// For files and pipes: a line at each change of state, at each tenth of the way, and when a job
// that waits has another reason to.
class PlainDisplay final : public ProgressDisplay {
 public:
  void show(const JobView& job) override {
    const std::vector<std::string> lines = changes_.next(job);
    for (const std::string& line : lines) std::fprintf(stderr, "%s\n", line.c_str());
    const int tenth = static_cast<int>(job.progress * 10);
    const bool is_further = job.state == JobState::running && job.step > 0 && tenth != tenth_;
    const bool waits_anew =
        job.state == JobState::queued && lines.empty() && job.message != message_;
    if (is_further || waits_anew) std::fprintf(stderr, "%s\n", plain_line(job).c_str());
    tenth_ = tenth;
    message_ = job.message;
  }
  void note(const std::string& words) override {
    std::fprintf(stderr, "%s\n", printable(words).c_str());
  }

 private:
  ChangeLines changes_;
  int tenth_ = -1;
  std::string message_;
};

std::unique_ptr<ProgressDisplay> make_display() {
  if (error_output_is_terminal() && output_is_terminal()) {
    return std::make_unique<TerminalDisplay>();
  }
  return std::make_unique<PlainDisplay>();
}

struct Known {
  const std::string& job_id;
  std::int64_t version = 0;
};

Result<JobView> next_version(Rest& rest, const Known& known, ProgressDisplay& display) {
  const std::string path = "/v1/jobs/" + percent_encode(known.job_id) +
                           "?wait_version=" + std::to_string(known.version) + "&timeout_seconds=30";
  TRY_ASSIGN(const Answer answer,
             rest.send({.path = path, .timeout = seconds(45), .while_waiting = [&display] {
                          display.fit();
                        }}));
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
    Result<JobView> next = next_version(rest, {job_id, job.version}, *display);
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
