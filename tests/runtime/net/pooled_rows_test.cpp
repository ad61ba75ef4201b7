// Rows of which a ps gives out sums, and takes the gradients of sums, over real gRPC.
#include <catch2/catch.hpp>
#include <memory>
#include <utility>

#include "runtime/net/row_frame.h"
#include "tests/runtime/math/floats.h"
#include "tests/runtime/net/row_calls_of.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t width = 6;
constexpr std::int64_t examples = 12;

GangSpec async_spec(std::int64_t ps) {
  return {.mode = Mode::async,
          .ps = ps,
          .workers = 1,
          .max_steps = 5,
          .elements = 500,
          .optimizer = {.kind = OptimizerKind::adagrad},
          .row_width = width};
}

// A batch of each example some ids: 20 of its own, or the same 3 for all.
struct Batch {
  Ids ids;
  SparseRows x{.offsets = {0}, .columns = {}, .values = {}};  // columns are places in ids

  Batch(std::int64_t step, bool own) {
    const std::int64_t each = own ? 20 : 3;
    for (std::int64_t i = 0; i < (own ? examples * each : each); ++i) ids.push_back(5 * i + step);
    for (std::int64_t example = 0; example < examples; ++example) {
      for (std::int64_t i = 0; i < each; ++i) {
        x.columns.push_back(static_cast<std::int32_t>(own ? example * each + i : i));
        x.values.push_back(0.25F * static_cast<float>(1 + (example + i) % 5));
      }
      x.offsets.push_back(std::ssize(x.columns));
    }
  }
  [[nodiscard]] BagView view() const { return {ids, x.view(), x.columns}; }
};

// Of the sums of the batch's examples.
std::vector<float> gradient_of(const std::vector<float>& sums) {
  std::vector<float> gradient = sums;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = 0.3F * sums[i] + 0.1F * static_cast<float>(1 + i % 7);
  }
  return gradient;
}

enum class By { rows, bags };

struct Ended {
  std::vector<float> rows;
  Traffic traffic;  // of the steps
};

Status look_up_and_push(RemoteParams& params, const Batch& batch, std::int64_t step, By by) {
  if (by == By::bags) {
    TRY_ASSIGN(const PooledBags pooled, params.look_up_bags(batch.view()));
    const auto gradient = gradient_of(pool_bags(pooled.x, pooled.vectors, width));
    Ids vectors(pooled.vectors.size() / width);
    return params.push_bags(step, spread_bags(vectors, pooled.x, gradient, width).rows);
  }
  std::vector<float> rows(batch.ids.size() * width);
  TRY(params.look_up_rows(0, batch.ids, rows));
  const auto gradient = gradient_of(pool_bags(batch.x, rows, width));
  return params.push_rows(step, {spread_bags(batch.ids, batch.x, gradient, width)});
}

std::unique_ptr<RemoteParams> connect(const Gang& gang) {
  auto connected = RemoteParams::connect(gang.options(0));
  REQUIRE(connected.has_value());
  CHECK((*connected)->pools_rows());
  REQUIRE((*connected)->pull(0).has_value());
  return *std::move(connected);
}

// At the step `replaced` another process takes the place of one that has sent its rows' gradients
// and no more.
Ended train(std::int64_t ps, bool own, By by, std::int64_t replaced = 0) {
  const Gang gang(async_spec(ps));
  std::unique_ptr<RemoteParams> earlier;
  std::unique_ptr<RemoteParams> params = connect(gang);
  const auto gradient = std::make_shared<AlignedBuffer>(500);
  Ended ended;
  for (std::int64_t step = 1; step <= gang.spec().max_steps; ++step) {
    const auto rows = [&] { return look_up_and_push(*params, Batch(step % 2, own), step, by); };
    if (step == replaced) {
      REQUIRE(rows().has_value());
      earlier = std::exchange(params, connect(gang));
    }
    const Status moved = rows();
    if (!moved.has_value()) FAIL(moved.error().message);
    const auto pulled =
        params->push_pull({.step = step, .sums = {.examples = examples}, .gradient = gradient});
    REQUIRE(pulled.has_value());
    ended.traffic += pulled->traffic;
  }
  Ids all;
  for (std::int64_t id = 0; id < 5 * examples * 20; ++id) all.push_back(id);
  ended.rows.resize(all.size() * width);
  REQUIRE(params->read_rows(all, ended.rows).has_value());
  return ended;
}

}  // namespace

