// The named ways to divide an arena, by hand and for models that everybody knows.
#include "runtime/core/partition.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/runtime/core/known_models.h"

namespace trainyard::runtime {
namespace {

using test::KnownModel, test::large_models;

constexpr Partitioning kPolicies[] = {Partitioning::chunks, Partitioning::round_robin,
                                      Partitioning::greedy};

std::vector<Share> shares_of(const KnownModel& model, Partitioning policy, std::int64_t ps) {
  return partition_arena(policy, model.variables(), model.arena_elements(), ps);
}

Partition described(const KnownModel& model, Partitioning policy, std::int64_t ps) {
  return describe_partition(policy, model.variables(), shares_of(model, policy, ps));
}

bool covers_once(const std::vector<Share>& shares, std::int64_t elements) {
  std::vector<Range> all;
  for (const Share& share : shares) {
    all.insert(all.end(), share.ranges.begin(), share.ranges.end());
  }
  std::ranges::sort(all, {}, &Range::begin);
  std::int64_t at = 0;
  for (const Range& range : all) {
    if (range.begin != at || range.end <= range.begin) return false;
    at = range.end;
  }
  return at == elements;
}

std::vector<std::string> names_of(const HeldShare& share) {
  std::vector<std::string> names;
  for (const HeldVariable& variable : share.variables) names.push_back(variable.name);
  return names;
}

// Layers of 100, 3, 50 and 60 elements: padding lies behind each.
KnownModel four_variables() {
  KnownModel model("four");
  return model.add({100}).add({3}).add({5, 10}).add({60});
}

}  // namespace

TEST_CASE("every policy covers the arena exactly once, padding included", "[partition]") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i) {
    KnownModel model("random");
    for (auto count = random() % 12; count > 0; --count) {
      model.add({static_cast<std::int64_t>(1 + random() % 100'000)});
    }
    const auto ps = static_cast<std::int64_t>(1 + random() % 9);
    for (const Partitioning policy : kPolicies) {
      INFO("variables " << model.variables().size() << " ps " << ps);
      const auto shares = shares_of(model, policy, ps);
      CHECK(std::ssize(shares) == ps);
      CHECK(covers_once(shares, model.arena_elements()));
      for (const Share& share : shares) {
        CHECK(std::ranges::is_sorted(share.ranges, {}, &Range::begin));
        for (const Range& range : share.ranges) CHECK(range.begin % 16 == 0);
      }
    }
  }
}

TEST_CASE("round_robin gives whole variables by turns", "[partition]") {
  const auto shares = shares_of(four_variables(), Partitioning::round_robin, 2);
  CHECK(shares[0].ranges == std::vector<Range>{{0, 112}, {128, 192}});
  CHECK(shares[1].ranges == std::vector<Range>{{112, 128}, {192, 256}});

  const Partition partition = described(four_variables(), Partitioning::round_robin, 2);
  CHECK(names_of(partition.shares[0]) == std::vector<std::string>{"variable_0", "variable_2"});
  CHECK(names_of(partition.shares[1]) == std::vector<std::string>{"variable_3", "variable_1"});
  CHECK(partition.shares[0].bytes == 150 * 4);
  CHECK(partition.shares[1].bytes == 63 * 4);
  CHECK(total_bytes(partition) == 213 * 4);
  CHECK(balance_of(partition) == Approx(150 * 2 / 213.0));
}

TEST_CASE("greedy gives each variable to the ps with the fewest bytes so far", "[partition]") {
  const auto shares = shares_of(four_variables(), Partitioning::greedy, 2);
  CHECK(shares[0].ranges == std::vector<Range>{{0, 112}});
  CHECK(shares[1].ranges == std::vector<Range>{{112, 256}});

  const Partition partition = described(four_variables(), Partitioning::greedy, 2);
  CHECK(partition.shares[0].bytes == 100 * 4);
  CHECK(names_of(partition.shares[1]) ==
        std::vector<std::string>{"variable_3", "variable_2", "variable_1"});
  CHECK(partition.shares[1].variables.front().pieces == 1);
}

TEST_CASE("one ps holds all of it as one range, whatever the policy", "[partition]") {
  for (const Partitioning policy : kPolicies) {
    const auto shares = shares_of(four_variables(), policy, 1);
    CHECK(shares.front().ranges == std::vector<Range>{{0, 256}});
    CHECK(balance_of(described(four_variables(), policy, 1)) == 1);
  }
}

TEST_CASE("ps beyond the number of variables hold nothing", "[partition]") {
  for (const Partitioning policy : {Partitioning::round_robin, Partitioning::greedy}) {
    const Partition partition = described(four_variables(), policy, 6);
    CHECK(partition.shares[4] == HeldShare{});
    CHECK(partition.shares[5] == HeldShare{});
    CHECK(total_bytes(partition) == 213 * 4);
  }
}

TEST_CASE("a model without a variable has empty shares and is balanced", "[partition]") {
  const KnownModel nothing("nothing");
  for (const Partitioning policy : kPolicies) {
    CHECK(shares_of(nothing, policy, 3) == std::vector<Share>(3));
    CHECK(balance_of(described(nothing, policy, 3)) == 1);
  }
}

TEST_CASE("chunks of large models are balanced to within 2 percent", "[partition]") {
  for (const KnownModel& model : large_models()) {
    REQUIRE(model.arena_elements() * 4 > 16 << 20);
    for (const std::int64_t ps : {2, 4, 8}) {
      INFO(model.name() << " on " << ps << " ps");
      const double chunks = balance_of(described(model, Partitioning::chunks, ps));
      CHECK(chunks <= 1.02);
      CHECK(chunks <= balance_of(described(model, Partitioning::round_robin, ps)));
      CHECK(chunks <= 1.0001 * balance_of(described(model, Partitioning::greedy, ps)));
    }
  }
}

TEST_CASE("the models are those that everybody knows", "[partition]") {
  const auto elements = [](const KnownModel& model) {
    return total_bytes(described(model, Partitioning::chunks, 1)) / 4;
  };
  CHECK(elements(test::vgg_16()) == 138'357'544);
  CHECK(elements(test::bert_large()) == 335'141'888);
}

TEST_CASE("whole variables leave VGG-16 on one ps of four", "[partition]") {
  CHECK(balance_of(described(test::vgg_16(), Partitioning::round_robin, 4)) ==
        Approx(3.28).margin(0.005));
  CHECK(balance_of(described(test::vgg_16(), Partitioning::greedy, 4)) ==
        Approx(3.06).margin(0.005));
}

TEST_CASE("a chunk in the middle of a variable is a piece of it", "[partition]") {
  const KnownModel model = test::mlp("large", {784, 2048, 2048, 10});
  const Partition partition = described(model, Partitioning::chunks, 2);
  for (const HeldShare& share : partition.shares) {
    CHECK(share.variables.front().name == "variable_2");
    CHECK(share.variables.front().pieces > 4);
    std::int64_t bytes = 0;
    for (const HeldVariable& variable : share.variables) bytes += variable.bytes;
    CHECK(bytes == share.bytes);
    CHECK(share.variables_left_out == 0);
  }
}

TEST_CASE("a description names a bounded number of variables and counts the others",
          "[partition]") {
  const Partition few = described(test::bert_large(), Partitioning::chunks, 4);
  for (const HeldShare& share : few.shares) {
    CHECK(share.variables.size() == 16);
    CHECK(share.variables_left_out > 100);
    CHECK(std::ranges::is_sorted(share.variables, std::ranges::greater{}, &HeldVariable::bytes));
  }
  const Partition many = described(test::bert_large(), Partitioning::round_robin, 300);
  for (const HeldShare& share : many.shares) {
    CHECK(share.variables.empty());
    CHECK(share.variables_left_out >= 1);
  }
}

}  // namespace trainyard::runtime
