#include "agent/core/report_pace.h"

#include <catch2/catch.hpp>

namespace trainyard::agent {
namespace {

AgentReport a_report(std::int64_t number, std::int64_t event_bytes = 1000) {
  TaskReport task;
  task.events_begin = 5000;
  task.events_end = 5000 + event_bytes;
  AgentReport report;
  report.number = number;
  report.tasks = {task};
  return report;
}

AgentReport a_report_of_many_events(std::int64_t number) { return a_report(number, 200'000); }

}  // namespace

TEST_CASE("a report leaves at once by a new stream, then at regular times", "[agent]") {
  ReportPace pace;
  CHECK_FALSE(pace.is_due(Time{0}));
  CHECK(pace.due(Time{700}) == Time{700});
  pace.connected(Time{100});
  CHECK(pace.is_due(Time{100}));
  pace.tried();
  CHECK_FALSE(pace.is_due(Time{100}));
  pace.left(a_report(1), Time{100});
  pace.room_came();
  CHECK(pace.due(Time{5000}) == Time{1100});
  CHECK_FALSE(pace.is_due(Time{1099}));
  CHECK(pace.is_due(Time{1100}));
}

TEST_CASE("what changes is reported soon, what changes at the same time together", "[agent]") {
  ReportPace pace;
  pace.connected(Time{0});
  pace.left(a_report(1), Time{0});
  pace.hurry(Time{4});
  CHECK(pace.due(Time{5000}) == Time{10});
  pace.hurry(Time{600});
  CHECK(pace.due(Time{5000}) == Time{10});
}

TEST_CASE("behind many events no others leave until they, or a later report, are answered",
          "[agent]") {
  ReportPace pace;
  pace.connected(Time{0});
  CHECK(pace.events() == ShownEvents::as_fit);
  pace.left(a_report(1), Time{0});
  CHECK(pace.events() == ShownEvents::as_fit);
  pace.left(a_report_of_many_events(2), Time{1000});
  CHECK(pace.events() == ShownEvents::none);
  CHECK(pace.is_due(Time{2000}));
  pace.left(a_report(3, 0), Time{2000});
  pace.answered(1);
  CHECK(pace.events() == ShownEvents::none);
  pace.answered(2);
  CHECK(pace.events() == ShownEvents::as_fit);
  CHECK(pace.is_answered(2));
  CHECK_FALSE(pace.is_answered(3));

  pace.left(a_report_of_many_events(4), Time{3000});
  pace.left(a_report(5, 0), Time{4000});
  pace.answered(5);  // 4 was dropped
  CHECK(pace.events() == ShownEvents::as_fit);
}

TEST_CASE("while an answer is waited for, what changes is reported less soon", "[agent]") {
  ReportPace pace;
  pace.connected(Time{0});
  pace.left(a_report_of_many_events(1), Time{0});
  pace.hurry(Time{4});
  CHECK(pace.due(Time{5000}) == Time{250});
  pace.answered(1);
  pace.hurry(Time{20});
  CHECK(pace.due(Time{5000}) == Time{20});
}

TEST_CASE("what left by a stream that has ended is not waited for", "[agent]") {
  ReportPace pace;
  pace.connected(Time{0});
  pace.left(a_report_of_many_events(1), Time{0});
  pace.connected(Time{300});
  CHECK(pace.is_due(Time{300}));
  CHECK(pace.events() == ShownEvents::as_fit);
}

}  // namespace trainyard::agent
