// A job that is to begin from another's checkpoint, of which a file is lost.
#include <catch2/catch.hpp>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

// "k" begins from step 5 of "old", a job that has ended.
struct Heir {
  Heir() {
    yard.join("a");
    Job job;
    job.id = JobId{"k"};
    job.spec = a_spec();
    job.spec.checkpoint.resume_from = "old/5";
    const Checkpoint source{
        JobId{"old"}, 5,    1, CheckpointState::committed, {"m5", 1, "m5"}, {{"s5", 1, "s5"}},
        {},           true, {}};
    REQUIRE(yard.step(Submit{job, source}).outcome);
    REQUIRE(row().state == JobState::starting);
  }

  Job& row() { return yard.job("k"); }

  void lose(const std::string& file) { yard.step(ArtifactLost{JobId{"old"}, file}); }

  void end_all(ExitStatus exit) {
    for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, exit);
  }

  void commit_own() {
    yard.tell("a", "worker/0", ManifestEvent{9, {"m9", 1, "m9"}, {{"s9", 1, "s9"}}, {}, false});
    for (const char* file : {"m9", "s9"}) yard.step(ArtifactStored{JobId{"k"}, file});
  }

  void check_failed() {
    CHECK(row().state == JobState::failed);
    CHECK(row().reason == Reason::checkpoint_lost);
    CHECK(row().message ==
          "the checkpoint old/5 that resume_from names is lost: a file of it is gone or damaged");
    CHECK(row().finished_at.is_set());
  }

  Yard yard;
};

}  // namespace

TEST_CASE("a job whose source is lost fails when its gang is gone, and not at step 0",
          "[scheduler][lost_source]") {
  Heir heir;
  heir.yard.obey("a");
  heir.lose("s5");
  CHECK(heir.yard.checkpoints.at(5).state == CheckpointState::deleted);
  CHECK(heir.row().state == JobState::running);  // it has read its files
  heir.end_all({1, {}});
  heir.check_failed();
}

TEST_CASE("a job that waits for its next attempt fails at once when its source is lost",
          "[scheduler][lost_source]") {
  Heir heir;
  heir.yard.obey("a");
  heir.end_all({1, {}});
  REQUIRE(heir.row().state == JobState::queued);
  heir.lose("of no checkpoint");
  CHECK(heir.row().state == JobState::queued);
  heir.lose("m5");
  heir.check_failed();
  CHECK(heir.yard.step(DeleteJob{JobId{"old"}}).outcome);  // nobody names it any more
}

TEST_CASE("a suspended job fails when its source is lost, and one that is being suspended",
          "[scheduler][lost_source]") {
  const bool is_gone_before = GENERATE(true, false);
  Heir heir;
  REQUIRE(heir.yard.act("k", JobAction::suspend));
  if (is_gone_before) {
    heir.yard.obey("a");
    REQUIRE(heir.row().state == JobState::suspended);
  }
  heir.lose("s5");
  if (!is_gone_before) heir.yard.obey("a");
  heir.check_failed();
}

TEST_CASE("a job that has a checkpoint of its own needs its source no longer",
          "[scheduler][lost_source]") {
  Heir heir;
  heir.yard.obey("a");
  heir.commit_own();
  REQUIRE(heir.row().latest_checkpoint == 9);
  heir.lose("s5");
  heir.end_all({1, {}});
  CHECK(heir.row().state == JobState::queued);
  heir.yard.pass(seconds(5));
  CHECK(heir.row().state == JobState::starting);
  CHECK(heir.row().progress.step == 9);
}

TEST_CASE("a server that starts again knows that a source is lost", "[scheduler][lost_source]") {
  Heir heir;
  heir.yard.obey("a");
  heir.lose("s5");
  heir.yard.restart();
  heir.yard.speak("a");
  REQUIRE(heir.row().state == JobState::running);
  heir.end_all({1, {}});
  heir.check_failed();
}

}  // namespace trainyard::scheduler
