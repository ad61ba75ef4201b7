// Who gets a file of which an upload is going on already.
#include "scheduler/loop/uploads.h"

#include <catch2/catch.hpp>

#include "schemas/files/folder.h"
#include "schemas/files/sha256.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

const std::string content = "weights of a layer";
const TaskKey first_attempt{.job = JobId{"j-1"}, .attempt = 1, .role = Role::ps, .index = 0};
const TaskKey second_attempt{.job = JobId{"j-1"}, .attempt = 2, .role = Role::ps, .index = 0};

struct Shelf {
  TempFolder folder;
  Artifacts artifacts{folder.path("artifacts")};
  Uploads uploads{artifacts};
  Shelf() { value_of(make_folders(folder.path("artifacts"))); }

  Result<std::shared_ptr<OpenUpload>> begin(const TaskKey& task, std::int64_t offset) {
    return uploads.begin({.task = task,
                          .file = {.name = "step-8/shard",
                                   .bytes = std::ssize(content),
                                   .sha256 = sha256_hex(content)},
                          .offset = offset});
  }
};

}  // namespace

TEST_CASE(
    "a stuck upload makes room for a later one of its task or of the next attempt, to go on there",
    "[loop][uploads]") {
  const TaskKey next = GENERATE(first_attempt, second_attempt);
  Shelf shelf;
  const auto stuck = value_of(shelf.begin(first_attempt, 0));
  value_of(stuck->append(content.substr(0, 7)));

  const auto later = value_of(shelf.begin(next, 7));

  CHECK(stuck->append(content.substr(7)).error().code == Code::conflict);
  CHECK(stuck->finish().error().code == Code::conflict);
  value_of(later->append(content.substr(7)));
  CHECK(value_of(later->finish()).complete);
  CHECK(value_of(shelf.artifacts.find(first_attempt.job, sha256_hex(content))).complete);
}

TEST_CASE("neither an older attempt nor another task of the same takes an upload over",
          "[loop][uploads]") {
  TaskKey other = second_attempt;
  other.index = 1;
  Shelf shelf;
  const auto upload = value_of(shelf.begin(second_attempt, 0));
  value_of(upload->append(content.substr(0, 7)));

  CHECK(shelf.begin(first_attempt, 7).error().code == Code::unavailable);
  CHECK(shelf.begin(other, 7).error().code == Code::unavailable);

  value_of(upload->append(content.substr(7)));
  CHECK(value_of(upload->finish()).complete);
}

TEST_CASE("an upload that broke off is finished by any other task", "[loop][uploads]") {
  Shelf shelf;
  value_of(value_of(shelf.begin(second_attempt, 0))->append(content.substr(0, 7)));

  const auto later = value_of(shelf.begin(first_attempt, 7));

  CHECK(value_of(later->finish()).bytes == 7);
  value_of(later->append(content.substr(7)));
  CHECK(value_of(later->finish()).complete);
}
