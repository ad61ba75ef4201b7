// The weights of a share, where they lie in the memory of workers.
#include "runtime/net/chunks/chunk_weights.h"

#include <unistd.h>

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

constexpr std::int64_t elements = 1024;

StoreLayoutPtr async_layout() {
  StoreRules rules{.chunks = {{0, elements}},
                   .arena_elements = elements,
                   .optimizer = {},
                   .nodes = {{{0, 1}}, {{0, 1}}},
                   .mode = Mode::async};
  return std::make_shared<const StoreLayout>(std::move(rules));
}

SharedArenasPtr memory_of_rank(const StoreLayout& layout, std::int64_t rank) {
  const SharedLayout of = layout.memory_of(rank);
  return std::make_shared<SharedArenas>(SharedArenas{of, AlignedBuffer(of.floats())});
}

// A rank's push makes the version, all of one value.
void push(ChunkWeights& weights, const UpdateChunk& update, const SharedArenasPtr& memory,
          float value) {
  auto next = weights.begin(update, memory);
  std::ranges::fill(next->master.span().first(index_of(elements)), value);
  weights.finish(update, std::move(next));
}

std::vector<float> floats_of(const ChunkBytes& bytes) {
  const auto* const floats = reinterpret_cast<const float*>(bytes.bytes.data());
  return {floats, floats + elements};
}

const std::vector<float> ones(index_of(elements), 1.0F);

}  // namespace

TEST_CASE("async, a push makes its version in the memory of who pushed", "[weights]") {
  const StoreLayoutPtr layout = async_layout();
  ChunkWeights weights(layout, AlignedBuffer(index_of(elements)));
  const SharedArenasPtr memory = memory_of_rank(*layout, 0);
  push(weights, {.chunk = 0, .version = 1, .ranks = {0}}, memory, 1);
  CHECK(memory->memory.data()[5] == 1);
  CHECK(weights.newest(0).data() == memory->memory.data());
}

TEST_CASE("async, what is being sent stays as it is, though its worker goes on", "[weights]") {
  const StoreLayoutPtr layout = async_layout();
  ChunkWeights weights(layout, AlignedBuffer(index_of(elements)));
  const SharedArenasPtr memory = memory_of_rank(*layout, 0);
  push(weights, {.chunk = 0, .version = 1, .ranks = {0}}, memory, 1);
  const ChunkBytes leaving = weights.parameters({.chunk = 0, .version = 1});  // to rank 1
  push(weights, {.chunk = 0, .version = 2, .ranks = {0}}, memory, 2);
  CHECK(floats_of(leaving) == ones);
  push(weights, {.chunk = 0, .version = 3, .ranks = {1}}, nullptr, 3);
  weights.write_parameters({.chunk = 0, .version = 3}, *memory);  // to rank 0
  CHECK(floats_of(leaving) == ones);
  CHECK(memory->memory.data()[5] == 3);
}

TEST_CASE("async, what a worker reads is not changed by the pushes of others", "[weights]") {
  const StoreLayoutPtr layout = async_layout();
  ChunkWeights weights(layout, AlignedBuffer(index_of(elements)));
  const SharedArenasPtr memory = memory_of_rank(*layout, 0);
  push(weights, {.chunk = 0, .version = 1, .ranks = {0}}, memory, 1);
  for (std::int64_t version = 2; version < 6; ++version) {
    push(weights, {.chunk = 0, .version = version, .ranks = {1}}, nullptr, 9);
  }
  CHECK(memory->memory.data()[5] == 1);
}

TEST_CASE("memory that is opened twice is known as one") {
  const auto made = SharedFloats::create(1024, SharedFloats::Writers::all);
  const auto other = SharedFloats::create(1024, SharedFloats::Writers::all);
  REQUIRE((made.has_value() && other.has_value()));
  const auto opened = SharedFloats::open(Descriptor(::dup(made->descriptor())), 1024);
  REQUIRE(opened.has_value());
  CHECK(opened->memory() != made->memory());
  CHECK(opened->file_number() == made->file_number());
  CHECK(opened->file_number() != other->file_number());
}

TEST_CASE("memory of one writer is read, and not written, by whom it is handed to") {
  const auto made = SharedFloats::create(8, SharedFloats::Writers::maker);
  REQUIRE(made.has_value());
  const auto open = [&made](SharedFloats::Access access) {
    return SharedFloats::open(Descriptor(::dup(made->descriptor())), 8, access);
  };
  CHECK_FALSE(open(SharedFloats::Access::write).has_value());
  const auto reader = open(SharedFloats::Access::read);
  REQUIRE(reader.has_value());
  made->memory().get()[7] = 3;
  CHECK(reader->span()[7] == 3);
  CHECK(::write(made->descriptor(), "four", 4) == -1);
}

}  // namespace trainyard::runtime
