#include "agent/core/report_pace.h"

#include <algorithm>

namespace trainyard::agent {
namespace {

constexpr Millis heartbeat_interval{1000};
constexpr Millis coalescing_time{
    10};  // from a report to the next: what changes meanwhile leaves together
// A server whose inbox is full lets a report fall and does not answer it.
constexpr Millis answer_patience = heartbeat_interval * 3;
// To read so much again costs a server next to nothing.
constexpr std::int64_t many_events_bytes = 8 << 10;

std::int64_t event_bytes_of(const AgentReport& report) {
  std::int64_t bytes = 0;
  for (const TaskReport& task : report.tasks) bytes += task.events_end - task.events_begin;
  return bytes;
}

}  // namespace

void ReportPace::connected(Time now) {
  has_room_ = true;
  awaited_ = 0;
  wanted_at_ = now;
}

void ReportPace::hurry(Time now) {
  wanted_at_ = std::min(wanted_at_, std::max(now, left_at_ + coalescing_time));
}

void ReportPace::left(const AgentReport& report, Time now) {
  awaited_ = event_bytes_of(report) >= many_events_bytes ? report.number : 0;
  left_at_ = now;
  wanted_at_ = now + heartbeat_interval;
}

void ReportPace::answered(std::int64_t number) {
  answered_ = std::max(answered_, number);
  if (answered_ >= awaited_) awaited_ = 0;
}

Time ReportPace::due(Time latest) const { return has_room_ ? std::min(latest, next()) : latest; }

Time ReportPace::next() const {
  return awaited_ == 0 ? wanted_at_ : std::max(wanted_at_, left_at_ + answer_patience);
}

}  // namespace trainyard::agent
