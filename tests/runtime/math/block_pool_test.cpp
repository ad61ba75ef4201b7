#include "runtime/math/rows/block_pool.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

namespace trainyard::runtime {

TEST_CASE("blocks lie apart, and one that is given back is used again", "[rows]") {
  constexpr std::size_t floats = 1000;
  constexpr std::size_t count = 300;
  BlockPool pool(floats);
  BlockPool copy = pool;
  std::vector<std::shared_ptr<float>> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back((i % 2 == 0 ? pool : copy).take());
  for (std::size_t i = 0; i < count; ++i) {
    std::fill_n(blocks[i].get(), floats, static_cast<float>(i));
  }
  std::set<const float*> first;
  for (std::size_t i = 0; i < count; ++i) {
    const auto is_own = [i](float value) { return value == static_cast<float>(i); };
    CHECK(std::all_of(blocks[i].get(), blocks[i].get() + floats, is_own));
    first.insert(blocks[i].get());
  }
  // However they come back, no other memory is taken than what was there.
  for (int round = 0; round < 50; ++round) {
    std::vector<std::shared_ptr<float>> some;
    for (std::size_t i = static_cast<std::size_t>(round) % 7; i < count; i += 7) {
      some.push_back(std::move(blocks[i]));
    }
    std::thread([&some] { some.clear(); }).join();
    for (auto& block : blocks) {
      if (block != nullptr) continue;
      block = copy.take();
      first.insert(block.get());
    }
  }
  CHECK(first.size() <= 511);  // slabs of 1, 2, 4, ... hold 300 then
}

TEST_CASE("a block outlives its pool", "[rows]") {
  std::shared_ptr<float> block;
  {
    BlockPool pool(1 << 20);  // of large pages
    block = pool.take();
  }
  std::fill_n(block.get(), 1 << 20, 1.0F);
  CHECK(block.get()[(1 << 20) - 1] == 1.0F);
}

}  // namespace trainyard::runtime
