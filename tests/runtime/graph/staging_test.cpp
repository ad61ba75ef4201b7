#include "runtime/graph/staging.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <vector>

#include "runtime/graph/device_memory.h"
#include "tests/conformance/mirror/host_device.h"

namespace trainyard::runtime {
namespace {

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace

TEST_CASE("copies to a device and back are whole, however large", "[graph][staging]") {
  for (const bool is_late : {false, true}) {
    for (const std::int64_t threads : {1, 3}) {
      INFO((is_late ? "late, " : "at once, ") << threads << " threads");
      HostDevice device({.is_late = is_late});
      ThreadTeam team({.threads = threads, .least_nanoseconds = 0});
      Staging staging(device, team);
      DeviceBuffer there(device);
      // More than all pieces together have, and sizes at which pieces do not end.
      const std::size_t counts[] = {1, 3 << 20, 17, (9 << 20) + 5, 1 << 20};
      const std::size_t all = std::accumulate(std::begin(counts), std::end(counts), std::size_t{0});
      float* to = there.floats(all);
      std::vector<std::vector<float>> back;
      for (const std::size_t count : counts) {
        std::vector<float> values = numbers(count, static_cast<float>(count % 1000));
        staging.upload(values.data(), to, count * sizeof(float));
        std::ranges::fill(values, -1.0F);  // it has been read
        back.emplace_back(count, -2.0F);
        to += count;
      }
      float* from = there.floats(all);
      for (std::vector<float>& values : back) {
        staging.download(from, values.data(), values.size() * sizeof(float));
        from += values.size();
      }
      staging.wait(staging.mark());
      for (const std::vector<float>& values : back) {
        const auto sent = numbers(values.size(), static_cast<float>(values.size() % 1000));
        CHECK(std::memcmp(values.data(), sent.data(), values.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("a download is there with the first mark behind it", "[graph][staging]") {
  HostDevice device({.is_late = true});
  Staging staging(device, {});
  DeviceBuffer there(device);
  float* const place = there.floats(2);
  device.fill(place, 3.0F, 2);
  float first = 0;
  float second = 0;
  staging.download(place, &first, sizeof first);
  const std::uint64_t mark = staging.mark();
  staging.download(place + 1, &second, sizeof second);
  staging.wait(mark);
  CHECK(first == 3.0F);
  CHECK(second == 0.0F);
  staging.wait(staging.mark());
  CHECK(second == 3.0F);
}

// A GPU reads no number that lies across its own size.
TEST_CASE("each piece of a batch lies at a border, however batches grow", "[graph][staging]") {
  HostDevice device;
  DeviceMemory memory(device, 16, {});
  for (const std::size_t count : {250, 270, 330, 420, 520, 650, 800}) {
    INFO(count << " of each");
    const std::vector<float> values(count);
    const std::vector<std::int32_t> numbers(count);
    const std::vector<std::int64_t> offsets{0, static_cast<std::int64_t>(count)};
    const SparseView sparse{.offsets = offsets, .columns = numbers, .values = values};
    const std::vector<RowFeed> rows{
        {.places = numbers, .rows = values, .gradients = {}, .width = 1, .pooled = sparse}};
    const Feed staged = memory.stage({.examples = 1,
                                      .features = values,
                                      .labels = {},
                                      .targets = {},
                                      .sparse = sparse,
                                      .rows = rows,
                                      .symbols = numbers,
                                      .symbol_offsets = numbers});
    const auto is_at_border = [](const auto& span) {
      return reinterpret_cast<std::uintptr_t>(span.data()) % 256 == 0;
    };
    CHECK(is_at_border(staged.features));
    CHECK(is_at_border(staged.sparse.offsets));
    CHECK(is_at_border(staged.sparse.columns));
    CHECK(is_at_border(staged.sparse.values));
    CHECK(is_at_border(staged.symbols));
    CHECK(is_at_border(staged.symbol_offsets));
    CHECK(is_at_border(staged.rows[0].places));
    CHECK(is_at_border(staged.rows[0].rows));
    CHECK(is_at_border(staged.rows[0].pooled.offsets));
    CHECK(is_at_border(staged.rows[0].pooled.values));
  }
}

}  // namespace trainyard::runtime
