// The event stream's watcher.
#include "api/routes/event_stream.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "api/routes/render.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

using std::chrono::steady_clock;

constexpr std::int64_t rows_at_once = 200;
constexpr std::chrono::milliseconds slow_client_pause{200};
constexpr std::chrono::seconds unpoked_pause{30};

class EventStream : public Watcher {
 public:
  EventStream(ReaderPool& readers, JobId job, const StreamPosition& start)
      : readers_(readers), job_(std::move(job)), position_(start), first_step_(start.step) {}

  void open(const Responder& responder) {
    stream_ = responder.stream({}, [] {});  // a client that is gone is noticed at the next look
  }

  Next look() override {
    next_look_ = steady_clock::now() + unpoked_pause;
    while (!stream_->gone() && stream_->waiting_bytes() == 0) {
      const auto text = readers_.read([this](scheduler::Reader& reader) { return news(reader); });
      if (!text) return Next::done;  // the job was deleted: the stream ends with its watcher
      if (text->empty()) return Next::keep;
      stream_->write(*text);
    }
    if (stream_->gone()) return Next::done;
    next_look_ = steady_clock::now() + slow_client_pause;
    return Next::keep;
  }

  [[nodiscard]] steady_clock::time_point look_at() const override { return next_look_; }
  void stop() override { stream_->finish(); }

 private:
  // What is new since the last call, as event-stream text; "" when nothing is.
  Result<std::string> news(scheduler::Reader& reader) {
    TRY_ASSIGN(const Job job, reader.job(job_));
    if (job.attempt != attempt_) begin_attempt(job);
    TRY_ASSIGN(const auto rows, reader.events(job_, position_.event, rows_at_once));
    std::string text;
    for (const scheduler::JobEventRow& row : rows) {
      position_.event = row.id;
      text += event_text(ServerSentEvent{
          .id = position_text(position_), .event = row.kind, .data = to_text(event_to_json(row))});
    }
    if (job.version == metrics_version_) return text;
    TRY_ASSIGN(const auto series, new_points(reader, job));
    metrics_version_ = job.version;
    if (series.empty()) return text;
    return text + event_text(ServerSentEvent{.id = position_text(position_),
                                             .event = "metrics",
                                             .data = to_text(series_to_json(series))});
  }

  // A new attempt goes on from a checkpoint: its steps come again, with other values.
  void begin_attempt(const Job& job) {
    if (attempt_ > 0) {
      first_step_ = std::min(first_step_, job.latest_checkpoint.value_or(-1));
      sent_.clear();
      position_.step = first_step_;
    }
    attempt_ = job.attempt;
  }

  Result<std::vector<scheduler::MetricSeries>> new_points(scheduler::Reader& reader,
                                                          const Job& job) {
    for (const auto& [name, value] : job.progress.metrics) sent_.try_emplace(name, first_step_);
    std::vector<scheduler::MetricSeries> all;
    for (auto& [name, step] : sent_) {
      TRY_ASSIGN(auto series, reader.metrics(job_, {.names = {name}, .from_step = step + 1}));
      for (scheduler::MetricSeries& one : series) {
        if (one.points.empty()) continue;
        step = one.points.back().step;
        all.push_back(std::move(one));
      }
    }
    const auto least =
        std::ranges::min_element(sent_, {}, [](const auto& entry) { return entry.second; });
    if (least != sent_.end()) position_.step = least->second;
    return all;
  }

  ReaderPool& readers_;
  const JobId job_;
  StreamPosition position_;
  std::int64_t first_step_;
  std::map<std::string, std::int64_t> sent_;  // last step per metric
  std::int64_t attempt_ = 0;
  std::int64_t metrics_version_ = -1;
  steady_clock::time_point next_look_;
  std::shared_ptr<ResponseStream> stream_;
};

}  // namespace

std::string position_text(const StreamPosition& position) {
  std::string text = std::to_string(position.event);
  if (position.step >= 0) text += '-' + std::to_string(position.step);
  return text;
}

std::optional<StreamPosition> parse_stream_position(std::string_view text) {
  StreamPosition position;
  const char* const end = text.data() + text.size();
  const auto [dash, event_error] = std::from_chars(text.data(), end, position.event);
  if (event_error != std::errc() || position.event < 0) return std::nullopt;
  if (dash == end) return position;
  const auto [stop, step_error] = std::from_chars(dash + 1, end, position.step);
  if (*dash != '-' || step_error != std::errc() || stop != end || position.step < 0) {
    return std::nullopt;
  }
  return position;
}

std::unique_ptr<Watcher> make_event_stream(Backend& backend, const JobId& job,
                                           const StreamPosition& start,
                                           const Responder& responder) {
  auto stream = std::make_unique<EventStream>(*backend.readers, job, start);
  stream->open(responder);
  return stream;
}

}  // namespace trainyard::api
