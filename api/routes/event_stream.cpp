// The event stream's watcher.
#include "api/routes/event_stream.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "api/routes/render.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

using std::chrono::steady_clock;

constexpr std::int64_t rows_at_once = 200;
constexpr std::int64_t steps_at_once = 200;  // some 12 KiB of text for each series
constexpr int pages_per_look = 32;           // a long history must not keep other watchers waiting
constexpr std::chrono::milliseconds slow_client_pause{200};
constexpr std::chrono::seconds unpoked_pause{30};

class EventStream : public Watcher {
 public:
  EventStream(ReaderPool& readers, JobId job, const StreamPosition& start)
      : readers_(readers), job_(std::move(job)), position_(start) {}

  void open(const Responder& responder, const Watchers::Poke& poke) {
    stream_ = responder.stream({}, poke);
  }

  Next look() override {
    next_look_ = steady_clock::now() + unpoked_pause;
    for (int page = 0; page < pages_per_look; ++page) {
      if (stream_->gone()) return Next::done;
      if (stream_->waiting_bytes() > 0 || !stream_->has_room()) {
        next_look_ = steady_clock::now() + slow_client_pause;
        return Next::keep;
      }
      const auto text = readers_.read([this](scheduler::Reader& reader) { return news(reader); });
      if (!text) return Next::done;  // the job was deleted: the stream ends with its watcher
      if (text->empty()) return Next::keep;
      stream_->write(*text);
      if (position_.at_end) {
        stream_->finish();
        return Next::done;
      }
    }
    next_look_ = steady_clock::now();
    return stream_->gone() ? Next::done : Next::keep;
  }

  [[nodiscard]] steady_clock::time_point look_at() const override { return next_look_; }
  void stop() override { stream_->finish(); }

 private:
  // What is new since the last call, a page of it, as event-stream text; "" when nothing is.
  Result<std::string> news(scheduler::Reader& reader) {
    TRY_ASSIGN(const Job job, reader.job(job_));
    if (job.attempt != position_.attempt) TRY(begin_attempt(reader, job.attempt));
    TRY_ASSIGN(const auto rows, reader.events(job_, position_.event, rows_at_once));
    std::string text;
    for (const scheduler::JobEventRow& row : rows) {
      position_.event = row.id;
      text += event_text(ServerSentEvent{
          .id = position_text(position_), .event = row.kind, .data = to_text(event_to_json(row))});
    }
    if (job.version == metrics_version_) return text.empty() ? end_of(job) : text;
    TRY_ASSIGN(const auto page, reader.metric_page(job_, {.from_step = position_.step + 1,
                                                          .steps_max = steps_at_once}));
    if (!page.has_more) metrics_version_ = job.version;
    if (page.series.empty()) return text.empty() ? end_of(job) : text;
    position_.step = *page.last_step;
    return text + event_text(ServerSentEvent{.id = position_text(position_),
                                             .event = "metrics",
                                             .data = series_to_text(page.series)});
  }

  // The last event of a job that has ended, when all was sent; "" for others.
  std::string end_of(const Job& job) {
    if (!is_terminal(job.state)) return "";
    position_.at_end = true;
    return event_text(ServerSentEvent{.id = position_text(position_),
                                      .event = "end",
                                      .data = to_text({{"state", name_of(job.state)}})});
  }

  // A new attempt goes on from a checkpoint: the steps behind it come again, with other values.
  Status begin_attempt(scheduler::Reader& reader, std::int64_t attempt) {
    TRY_ASSIGN(const auto from, reader.rewound_to(job_, position_.attempt));
    if (from) position_.step = std::min(position_.step, *from);
    position_.attempt = attempt;
    metrics_version_ = -1;
    return ok();
  }

  ReaderPool& readers_;
  const JobId job_;
  StreamPosition position_;
  std::int64_t metrics_version_ = -1;  // of the job when all its points had been sent
  steady_clock::time_point next_look_;
  std::shared_ptr<ResponseStream> stream_;
};

// "-7" at the front of the text, which it is taken from.
bool take_number(std::string_view& text, std::int64_t& number) {
  if (!text.starts_with('-')) return false;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, number);
  text = {stop, static_cast<std::size_t>(end - stop)};
  return error == std::errc() && number >= 0;
}

}  // namespace

std::string position_text(const StreamPosition& position) {
  if (position.at_end) return "end";
  const std::string event = std::to_string(position.event);
  if (position.step < 0) return event;
  return event + '-' + std::to_string(position.attempt) + '-' + std::to_string(position.step);
}

std::optional<StreamPosition> parse_stream_position(std::string_view text) {
  StreamPosition position;
  position.at_end = text == "end";
  if (position.at_end) return position;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, position.event);
  if (error != std::errc() || position.event < 0) return std::nullopt;
  text = {stop, static_cast<std::size_t>(end - stop)};
  if (text.empty()) return position;
  const bool is_whole = take_number(text, position.attempt) && take_number(text, position.step);
  return is_whole && text.empty() ? std::optional(position) : std::nullopt;
}

std::unique_ptr<Watcher> make_event_stream(Backend& backend, const JobId& job,
                                           const StreamPosition& start, const Responder& responder,
                                           const Watchers::Poke& poke) {
  auto stream = std::make_unique<EventStream>(*backend.readers, job, start);
  stream->open(responder, poke);
  return stream;
}

}  // namespace trainyard::api
