#include "agent/host/workdir.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "agent/process/lease_file.h"
#include "agent/process/process_table.h"
#include "agent/process/task_records.h"
#include "schemas/files/whole_file.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

TaskKey a_task(const std::string& job, std::int64_t index = 0) {
  return {.job = JobId{job}, .attempt = 2, .role = Role::ps, .index = index};
}

// A child in a group of its own that waits to be killed; its parent is this test, not an agent.
pid_t start_sleeper(const std::string& folder) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::chdir(folder.c_str()) != 0) ::_exit(1);
    ::setsid();
    while (true) ::pause();
  }
  REQUIRE(eventually([&] { return ::getpgid(pid) == pid; }));
  return pid;
}

}  // namespace

TEST_CASE("the epoch grows with each start, whatever was there before", "[workdir]") {
  const TempFolder folder;
  std::int64_t last = 0;
  for (int start = 0; start < 3; ++start) {
    const auto workdir = Workdir::open(folder.path("agent"));
    REQUIRE(workdir);
    CHECK(workdir->epoch() > last);
    last = workdir->epoch();
  }

  write_content(folder.path("agent/epoch"), "99999999999\n");
  CHECK(Workdir::open(folder.path("agent"))->epoch() == 100000000000);
  write_content(folder.path("agent/epoch"), "5\n");
  // A folder from long ago: the clock is ahead of it.
  CHECK(Workdir::open(folder.path("agent"))->epoch() >= last - 3);
  write_content(folder.path("agent/epoch"), "soon\n");
  CHECK_FALSE(Workdir::open(folder.path("agent")));
}

namespace {

// On a small disk of its own, in a namespace; what `use` says, or nothing where that may not be.
std::optional<bool> on_small_disk(const std::function<bool(const std::string& folder)>& use) {
  constexpr int not_allowed = 77;
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_mounted = ::unshare(CLONE_NEWNS) == 0 &&
                            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                            ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") == 0;
    ::_exit(is_mounted ? (use(folder.path()) ? 0 : 1) : not_allowed);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_allowed) return std::nullopt;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether no byte more can be written there.
bool fill(const std::string& folder) {
  std::ofstream file(folder + "/filler");
  const std::string block(4096, 'f');
  while (file.write(block.data(), 4096) && file.flush()) {
  }
  return !write_file(folder + "/more", "x");
}

}  // namespace

TEST_CASE("an agent starts anew on a disk that is full, with a larger epoch", "[workdir]") {
  const auto works = on_small_disk([](const std::string& folder) {
    const auto first = Workdir::open(folder)->epoch();
    if (!LeaseFile::open(Workdir::lease_file_of(folder)) || !fill(folder)) return false;
    const auto second = Workdir::open(folder);
    if (!second || second->epoch() <= first || !LeaseFile::open(second->lease_file())) return false;
    const auto third = Workdir::open(folder);
    return !third && third.error().code == Code::conflict;  // the second is there still
  });
  if (works) {
    CHECK(*works);
  } else {
    WARN("not checked: a disk of its own cannot be mounted here");
  }
}

TEST_CASE("a work folder keeps the name that it was given when it was made", "[workdir]") {
  const TempFolder folder;
  const std::string instance = Workdir::open(folder.path("one"))->instance();
  CHECK(is_id(instance));
  CHECK(Workdir::open(folder.path("one"))->instance() == instance);
  CHECK(Workdir::open(folder.path("two"))->instance() != instance);

  std::filesystem::copy(folder.path("one"), folder.path("copy"),
                        std::filesystem::copy_options::recursive);
  const std::string copied = Workdir::open(folder.path("copy"))->instance();
  CHECK(copied != instance);
  CHECK(Workdir::open(folder.path("copy"))->instance() == copied);
}

TEST_CASE("two agents never share a work folder", "[workdir]") {
  const TempFolder folder;
  const auto first = Workdir::open(folder.path());
  REQUIRE(first);

  const auto second = Workdir::open(folder.path());

  REQUIRE_FALSE(second);
  CHECK(second.error().code == Code::conflict);
}

