// Metric points: stored once, shown without forks, thinned without losing a spike.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "scheduler/store/job_rows.h"
#include "scheduler/store/reader.h"
#include "schemas/sql/migrations.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

RunEvent a_metric(std::int64_t step, std::map<std::string, double> values) {
  return {
      .time = {1000 + step}, .offset = step * 100, .what = MetricEvent{step, 0, std::move(values)}};
}

struct Losses {
  std::int64_t attempt = 1;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t every = 10;
  double value = 0;
};

AppendRunEvents losses(const JobId& job, const Losses& run) {
  AppendRunEvents change{
      .task = {.job = job, .attempt = run.attempt, .role = Role::worker, .index = 0}, .events = {}};
  for (std::int64_t step = run.first; step <= run.last; step += run.every) {
    change.events.push_back(a_metric(step, {{"loss", run.value}}));
  }
  return change;
}

struct MetricYard {
  TempFolder folder;
  Store store = open_store(folder);
  Reader reader = value_of(Reader::open(database_of(folder)));
  JobId job{"j-1"};

  MetricYard() { save(store, {SaveJob{a_job("j-1", 1)}}); }

  std::vector<MetricPoint> loss(const MetricQuery& query = {.names = {"loss"}}) {
    const auto series = value_of(reader.metrics(job, query));
    return series.empty() ? std::vector<MetricPoint>{} : series[0].points;
  }
  // "step=value ..." of the points shown.
  std::string curve() {
    std::string text;
    for (const MetricPoint& point : loss()) {
      text +=
          std::to_string(point.step) + "=" + std::to_string(static_cast<int>(point.value)) + " ";
    }
    return text;
  }
};

}  // namespace

TEST_CASE("metric events become series by name, in ascending steps", "[metrics]") {
  MetricYard yard;
  const TaskKey task{yard.job, 1, Role::worker, 0};
  save(yard.store, {AppendRunEvents{task,
                                    {a_metric(10, {{"loss", 2.5}, {"accuracy", 0.25}}),
                                     a_metric(20, {{"loss", 1.5}})}}});

  const auto series = value_of(yard.reader.metrics(yard.job, {}));

  REQUIRE(series.size() == 2);
  CHECK(series[0].name == "accuracy");
  CHECK(series[1].name == "loss");
  REQUIRE(series[1].points.size() == 2);
  CHECK(series[1].points[0].step == 10);
  CHECK(series[1].points[0].value == 2.5);
  CHECK(series[1].points[0].time == WallTime{1010});
  CHECK(series[1].points[1].step == 20);
}

TEST_CASE("events that come again change nothing", "[metrics]") {
  MetricYard yard;
  save(yard.store, {losses(yard.job, {.first = 10, .last = 30, .value = 1})});
  save(yard.store, {losses(yard.job, {.first = 10, .last = 40, .value = 2})});

  CHECK(yard.curve() == "10=1 20=1 30=1 40=2 ");
}

TEST_CASE("points of an attempt that was rolled back are kept but not shown", "[metrics]") {
  MetricYard yard;
  save(yard.store, {losses(yard.job, {.attempt = 1, .first = 10, .last = 50, .value = 1}),
                    RollBackMetrics{yard.job, 2, 30},
                    losses(yard.job, {.attempt = 2, .first = 40, .last = 60, .value = 2})});
  CHECK(yard.curve() == "10=1 20=1 30=1 40=2 50=2 60=2 ");

  // The third attempt lost its checkpoints and goes on from 20: the second is hidden beyond that,
  // too.
  save(yard.store, {RollBackMetrics{yard.job, 3, 20}});
  CHECK(yard.curve() == "10=1 20=1 ");

  save(yard.store, {losses(yard.job, {.attempt = 3, .first = 25, .last = 45, .value = 3})});
  CHECK(yard.curve() == "10=1 20=1 25=3 35=3 45=3 ");

  Db db = value_of(Db::open(database_of(yard.folder), Access::read_only));
  Query query = db.query("SELECT count(*) FROM metric_reports");
  REQUIRE(query.next());
  CHECK(query.integer() == 5 + 3 + 3);
}

