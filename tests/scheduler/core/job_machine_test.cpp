#include "scheduler/core/job_machine.h"

#include <catch2/catch.hpp>
#include <map>
#include <utility>
#include <vector>

namespace trainyard::scheduler {
namespace {

using enum JobState;

const std::vector<JobState> all_states{queued,    starting, running,   stopping,
                                       succeeded, failed,   cancelled, suspended};
const std::vector<JobEvent> all_events{JobEvent::gang_placed, JobEvent::all_running, JobEvent::stop,
                                       JobEvent::gang_gone, JobEvent::resume};

}  // namespace

TEST_CASE("every pair of state and event leads where the drawing says, or nowhere", "[scheduler]") {
  const std::map<std::pair<JobState, JobEvent>, JobState> drawing{
      {{queued, JobEvent::gang_placed}, starting},  {{queued, JobEvent::stop}, stopping},
      {{starting, JobEvent::all_running}, running}, {{starting, JobEvent::stop}, stopping},
      {{running, JobEvent::stop}, stopping},        {{suspended, JobEvent::stop}, stopping},
      {{suspended, JobEvent::resume}, queued},
  };
  for (const JobState state : all_states) {
    for (const JobEvent event : all_events) {
      for (const JobState goal : all_states) {
        const auto arrow = drawing.find({state, event});
        std::optional<JobState> expected;
        if (arrow != drawing.end()) expected = arrow->second;
        if (state == stopping && event == JobEvent::gang_gone && is_goal(goal)) expected = goal;
        INFO(name_of(state) << " with goal " << name_of(goal));
        CHECK(next(state, event, goal) == expected);
      }
    }
  }
}

TEST_CASE("nothing leads out of a terminal state", "[scheduler]") {
  for (const JobState state : {succeeded, failed, cancelled}) {
    for (const JobEvent event : all_events) {
      for (const JobState goal : all_states) CHECK_FALSE(next(state, event, goal));
    }
  }
}

TEST_CASE("every ending goes through stopping", "[scheduler]") {
  for (const JobState state : all_states) {
    for (const JobEvent event : all_events) {
      const auto to = next(state, event, failed);
      if (to && is_terminal(*to)) CHECK(state == stopping);
    }
  }
}

}  // namespace trainyard::scheduler
