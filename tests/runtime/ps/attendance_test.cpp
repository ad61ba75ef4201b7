#include "runtime/ps/attendance.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

constexpr Attendance::Limits limits{.first_worker = seconds(60),
                                    .no_worker = seconds(30),
                                    .return_of_one = seconds(10),
                                    .late_worker = seconds(20)};
constexpr Time start{1000};
constexpr Time at(std::int64_t count) { return start + seconds(count); }

Attendance of_two() { return {limits, 2, start}; }

bool ends_well(const Attendance& attendance, Time now) {
  const auto end = attendance.end(now);
  return end && end->is_good;
}
std::string why_at(const Attendance& attendance, Time now) {
  const auto end = attendance.end(now);
  return end && !end->is_good ? end->why : "";
}

}  // namespace

TEST_CASE("who is never called waits for so long, and no longer", "[attendance]") {
  const Attendance attendance = of_two();
  CHECK_FALSE(attendance.end(at(60)));
  CHECK(why_at(attendance, at(61)) == "no worker ever came");
}

TEST_CASE("a worker that is gone may come back within its limit", "[attendance]") {
  Attendance attendance = of_two();
  attendance.joined(0);
  attendance.joined(1);
  CHECK_FALSE(attendance.end(at(1000)));
  attendance.left(1, at(1000));
  CHECK_FALSE(attendance.end(at(1010)));
  CHECK(why_at(attendance, at(1011)) == "the worker of rank 1 is gone");
  attendance.joined(1);
  CHECK_FALSE(attendance.end(at(2000)));
}

TEST_CASE("when all are gone that were there nobody is waited for long", "[attendance]") {
  Attendance::Limits patient = limits;
  patient.return_of_one = seconds(600);
  Attendance attendance(patient, 2, start);
  attendance.joined(1);
  attendance.left(1, at(5));
  CHECK_FALSE(attendance.end(at(35)));
  CHECK(why_at(attendance, at(36)) == "all workers are gone");
}

TEST_CASE("it ends when the chief has said so and nobody needs it", "[attendance]") {
  Attendance attendance = of_two();
  attendance.joined(0);
  attendance.joined(1);
  attendance.said_goodbye(1);
  attendance.left(1, at(2));
  CHECK_FALSE(attendance.end(at(500)));
  attendance.finished(at(500));
  CHECK_FALSE(attendance.end(at(500)));  // the chief is still there
  attendance.said_goodbye(0);
  CHECK(ends_well(attendance, at(500)));
}

TEST_CASE("after the end it waits for slow starters, but not for ever, nor for the dead",
          "[attendance]") {
  Attendance attendance = of_two();
  attendance.joined(0);
  attendance.finished(at(10));
  attendance.finished(at(15));  // told again
  attendance.said_goodbye(0);
  CHECK_FALSE(attendance.end(at(30)));
  CHECK(ends_well(attendance, at(31)));
  attendance.joined(1);
  attendance.left(1, at(12));
  CHECK(ends_well(attendance, at(12)));
}

}  // namespace trainyard::runtime