TEST_CASE(
    "an attempt from the start hides all before it, a later one that went on hides nothing more",
    "[metrics]") {
  MetricYard yard;
  save(yard.store, {losses(yard.job, {.attempt = 1, .first = 10, .last = 40, .value = 1}),
                    RollBackMetrics{yard.job, 2, 0},
                    losses(yard.job, {.attempt = 2, .first = 5, .last = 25, .value = 2}),
                    RollBackMetrics{yard.job, 3, 100}});

  CHECK(yard.curve() == "5=2 15=2 25=2 ");
}

TEST_CASE("of two points of one name at one step the newest is shown", "[metrics]") {
  MetricYard yard;
  const TaskKey task{yard.job, 1, Role::worker, 0};
  RunEvent again = a_metric(10, {{"loss", 7}});
  again.offset = 5000;
  save(yard.store, {AppendRunEvents{task, {a_metric(10, {{"loss", 1}}), again}}});

  CHECK(yard.curve() == "10=7 ");
}

TEST_CASE("a range of steps includes both its ends", "[metrics]") {
  MetricYard yard;
  save(yard.store, {losses(yard.job, {.first = 0, .last = 100})});

  const auto points = yard.loss({.names = {"loss"}, .from_step = 20, .to_step = 40});

  REQUIRE(points.size() == 3);
  CHECK(points.front().step == 20);
  CHECK(points.back().step == 40);
}

TEST_CASE("a page of points is the first ones, none left out between them", "[metrics]") {
  MetricYard yard;
  save(yard.store, {losses(yard.job, {.first = 1, .last = 3000, .every = 1})});

  std::int64_t expected = 1;
  while (true) {
    const auto page =
        value_of(yard.reader.metric_page(yard.job, {.from_step = expected, .steps_max = 700}));
    if (page.series.empty()) break;
    REQUIRE(page.series.size() == 1);
    CHECK(page.series[0].points.size() <= 700);
    for (const MetricPoint& point : page.series[0].points) CHECK(point.step == expected++);
    CHECK(page.last_step == expected - 1);
    CHECK(page.has_more == (expected < 3001));
  }
  CHECK(expected == 3001);
}

TEST_CASE("a report is one row, however many values it has", "[metrics][mend-B15]") {
  MetricYard yard;
  std::map<std::string, double> values;
  for (int i = 0; i < 30; ++i) values["metric_" + std::to_string(i)] = i;
  const TaskKey task{yard.job, 1, Role::worker, 0};
  save(yard.store, {AppendRunEvents{task, {a_metric(10, values), a_metric(20, values)}}});

  Db db = value_of(Db::open(database_of(yard.folder), Access::read_only));
  Query query = db.query("SELECT count(*) FROM metric_reports");
  REQUIRE(query.next());
  CHECK(query.integer() == 2);
  CHECK(value_of(yard.reader.metrics(yard.job, {})).size() == 30);
}

TEST_CASE("a job's reports are thinned to those that its curves need", "[metrics][mend-B15]") {
  MetricYard yard;
  AppendRunEvents change{.task = {yard.job, 2, Role::worker, 0}, .events = {}};
  for (std::int64_t step = 1; step <= 5000; ++step) {
    const double loss = step == 1234 ? 99 : 1;  // a spike
    const double other = step == 4321 ? -99 : 1;
    change.events.push_back(a_metric(step, {{"loss", loss}, {"other", other}}));
  }
  save(yard.store, {losses(yard.job, {.attempt = 1, .first = 100, .last = 6000}),
                    RollBackMetrics{yard.job, 2, 0}, change});
  CHECK(value_of(yard.reader.reports_to_thin(yard.job, 6000)).empty());

  const auto removed = value_of(yard.reader.reports_to_thin(yard.job, 400));
  REQUIRE(yard.store.remove_reports(yard.job, removed));

  CHECK(value_of(yard.reader.reports_to_thin(yard.job, 400)).empty());
  const auto series = value_of(yard.reader.metrics(yard.job, {}));
  REQUIRE(series.size() == 2);
  for (const MetricSeries& one : series) {
    CHECK(one.points.size() >= 100);
    CHECK(one.points.size() <= 400);
    CHECK(one.points.front().step == 1);
    CHECK(one.points.back().step == 5000);
  }
  const auto has = [](const MetricSeries& one, double value) {
    return std::ranges::count(one.points, value, &MetricPoint::value) == 1;
  };
  CHECK(has(series[0], 99));
  CHECK(has(series[1], -99));
}