TEST_CASE("task folders are made, and go with what their attempt shared", "[workdir]") {
  const TempFolder folder;
  const auto workdir = Workdir::open(folder.path());
  REQUIRE(workdir);
  const auto first = workdir->make_task_folder(a_task("j-1", 0));
  const auto second = workdir->make_task_folder(a_task("j-1", 1));
  REQUIRE(first);
  REQUIRE(second);
  const std::string attempt = std::filesystem::canonical(folder.path()).string() + "/tasks/j-1/2";
  CHECK(*first == attempt + "/ps-0");
  write_content(workdir->restore_folder(a_task("j-1")) + "/step-1/manifest.json", "{}");

  workdir->remove_task_folder(a_task("j-1", 0));
  CHECK_FALSE(std::filesystem::exists(*first));
  CHECK(std::filesystem::exists(attempt + "/restore/step-1/manifest.json"));

  workdir->remove_task_folder(a_task("j-1", 1));
  CHECK(std::filesystem::is_empty(folder.path("tasks")));
}

TEST_CASE("a job id that is a path is refused", "[workdir]") {
  const TempFolder folder;
  const auto workdir = Workdir::open(folder.path("agent"));
  REQUIRE(workdir);
  for (const char* id : {"", ".", "..", "../../other", "a/b", "/etc", "a b", "\n"}) {
    CHECK_FALSE(workdir->make_task_folder(a_task(id)));
    workdir->remove_task_folder(a_task(id));
  }
  CHECK(std::filesystem::exists(folder.path("agent/tasks")));
}

TEST_CASE("a process that an earlier agent left behind is ended, and its folder removed",
          "[workdir]") {
  const TempFolder folder;
  std::string task;
  {
    const auto workdir = Workdir::open(folder.path());
    REQUIRE(workdir->make_task_folder(a_task("j-1")));
    task = workdir->task_folder(a_task("j-1"));
  }
  const pid_t left_behind = start_sleeper(task);  // without the folder's lock
  REQUIRE(TaskRecords(task).write_process(*name_process(left_behind)));

  const auto workdir = Workdir::open(folder.path());

  REQUIRE(workdir);
  REQUIRE(workdir->end_leftovers({}));
  int status = 0;
  REQUIRE(::waitpid(left_behind, &status, 0) == left_behind);
  CHECK(WIFSIGNALED(status));
  CHECK(std::filesystem::is_empty(folder.path("tasks")));
}

TEST_CASE(
    "a task that is kept keeps its folder and what its attempt shares, the others lose theirs",
    "[workdir]") {
  const TempFolder folder;
  const auto workdir = Workdir::open(folder.path());
  REQUIRE(workdir);
  TaskKey another = a_task("j-1", 3);
  another.attempt = 7;
  for (const TaskKey& key : {a_task("j-1", 0), a_task("j-1", 1), another, a_task("j-2")}) {
    REQUIRE(workdir->make_task_folder(key));
    write_content(workdir->restore_folder(key) + "/shard", "bytes");
  }
  write_content(folder.path("tasks/stray"), "no task");

  REQUIRE(workdir->end_leftovers({a_task("j-1", 1)}));

  CHECK(workdir->task_folders() == std::vector{workdir->task_folder(a_task("j-1", 1))});
  CHECK(std::filesystem::exists(workdir->restore_folder(a_task("j-1", 1)) + "/shard"));
  CHECK_FALSE(std::filesystem::exists(folder.path("tasks/j-1/7")));
  CHECK_FALSE(std::filesystem::exists(folder.path("tasks/j-2")));
  CHECK_FALSE(std::filesystem::exists(folder.path("tasks/stray")));
}

