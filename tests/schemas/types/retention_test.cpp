// Which checkpoints stay.
#include "schemas/types/retention.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

const double unknown = std::numeric_limits<double>::quiet_NaN();
const std::vector<Ranked> by_loss{{100, 0.9}, {200, 0.2}, {300, 0.5}, {400, unknown}, {500, 0.4}};

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("the newest and the best stay", "[retention]") {
  CHECK(steps_to_keep({.keep_latest = 2, .keep_best = 1}, by_loss) == Steps{200, 400, 500});
  CHECK(steps_to_keep({.keep_latest = 1, .keep_best = 2}, by_loss) == Steps{200, 500});
}

TEST_CASE("the best by accuracy is the highest", "[retention]") {
  const Retention highest{.keep_latest = 1, .keep_best = 1, .best = Best::highest};
  CHECK(steps_to_keep(highest, by_loss) == Steps{100, 500});
}

TEST_CASE("the newest stays whatever retention says", "[retention]") {
  CHECK(steps_to_keep({.keep_latest = 0, .keep_best = 0}, by_loss) == Steps{500});
}

TEST_CASE("fewer checkpoints than wanted all stay", "[retention]") {
  CHECK(steps_to_keep({.keep_latest = 9, .keep_best = 9}, by_loss) ==
        Steps{100, 200, 300, 400, 500});
  CHECK(steps_to_keep({.keep_latest = 3, .keep_best = 3}, {}).empty());
}

TEST_CASE("of equally good ones the newer is the better", "[retention]") {
  const std::vector<Ranked> equal{{1, 0.5}, {2, 0.5}, {3, 0.9}};
  CHECK(steps_to_keep({.keep_latest = 1, .keep_best = 1}, equal) == Steps{2, 3});
}

TEST_CASE("a metric that is not finite is neither good nor bad, in whatever order", "[retention]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Ranked> odd{{1, unknown}, {2, 0.5}, {3, -infinity}, {4, 0.7}, {5, unknown}};
  CHECK(steps_to_keep({.keep_latest = 1, .keep_best = 1}, odd) == Steps{2, 5});
  CHECK(best_step(Best::lowest, odd) == 2);
  CHECK(best_step(Best::highest, odd) == 4);
  CHECK_FALSE(best_step(Best::lowest, std::vector<Ranked>{{1, unknown}}));
}

TEST_CASE("a metric that was not measured is not known", "[retention]") {
  CHECK(ranked_by("loss", 7, {{"loss", 0.5}}).metric == 0.5);
  CHECK(std::isnan(ranked_by("accuracy", 7, {{"loss", 0.5}}).metric));
}

TEST_CASE("losses and errors are best when low, all else when high", "[retention]") {
  CHECK(best_of("loss") == Best::lowest);
  CHECK(best_of("test_loss") == Best::lowest);
  CHECK(best_of("mean_squared_error") == Best::lowest);
  CHECK(best_of("accuracy") == Best::highest);
}

}  // namespace trainyard
