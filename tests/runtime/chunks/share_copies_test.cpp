// How many copies of a share are kept for snapshots that do not become whole.
#include "runtime/net/chunks/share_copies.h"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace trainyard::runtime {
namespace {

constexpr std::int64_t chunk_elements = 1024;
constexpr std::int64_t chunks = 6;
constexpr std::int64_t elements = chunks * chunk_elements;

StoreLayoutPtr layout_of_six() {
  StoreRules rules{.chunks = {},
                   .arena_elements = elements,
                   .optimizer = {},
                   .nodes = {{{0, 1}}, {{0, 1}}},
                   .mode = Mode::async};
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    rules.chunks.push_back({chunk * chunk_elements, (chunk + 1) * chunk_elements});
  }
  return std::make_shared<const StoreLayout>(std::move(rules));
}

struct Scene {
  StoreLayoutPtr layout = layout_of_six();
  ChunkWeights weights{layout, AlignedBuffer(index_of(elements))};
  std::vector<AlignedBuffer> slots = {};
  ShareCopies copies{layout};

  void copy(std::int64_t chunk, std::int64_t snapshot) {
    copies.copy({.chunk = chunk, .snapshot = snapshot}, {weights, slots});
  }
  bool is_whole(std::int64_t chunk, std::int64_t snapshot) {
    return copies.save({.chunk = chunk, .snapshot = snapshot}).has_value();
  }
};

}  // namespace

TEST_CASE("a copy is whole with its last chunk") {
  Scene scene;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) scene.copy(chunk, 7);
  for (std::int64_t chunk = 0; chunk + 1 < chunks; ++chunk) CHECK_FALSE(scene.is_whole(chunk, 7));
  CHECK(scene.is_whole(chunks - 1, 7));
}

TEST_CASE("a chunk that is copied for one snapshot after another leaves none of them behind") {
  Scene scene;
  for (std::int64_t snapshot = 1; snapshot <= 100; ++snapshot) {
    scene.copy(0, snapshot);
    CHECK_FALSE(scene.is_whole(0, snapshot - 1));  // it is forgotten
  }
  CHECK(scene.copies.newest_of(0) != nullptr);
}

TEST_CASE("of copies that do not become whole the oldest is dropped") {
  Scene scene;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) scene.copy(chunk, chunk + 1);
  const auto kept = static_cast<std::int64_t>(ShareCopies::pending_max);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    CHECK((scene.copies.newest_of(chunk) != nullptr) == (chunk >= chunks - kept));
  }
  // What comes for one that was dropped is for nothing.
  scene.copies.residual_came({.rank = 0, .chunk = 0, .snapshot = 1}, {});
  CHECK_FALSE(scene.is_whole(0, 1));
}

}  // namespace trainyard::runtime
