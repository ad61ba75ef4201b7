#include "runtime/net/chunks/link_state.h"

#include <catch2/catch.hpp>

using namespace trainyard;
using namespace trainyard::runtime;

namespace {

struct Scene {
  WorkerArenas arenas{
      {.chunks = {{.range = {0, 1024}, .holder = 0}, {.range = {1024, 2048}, .holder = 1}},
       .holders = 2}};
  LinkState state{{.servers = {"127.0.0.1:1", "127.0.0.1:2"},
                   .exchange = {.servers = 2},
                   .limits = {},
                   .stop = {}},
                  arenas};
};

}  // namespace

TEST_CASE("of a link that failed the first reason counts, whichever ps say what later", "[link]") {
  Scene scene;
  CHECK_FALSE(scene.state.differs);
  SECTION("another fingerprint, which every ps refuses") {
    scene.state.fail("ps 0 says: another GPU", LinkState::Failure::of_fingerprint);
    scene.state.fail("ps 1 says: another GPU", LinkState::Failure::of_fingerprint);
    scene.state.fail("ps 1 is gone");
    CHECK(scene.state.differs);
    CHECK(scene.state.failed->message == "ps 0 says: another GPU");
  }
  SECTION("something else") {
    scene.state.fail("ps 1 is gone");
    scene.state.fail("ps 0 says: another GPU", LinkState::Failure::of_fingerprint);
    CHECK_FALSE(scene.state.differs);
    CHECK(scene.state.failed->message == "ps 1 is gone");
  }
}
