// Watching a job over long polls, through answers, refusals and a server that goes away.
#include "api/client/watch.h"

#include <catch2/catch.hpp>

#include "tests/api/client/peer.h"

namespace trainyard::client {
namespace {

std::string job_answer(int version, const std::string& state) {
  return http_answer("200 OK", R"({"id":"j1","version":)" + std::to_string(version) +
                                   R"(,"spec":{"name":"n"},"status":{"state":")" + state +
                                   R"("}})");
}

}  // namespace

TEST_CASE("a watch asks for what is newer than it knows, until the job is at rest", "[client]") {
  Peer peer({job_answer(1, "queued"), job_answer(4, "running"), job_answer(9, "succeeded")});
  Rest rest = Rest::connect(peer.url()).value();

  const Result<JobView> job = watch_job(rest, "j1");

  REQUIRE(job);
  CHECK(job->state == JobState::succeeded);
  const std::vector<std::string> requests = peer.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].starts_with("GET /v1/jobs/j1 "));
  CHECK(requests[1].starts_with("GET /v1/jobs/j1?wait_version=1&timeout_seconds=30 "));
  CHECK(requests[2].starts_with("GET /v1/jobs/j1?wait_version=4&timeout_seconds=30 "));
}

TEST_CASE("a watch outlives a server that is away for a moment", "[client]") {
  Peer peer({job_answer(1, "running"), "", job_answer(2, "failed")});
  Rest rest = Rest::connect(peer.url()).value();

  const Result<JobView> job = watch_job(rest, "j1");

  REQUIRE(job);
  CHECK(job->state == JobState::failed);
}

TEST_CASE("a watch gives up on a server that stays away longer than its patience", "[client]") {
  Peer peer({job_answer(1, "running")});
  Rest rest = Rest::connect(peer.url()).value();

  const Result<JobView> job = watch_job(rest, "j1", Millis{0});

  REQUIRE_FALSE(job);
  CHECK(job.error().code == Code::unavailable);
}

TEST_CASE("a watch of a job that is not there ends at once", "[client]") {
  Peer peer({http_answer("404 Not Found", R"({"detail":"no job j1"})")});
  Rest rest = Rest::connect(peer.url()).value();

  const Result<JobView> job = watch_job(rest, "j1");

  REQUIRE_FALSE(job);
  CHECK(job.error() == not_found("no job j1"));
}

}  // namespace trainyard::client