TEST_CASE("links among the tasks are removed, and what they lead to is left alone", "[workdir]") {
  const TempFolder folder;
  const TempFolder other;
  const auto workdir = Workdir::open(folder.path());
  REQUIRE(workdir);
  write_content(other.path("1/ps-0/file"), "another's");
  REQUIRE(workdir->make_task_folder(a_task("j-1")));
  std::filesystem::create_directory_symlink(other.path(), folder.path("tasks/all"));
  std::filesystem::create_directory_symlink("j-1", folder.path("tasks/same"));
  std::filesystem::create_directory_symlink(other.path("1"), folder.path("tasks/j-1/7"));

  CHECK(workdir->task_folders() == std::vector{workdir->task_folder(a_task("j-1"))});
  REQUIRE(workdir->end_leftovers({a_task("j-1")}));

  CHECK(content_of(other.path("1/ps-0/file")) == "another's");
  CHECK(std::filesystem::exists(workdir->task_folder(a_task("j-1"))));
  CHECK_FALSE(std::filesystem::exists(folder.path("tasks/all")));
  CHECK_FALSE(std::filesystem::exists(folder.path("tasks/same")));
  CHECK_FALSE(std::filesystem::exists(folder.path("tasks/j-1/7")));
}

TEST_CASE("a folder that an agent was at removing is of no task any more", "[workdir]") {
  const TempFolder folder;
  const auto workdir = Workdir::open(folder.path());
  REQUIRE(workdir);
  const TaskKey key = a_task("j-1");
  REQUIRE(workdir->make_task_folder(key));
  std::filesystem::rename(workdir->task_folder(key), workdir->task_folder(key) + ".gone");
  CHECK(workdir->task_folders() == std::vector{workdir->task_folder(key) + ".gone"});
  REQUIRE(workdir->end_leftovers({key}));
  CHECK(workdir->task_folders().empty());
}

TEST_CASE("a pid that has become somebody else's is left alone", "[workdir]") {
  const TempFolder folder;
  const pid_t bystander = start_sleeper("/");
  const auto info = find_process(bystander);
  REQUIRE(info);
  const std::string pid = std::to_string(bystander);
  // Another start time: the number was reused. Another boot: it means nothing at all.
  write_content(folder.path("tasks/j-1/1/ps-0/process"),
                pid + " " + std::to_string(info->start_ticks - 1) + " " + this_boot() + "\n");
  write_content(folder.path("tasks/j-1/1/ps-1/process"),
                pid + " " + std::to_string(info->start_ticks) + " another-boot\n");
  write_content(folder.path("tasks/j-1/1/ps-2/process"), "nonsense");
  // Its very name, but it works elsewhere: a record of somebody else, or a copy.
  for (const char* name : {"process", "shim"}) {
    write_content(folder.path("tasks/j-1/1/ps-3/") + name,
                  pid + " " + std::to_string(info->start_ticks) + " " + this_boot() + " 0 5\n");
  }

  REQUIRE(Workdir::open(folder.path())->end_leftovers({}));

  CHECK(::waitpid(bystander, nullptr, WNOHANG) == 0);  // still there
  ::kill(bystander, SIGKILL);
  ::waitpid(bystander, nullptr, 0);
}

TEST_CASE("what a leader that has ended left in its group is ended, too", "[workdir][mend-C]") {
  const TempFolder folder;
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setsid();
    if (::fork() == 0) {
      while (true) ::pause();
    }
    while (true) ::pause();
  }
  REQUIRE(eventually([&] { return running_in_group(leader).size() == 2; }));
  {
    const auto workdir = Workdir::open(folder.path());
    REQUIRE(workdir->make_task_folder(a_task("j-1")));
    REQUIRE(TaskRecords(workdir->task_folder(a_task("j-1"))).write_process(*name_process(leader)));
  }
  ::kill(leader, SIGKILL);
  REQUIRE(::waitpid(leader, nullptr, 0) == leader);
  REQUIRE_FALSE(find_process(leader));
  REQUIRE(running_in_group(leader).size() == 1);

  const auto workdir = Workdir::open(folder.path());

  REQUIRE(workdir);
  const Status ended = workdir->end_leftovers({});
  const auto left = running_in_group(leader);
  ::kill(-leader, SIGKILL);
  CHECK(ended);
  CHECK(left.empty());
}

}  // namespace trainyard::agent
