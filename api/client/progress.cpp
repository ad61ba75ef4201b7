#include "api/client/progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "api/client/columns.h"
#include "api/client/quality.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

constexpr std::size_t long_bar = 24;
constexpr std::size_t short_bar = 10;
constexpr std::size_t percent_columns = 5;  // " 100%"
constexpr std::size_t name_columns_min = 12;

std::string bar(double progress, std::size_t columns) {
  const auto done = static_cast<std::size_t>(progress * static_cast<double>(columns));
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) text += i < done ? "━" : "─";
  return text;
}

std::string state_words(const JobView& job) {
  std::string words(name_of(job.state));
  if (job.attempt > 1) words += " (attempt " + std::to_string(job.attempt) + ")";
  return words;
}

std::string step_words(const JobView& job) {
  std::string words = "step " + grouped(job.step);
  if (job.max_steps > 0) words += "/" + grouped(job.max_steps);
  return words;
}

// In the order of what a person would miss first.
std::vector<std::string> measurements(const JobView& job) {
  std::vector<std::string> words;
  if (job.loss) words.push_back("loss " + decimal_text(*job.loss));
  if (job.examples_per_second) {
    words.push_back(grouped(std::llround(*job.examples_per_second)) + " examples/s");
  }
  if (job.eta_seconds && job.state == JobState::running) {
    words.push_back("ETA " + duration_text({std::llround(*job.eta_seconds * 1000)}));
  }
  if (const auto of_test = quality_of(job.metrics, MetricSplit::test)) {
    words.push_back("test " + words_of(*of_test) + " " + decimal_text(of_test->value));
  } else if (const auto of_batch = quality_of(job.metrics, MetricSplit::batch)) {
    words.push_back("batch " + words_of(*of_batch) + " " + decimal_text(of_batch->value));
  }
  words.push_back(step_words(job));
  return words;
}

bool has_trained(const JobView& job) { return job.step > 0; }

std::vector<std::string> parts_of(const JobView& job) {
  if (!has_trained(job)) {
    return job.message.empty() ? std::vector<std::string>{}
                               : std::vector<std::string>{printable(job.message)};
  }
  return measurements(job);
}

std::string percent(double progress) {
  const std::string digits = std::to_string(static_cast<int>(progress * 100));
  return std::string(3 - digits.size(), ' ') + digits + "%";
}

}  // namespace

std::string progress_line(const JobView& job, std::size_t columns) {
  const std::size_t name_columns = std::max(name_columns_min, columns / 3);
  std::string line = shortened(printable(job.name), name_columns);
  if (job.state != JobState::running || job.attempt > 1) line += "  " + state_words(job);
  const std::vector<std::string> parts = parts_of(job);
  const auto fits = [&](std::size_t more) { return width_of(line) + 2 + more <= columns; };
  if (!has_trained(job)) {
    if (!parts.empty() && fits(1)) {
      line += "  " + cut_short(parts.front(), columns - width_of(line) - 2);
    }
    return cut_short(line, columns);
  }
  std::size_t rest = percent_columns;
  for (const std::string& part : parts) rest += 2 + width_of(part);
  const std::size_t bar_columns = fits(long_bar + rest) ? long_bar : short_bar;
  if (fits(bar_columns + percent_columns)) {
    line += "  " + bar(job.progress, bar_columns) + " " + percent(job.progress);
  }
  for (const std::string& part : parts) {
    if (fits(width_of(part))) line += "  " + part;
  }
  return cut_short(line, columns);
}

std::string plain_line(const JobView& job) {
  std::string line = printable(job.name) + " " + state_words(job);
  if (has_trained(job)) line += " " + percent(job.progress);
  for (const std::string& part : parts_of(job)) line += "  " + part;
  return line;
}

std::string closing_words(const JobView& job) {
  std::string words = printable(job.name) + " " + std::string(name_of(job.state));
  if (job.started_at.is_set() && job.finished_at.is_set()) {
    words += " in " + duration_text(job.finished_at - job.started_at);
  }
  std::string separator = ": ";
  const auto add = [&](const std::string& part) {
    words += separator + part;
    separator = ", ";
  };
  if (job.state == JobState::succeeded) {
    const auto quality = quality_of(job.metrics, MetricSplit::test);
    if (quality) add("test " + words_of(*quality) + " " + decimal_text(quality->value));
    const auto loss = job.metric("test_loss");
    if (loss) add("test loss " + decimal_text(*loss));
    if (!quality && !loss && job.loss) add("loss of the last batch " + decimal_text(*job.loss));
    if (has_trained(job)) add(step_words(job));
    return words;
  }
  if (!job.reason.empty()) add(printable(job.reason));
  if (!job.message.empty()) add(printable(job.message));
  if (!job.failure.empty() && !job.failure_is_said)
    words += "\n  first failure: " + printable(job.failure);
  return words;
}

}  // namespace trainyard::client
