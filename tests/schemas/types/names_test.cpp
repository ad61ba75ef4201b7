// Every enum has a name for every value, no two the same, and each name leads back.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "schemas/types/agent.h"
#include "schemas/types/job.h"
#include "schemas/types/reason.h"
#include "schemas/types/task.h"

using namespace trainyard;

namespace {

// `last`: the enum's last value; those before it are its others.
template <class Enum, class FromName>
void check_names(Enum last, FromName from_name) {
  std::set<std::string> names;
  for (int value = 0; value <= static_cast<int>(last); ++value) {
    const std::string name(name_of(static_cast<Enum>(value)));
    INFO(value << " " << name);
    CHECK_FALSE(name.empty());
    CHECK(names.insert(name).second);
    CHECK(from_name(name) == static_cast<Enum>(value));
  }
  CHECK(from_name("no such name") == std::nullopt);
  CHECK(from_name("") == std::nullopt);
}

}  // namespace

TEST_CASE("roles and states have names that lead back to them", "[types]") {
  check_names(Role::evaluator, role_from);
  check_names(TaskState::lost, task_state_from);
  check_names(JobState::suspended, job_state_from);
  check_names(AgentState::down, agent_state_from);
}

TEST_CASE("every reason but none has an upper-case name that leads back, and a class", "[types]") {
  std::set<std::string> names;
  for (int value = 1; value <= static_cast<int>(Reason::stopped_with_gang); ++value) {
    const auto reason = static_cast<Reason>(value);
    const std::string name(name_of(reason));
    INFO(value << " " << name);
    CHECK_FALSE(name.empty());
    CHECK(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos);
    CHECK(names.insert(name).second);
    CHECK(reason_from(name) == reason);
    const bool normal_end = reason == Reason::completed || reason == Reason::stopped_with_gang;
    CHECK((class_of(reason) == ReasonClass::none) == normal_end);
  }
  CHECK(name_of(Reason::none).empty());
  CHECK(reason_from("NO_SUCH_REASON") == Reason::none);
  CHECK(name_of(ReasonClass::policy) == "POLICY");
}

TEST_CASE("only what can never change again is terminal", "[types]") {
  for (const JobState state : {JobState::succeeded, JobState::failed, JobState::cancelled}) {
    CHECK(is_terminal(state));
  }
  for (const JobState state : {JobState::queued, JobState::starting, JobState::running,
                               JobState::stopping, JobState::suspended}) {
    CHECK_FALSE(is_terminal(state));
  }
  CHECK(is_terminal(TaskState::lost));
  CHECK_FALSE(is_terminal(TaskState::stopping));
}