TEST_CASE("rows are learned alike, as rows and as sums, on any number of ps", "[rows]") {
  for (const bool own : {true, false}) {
    for (const std::int64_t ps : {1, 2, 3}) {
      INFO((own ? "many ids, " : "few ids, ") << ps << " ps");
      const Ended by_rows = train(ps, own, By::rows);
      const Ended by_bags = train(ps, own, By::bags);
      require_close(by_bags.rows, by_rows.rows, 1e-4);
      CHECK(by_rows.traffic.pooled == 0);
      CHECK(by_bags.traffic.pooled == (own ? 5 * ps : 0));
      const std::int64_t of_rows = by_rows.traffic.sent + by_rows.traffic.received;
      const std::int64_t of_bags = by_bags.traffic.sent + by_bags.traffic.received;
      if (!own) CHECK(of_bags == of_rows);
      if (own && ps == 1) {
        const RowDemand demand{
            .ids = 20 * examples, .bags = examples, .elements = 20 * examples, .width = width};
        CHECK(of_rows - of_bags == 5 * (bytes_as_rows(demand) - bytes_as_bags(demand)));
      }
    }
  }
}

TEST_CASE("a worker that comes again with its rows on their way is not counted twice", "[rows]") {
  for (const By by : {By::rows, By::bags}) {
    CHECK(train(2, true, by, 3).rows == train(2, true, by).rows);
  }
}

TEST_CASE("sums of rows are for asynchronous training alone", "[rows]") {
  GangSpec spec = async_spec(1);
  spec.mode = Mode::sync;
  const Gang gang(spec);
  auto params = RemoteParams::connect(gang.options(0));
  REQUIRE(params.has_value());
  CHECK_FALSE((*params)->pools_rows());
  const auto refused = (*params)->look_up_bags(Batch(1, true).view());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::invalid);
  CHECK_THAT(refused.error().message, Catch::Contains("asynchronous"));
}

TEST_CASE("where a ps knows bags no more, the gradients of their rows are sent", "[rows]") {
  const Gang gang(async_spec(1));
  const Batch batch(0, true);
  RowCalls older = test::row_calls_of(gang, 100);
  REQUIRE(older.look_up_bags(batch.view()).has_value());
  RowCalls newer = test::row_calls_of(gang, 200);  // the rank's next process
  REQUIRE(newer.look_up_bags(batch.view()).has_value());
  const auto gradients = random_floats(examples * width, 1);

  const auto short_push = newer.push_bags(1, gradients);
  REQUIRE(short_push.has_value());
  CHECK(short_push->sent == examples * width * 4);
  const auto long_push = older.push_bags(1, gradients);
  REQUIRE(long_push.has_value());
  CHECK(long_push->sent ==
        examples * width * 4 + std::ssize(batch.ids) * (8 + width * 4));  // in vain, and again
}

namespace {

struct Request {
  std::int64_t bags = 1;
  std::int64_t elements = 2;
  RowBody body{.ids = {3, 9}, .sizes = {2}, .places = {0, 1}, .rows = {1, 2}};
};

std::optional<Code> refusal_of(const Gang& gang, const Request& request) {
  proto::RowFrame about;
  about.set_token("token");
  about.set_lookup(1);
  about.add_counts(std::ssize(request.body.ids));
  about.set_bags(request.bags);
  about.set_elements(request.elements);
  const auto replies = call_each(
      "/trainyard.proto.Params/ReadRows",
      {{grpc::CreateChannel(gang.addresses()[0], grpc::InsecureChannelCredentials()), "ps/0"}},
      {encode_rows(about, std::make_shared<RowBody>(request.body))},
      {.deadline = std::chrono::seconds(20), .token = "token", .stop = {}});
  if (replies.has_value()) return std::nullopt;
  return replies.error().code;
}

}  // namespace

TEST_CASE("requests of bags that cannot be are refused", "[rows]") {
  const Gang gang(async_spec(1));
  const auto changed = [&gang](const auto& change) {
    Request request;
    change(request);
    return refusal_of(gang, request);
  };
  CHECK(changed([](Request& r) { r.bags = -1; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.elements = -1; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.bags = std::int64_t{1} << 62; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.elements = std::int64_t{1} << 62; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.bags = 0; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.elements = 0; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.body.sizes = {3}; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.body.sizes = {0xFFFFFFFF}; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.body.places = {0, 2}; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.body.places = {0, 0xFFFFFFFF}; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.body.rows = {1}; }) == Code::invalid);
  CHECK(changed([](Request& r) { r.body.ids = {9, 3}; }) == Code::invalid);
  CHECK(changed([](Request&) {}) == std::nullopt);
}

}  // namespace trainyard::runtime
