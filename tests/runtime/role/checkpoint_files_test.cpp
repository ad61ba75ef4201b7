#include "runtime/role/checkpoint_files.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST_CASE("of the older steps only those to keep stay, and what is newer may be under way",
          "[checkpoint_files]") {
  const TempFolder folder;
  for (const char* const name : {"step-4", "step-5", "step-6", "step-7", "step-x", "other-1"}) {
    fs::create_directories(folder.path(name));
  }
  TaskContext context;
  context.folder = folder.path();
  keep_only_steps(context, {4, 6});
  CHECK(names_in(context.folder).size() == 6);  // the agent's files are the agent's

  context.keep_files = true;
  keep_only_steps(context, {});
  CHECK(names_in(context.folder).size() == 6);
  keep_only_steps(context, {4, 6});
  CHECK(names_in(context.folder) ==
        std::vector<std::string>{"other-1", "step-4", "step-6", "step-7", "step-x"});
}

TEST_CASE("the checkpoints that an agent has still to deliver are those in the task's folder",
          "[checkpoint_files]") {
  const TempFolder folder;
  TaskContext context;
  context.folder = folder.path();
  CHECK(undelivered_checkpoints(context) == 0);
  const auto two_minutes_ago = fs::file_time_type::clock::now() - std::chrono::minutes(2);
  for (const char* const name : {"step-4", "step-5", "step-x", "step-", "other-1"}) {
    fs::create_directories(folder.path(name));
    fs::last_write_time(folder.path(name), two_minutes_ago);
  }
  fs::create_directories(folder.path("step-6"));  // on its way
  CHECK(undelivered_checkpoints(context) == 2);

  context.keep_files = true;  // nobody delivers them
  CHECK(undelivered_checkpoints(context) == 0);
  context = {};
  context.folder = folder.path("none");
  CHECK(undelivered_checkpoints(context) == 0);
}

}  // namespace
}  // namespace trainyard::runtime