TEST_CASE("metrics of a database of before, a row each, are there after the migration",
          "[metrics][mend-B15]") {
  const TempFolder folder;
  const JobId job{"j-1"};
  {
    Db db = value_of(Db::open(database_of(folder), Access::read_write));
    for (const Migration& migration : migrations()) {
      if (migration.sql.find("metric_reports") != std::string_view::npos) break;
      REQUIRE(db.execute(std::string(migration.sql)));
      REQUIRE(db.execute("PRAGMA user_version = " + std::to_string(migration.number)));
    }
    REQUIRE(save_job(db, a_job("j-1", 1)));
    REQUIRE(db.execute(
        "INSERT INTO metric_series (id, job, name) VALUES (1, 'j-1', 'loss'), (2, 'j-1', 'x');"
        "INSERT INTO metric_points VALUES (1, 10, 1, 0, 1010, 0.5), (2, 10, 1, 0, 1010, 9e999),"
        " (1, 20, 1, 100, 1020, NULL), (1, 30, 1, 200, 1030, 0.25)"));
  }

  const Store store = value_of(Store::open(database_of(folder)));

  const auto series =
      value_of(value_of(Reader::open(database_of(folder))).metrics(job, {.names = {}}));
  REQUIRE(series.size() == 2);
  REQUIRE(series[0].points.size() == 3);
  CHECK(series[0].points[0].value == 0.5);
  CHECK(series[0].points[0].time == WallTime{1010});
  CHECK(std::isnan(series[0].points[1].value));
  CHECK(series[0].points[2].step == 30);
  REQUIRE(series[1].points.size() == 1);
  CHECK(std::isinf(series[1].points[0].value));
}

TEST_CASE("who saw an earlier attempt begins again where a later one went on", "[metrics]") {
  MetricYard yard;
  CHECK(value_of(yard.reader.rewound_to(yard.job, 0)) == std::nullopt);
  save(yard.store, {RollBackMetrics{yard.job, 1, 0}, RollBackMetrics{yard.job, 2, 500},
                    RollBackMetrics{yard.job, 3, 300}, RollBackMetrics{yard.job, 4, 400}});

  CHECK(value_of(yard.reader.rewound_to(yard.job, 1)) == 300);
  CHECK(value_of(yard.reader.rewound_to(yard.job, 3)) == 400);
  CHECK(value_of(yard.reader.rewound_to(yard.job, 4)) == std::nullopt);
  CHECK(value_of(yard.reader.rewound_to(JobId{"none"}, 0)) == std::nullopt);
}

TEST_CASE("losses that are not finite come back as they are", "[metrics]") {
  MetricYard yard;
  const double infinity = std::numeric_limits<double>::infinity();
  save(yard.store, {AppendRunEvents{{yard.job, 1, Role::worker, 0},
                                    {a_metric(10, {{"loss", -infinity}}),
                                     a_metric(20, {{"loss", std::nan("")}})}}});

  const auto points = yard.loss();

  REQUIRE(points.size() == 2);
  CHECK(points[0].value == -infinity);
  CHECK(std::isnan(points[1].value));
}

TEST_CASE("a long curve is thinned and keeps its spikes and its ends", "[metrics]") {
  MetricYard yard;
  AppendRunEvents change = losses(yard.job, {.first = 1, .last = 20'000, .every = 1, .value = 1});
  change.events[7'776] = a_metric(7'777, {{"loss", 99}});
  change.events[12'344] = a_metric(12'345, {{"loss", -99}});
  save(yard.store, {change});

  const auto points = yard.loss({.names = {"loss"}, .max_points = 100});

  CHECK(points.size() <= 100);
  CHECK(points.size() >= 40);
  CHECK(points.front().step == 1);
  CHECK(points.back().step == 20'000);
  const auto holds = [&points](std::int64_t step, double value) {
    return std::ranges::any_of(points, [&](const MetricPoint& point) {
      return point.step == step && point.value == value;
    });
  };
  CHECK(holds(7'777, 99));
  CHECK(holds(12'345, -99));
}
