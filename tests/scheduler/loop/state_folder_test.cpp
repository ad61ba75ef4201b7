// A state folder and its database belong together: one that was emptied, moved away or exchanged is
// refused at start, and nothing is lost by starting all the same.
#include "scheduler/loop/state_folder.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "scheduler/loop/sweeper.h"
#include "scheduler/store/artifacts.h"
#include "schemas/files/folder.h"
#include "schemas/files/whole_file.h"
#include "tests/scheduler/loop/yard.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace fs = std::filesystem;

namespace {

// A state folder with one job, its artifact and its log, as a server left it.
struct Full {
  TempFolder folder;
  JobId job;

  Full() {
    const auto scheduler = value_of(start());
    const Submitted submitted = value_of(
        answer_to<Submitted>([&](auto done) { scheduler->submit(a_request(), std::move(done)); }));
    job = submitted.job.id;
    for (const char* kind : {"artifacts", "logs"}) {
      value_of(make_folders(path(kind) + "/" + job.text));
      std::ofstream(path(kind) + "/" + job.text + "/file") << kind;
    }
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder.path("state/" + name);
  }
  Result<std::unique_ptr<Scheduler>> start(bool adopt = false) {
    return Scheduler::start(
        {.state_dir = folder.path("state"), .agent_address = "127.0.0.1:0", .adopt_state = adopt});
  }
  void remove_database() {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path("trainyard.db") + suffix);
  }
  void execute(const std::string& sql) {
    Db db = value_of(Db::open(path("trainyard.db"), Access::read_write));
    value_of(db.execute(sql));
  }
  [[nodiscard]] bool has_files() const {
    return fs::exists(path("artifacts/" + job.text + "/file")) &&
           fs::exists(path("logs/" + job.text + "/file"));
  }
};

void check_refused(Full& full) {
  const auto refused = full.start();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::conflict);
  CHECK_THAT(refused.error().message, Catch::Contains("--adopt-state"));
  CHECK_THAT(refused.error().message, Catch::Contains(full.path("lost+found")));
  CHECK(full.has_files());
  CHECK_FALSE(fs::exists(full.path("lost+found")));
}

}  // namespace

TEST_CASE("a database that is not the state folder's is refused, nothing is swept [mend-A4]",
          "[loop]") {
  Full full;

  SECTION("moved aside") {
    fs::rename(full.path("trainyard.db"), full.path("aside.db"));
    check_refused(full);
    CHECK_FALSE(fs::exists(full.path("trainyard.db")));  // there is none to be put back over

    fs::rename(full.path("aside.db"), full.path("trainyard.db"));
    CHECK(full.start());
  }
  SECTION("emptied") {
    full.remove_database();
    std::ofstream(full.path("trainyard.db"));
    check_refused(full);
  }
  SECTION("new") {
    full.remove_database();
    value_of(Store::open(full.path("trainyard.db")));
    check_refused(full);
  }
  SECTION("of another folder") {
    Full other;
    full.remove_database();
    fs::copy_file(other.path("trainyard.db"), full.path("trainyard.db"));
    check_refused(full);
  }
  SECTION("its own, but the folder's id is damaged") {
    std::ofstream(full.path("id")) << "nonsense";
    const auto refused = full.start();
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::Contains(full.path("id")));
    CHECK(full.has_files());
  }
}

TEST_CASE("--adopt-state starts all the same, and what is unknown is kept aside [mend-A4]",
          "[loop]") {
  Full full;
  full.remove_database();

  auto scheduler = value_of(full.start(true));

  CHECK(eventually([&] { return !full.has_files(); }));
  CHECK(eventually([&] {
    return fs::exists(full.path("lost+found/artifacts-" + full.job.text + "/file")) &&
           fs::exists(full.path("lost+found/logs-" + full.job.text + "/file"));
  }));
  scheduler.reset();
  CHECK(full.start());  // they belong together now
}

TEST_CASE("a database whose rows are gone loses no file [mend-A4]", "[loop]") {
  Full full;
  full.execute("PRAGMA foreign_keys = ON; DELETE FROM jobs");

  const auto scheduler = value_of(full.start());

  CHECK(eventually(
      [&] { return fs::exists(full.path("lost+found/artifacts-" + full.job.text + "/file")); }));
}

TEST_CASE("a database of before belongs to the folder whose jobs it knows [mend-A4]", "[loop]") {
  Full full;
  full.execute("DELETE FROM state_folder");
  fs::remove(full.path("id"));

  SECTION("it knows them") {
    CHECK(full.start());
    CHECK(full.start());
    CHECK(full.has_files());
  }
  SECTION("it does not") {
    full.execute("PRAGMA foreign_keys = ON; DELETE FROM jobs");
    check_refused(full);
  }
  SECTION("it is that of a server which was killed between the two ids") {
    std::ofstream(full.path("id")) << std::string(32, 'a') << "\n";
    CHECK(full.start());
    CHECK(full.has_files());
  }
}

TEST_CASE("a young file is looked at again, and goes after its grace [mend-C]", "[loop]") {
  Full full;
  Artifacts artifacts(full.path("artifacts"));
  const std::string content = "no manifest names it";
  const std::string sha256 = sha256_hex(content);
  ArtifactUpload upload =
      value_of(artifacts.resume(full.job, {"f", std::ssize(content), sha256}, 0));
  value_of(upload.append(content));
  value_of(upload.finish());
  const Millis grace{1500};
  Sweep sweep = value_of(Sweep::open(full.path("trainyard.db"),
                                     {.artifacts = full.path("artifacts"),
                                      .logs = full.path("logs"),
                                      .lost_and_found = full.path("lost+found")},
                                     grace));
  Sweeper sweeper(std::move(sweep), grace, [](const JobId&) {});

  sweeper.start();

  CHECK(eventually([&] { return !artifacts.open(full.job, sha256); }));
}
