#include "agent/core/report_pace.h"

#include <catch2/catch.hpp>

namespace trainyard::agent {
namespace {

AgentReport a_report(std::int64_t number, std::int64_t event_bytes) {
  TaskReport task;
  task.events_begin = 5000;
  task.events_end = 5000 + event_bytes;
  AgentReport report;
  report.number = number;
  report.tasks = {task};
  return report;
}

AgentReport of_few_events(std::int64_t number) { return a_report(number, 1000); }
AgentReport of_many_events(std::int64_t number) { return a_report(number, 200'000); }

}  // namespace

TEST_CASE("a report leaves at once by a new stream, then at regular times", "[agent]") {
  ReportPace pace;
  CHECK_FALSE(pace.is_due(Time{0}));
  CHECK(pace.due(Time{700}) == Time{700});
  pace.connected(Time{100});
  CHECK(pace.is_due(Time{100}));
  pace.tried();
  CHECK_FALSE(pace.is_due(Time{100}));
  pace.left(of_few_events(1), Time{100});
  pace.room_came();
  pace.answered(1);
  CHECK(pace.due(Time{5000}) == Time{1100});
  CHECK_FALSE(pace.is_due(Time{1099}));
  CHECK(pace.is_due(Time{1100}));
}

TEST_CASE("what changes is reported soon, what changes at the same time together", "[agent]") {
  ReportPace pace;
  pace.connected(Time{0});
  pace.left(of_few_events(1), Time{0});
  pace.answered(1);
  pace.hurry(Time{4});
  CHECK(pace.due(Time{5000}) == Time{10});
  pace.hurry(Time{600});
  CHECK(pace.due(Time{5000}) == Time{10});
}

TEST_CASE("behind many events a report waits for the answer, but not for ever", "[agent]") {
  ReportPace pace;
  pace.connected(Time{0});
  pace.left(of_few_events(1), Time{0});
  pace.hurry(Time{500});
  CHECK(pace.is_due(Time{500}));
  pace.left(of_many_events(2), Time{1000});
  pace.hurry(Time{1500});
  pace.answered(1);
  CHECK_FALSE(pace.is_due(Time{3999}));
  CHECK(pace.is_due(Time{4000}));

  pace.answered(2);
  CHECK(pace.is_due(Time{1500}));
  CHECK(pace.is_answered(2));
  CHECK_FALSE(pace.is_answered(3));
}

TEST_CASE("what left by a stream that has ended is not waited for", "[agent]") {
  ReportPace pace;
  pace.connected(Time{0});
  pace.left(of_many_events(1), Time{0});
  pace.connected(Time{300});
  CHECK(pace.is_due(Time{300}));
}

}  // namespace trainyard::agent
