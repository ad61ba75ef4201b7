#include "api/client/changes.h"

#include <algorithm>

#include "api/client/text.h"

namespace trainyard::client {
namespace {

constexpr std::ptrdiff_t changes_max = 20;  // of those that were before a watch began

std::string line_of(const StateChange& change, bool with_sentence) {
  std::string line = clock_text(change.time) + "  " + std::string(name_of(change.to));
  if (change.attempt > 1) line += " (attempt " + std::to_string(change.attempt) + ")";
  if (!change.reason.empty()) line += "  " + printable(change.reason);
  if (with_sentence && !change.message.empty()) line += ": " + printable(change.message);
  return line;
}

// Whether the job came, or is on its way, to rest from there.
bool leads_to_rest(const JobView& job, std::size_t at) {
  if (job.changes[at].to != JobState::stopping) return false;
  if (at + 1 < job.changes.size()) return is_at_rest(job.changes[at + 1].to);
  return job.goal && is_at_rest(*job.goal);
}

}  // namespace

std::vector<std::string> ChangeLines::next(const JobView& job) {
  std::vector<std::string> lines;
  const auto& changes = job.changes;
  std::ptrdiff_t first = 0;
  if (newest_) {
    const auto told = std::find(changes.rbegin(), changes.rend(), *newest_);
    first = changes.rend() - told;  // 0 when it is not there any more
  }
  if (std::ssize(changes) - first > changes_max) {
    first = std::ssize(changes) - changes_max;
    lines.push_back("(" + grouped(first) + " earlier changes are not shown)");
  }
  for (auto at = static_cast<std::size_t>(first); at < changes.size(); ++at) {
    const StateChange& change = changes[at];
    newest_ = change;
    const bool is_the_end = job.at_rest() && at + 1 == changes.size();
    if (is_the_end) break;
    const bool is_news = change.message != said_ && !leads_to_rest(job, at);
    lines.push_back(line_of(change, is_news));
    if (is_news) said_ = change.message;
  }
  add_fallbacks(job, lines);
  return lines;
}

// "worker/0 computes on the CPU: this host has no NVIDIA driver (..)"
void ChangeLines::add_fallbacks(const JobView& job, std::vector<std::string>& lines) {
  if (job.attempt != attempt_) fallbacks_.clear();
  attempt_ = job.attempt;
  for (const auto& [task, words] : job.routes) {
    if (!words.starts_with("computes on the CPU: ") || fallbacks_.contains(task)) continue;
    lines.push_back(printable(task + " " + words));
    fallbacks_.insert(task);
  }
}

}  // namespace trainyard::client
