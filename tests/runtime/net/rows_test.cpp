// Embedding rows over real gRPC: read, learned and refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "tests/runtime/net/gang.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;

constexpr std::int64_t width = 5;
constexpr std::int64_t examples = 10;

GangSpec table_spec(std::int64_t ps, std::int64_t workers) {
  return {.ps = ps,
          .workers = workers,
          .max_steps = 12,
          .elements = 500,
          .optimizer = {.kind = OptimizerKind::adagrad},
          .row_width = width};
}

// What a rank reads in a step: some ids are everybody's.
std::vector<std::int64_t> ids_of(std::int64_t rank, std::int64_t step) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 40; ++i) {
    if ((i + rank + step) % 3 != 0) ids.push_back(i * i * 7);
  }
  return ids;
}

// A gradient that depends on the rows and the rank, so that a mistake anywhere spreads.
RowGradients gradient_of(std::vector<std::int64_t> ids, const std::vector<float>& rows,
                         std::int64_t rank) {
  RowGradients gradients{.ids = std::move(ids), .rows = rows};
  for (std::size_t i = 0; i < gradients.rows.size(); ++i) {
    gradients.rows[i] =
        0.3F * rows[i] + 0.1F * static_cast<float>(rank + 1) + 0.01F * static_cast<float>(i % 11);
  }
  return gradients;
}

std::vector<float> plain_loop(const Gang& gang) {
  RowTable table = *gang.first_rows();
  for (std::int64_t step = 1; step <= gang.spec().max_steps; ++step) {
    RowGradients sum;
    for (std::int64_t rank = 0; rank < gang.spec().workers; ++rank) {
      const auto ids = ids_of(rank, step);
      std::vector<float> rows(ids.size() * width);
      table.read(ids, rows);
      sum = add_rows(sum, gradient_of(ids, rows, rank), width);  // a tree of two leaves at most
    }
    table.apply(sum, {.learning_rate = test::learning().learning_rate,
                      .step = step,
                      .gradient_scale = 1.0F / static_cast<float>(examples * gang.spec().workers)});
  }
  std::vector<float> rows(40 * width);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 40; ++i) all.push_back(i * i * 7);
  table.read(all, rows);
  return rows;
}

// The rows in the end, as this worker reads them.
Result<std::vector<float>> train(const Gang& gang, std::int64_t rank, Gang::Transport transport) {
  TRY_ASSIGN(const auto params, RemoteParams::connect(gang.options(rank, transport)));
  const auto gradient =
      std::make_shared<AlignedBuffer>(static_cast<std::size_t>(gang.spec().elements));
  TRY_ASSIGN(Pulled pulled, params->pull(0));
  while (pulled.version < gang.spec().max_steps) {
    const std::int64_t step = pulled.version + 1;
    const auto ids = ids_of(rank, step);
    std::vector<float> rows(ids.size() * width);
    if (step % 3 == 0) {  // then the gradients go with their ids
      TRY(params->read_rows(ids, rows));
    } else {
      TRY(params->look_up_rows(0, ids, rows));
    }
    TRY(params->push_rows(step, {gradient_of(ids, rows, rank)}));
    TRY_ASSIGN(pulled, params->push_pull(
                           {.step = step, .sums = {.examples = examples}, .gradient = gradient}));
  }
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 40; ++i) all.push_back(i * i * 7);
  std::vector<float> rows(all.size() * width);
  TRY(params->read_rows(all, rows));
  return rows;
}

}  // namespace

TEST_CASE("messages of rows are what protobuf makes of them, and come back as they were",
          "[rows]") {
  const std::vector<RowGradients> parts{
      {.ids = {1, 1'000'000'000'000}, .rows = {1, 2, 3, 4}}, {}, {.ids = {7}, .rows = {5, 6}}};
  proto::RowFrame header;
  header.set_token("secret");
  header.set_rank(3);
  header.set_step(9);
  for (const RowGradients& part : parts) header.add_counts(std::ssize(part.ids));
  const auto bytes = encode_rows(header, std::make_shared<RowBody>(joined(parts)));

  grpc::Slice whole;
  REQUIRE(bytes.DumpToSingleSlice(&whole).ok());
  proto::RowFrame parsed;
  REQUIRE(parsed.ParseFromArray(whole.begin(), static_cast<int>(whole.size())));
  CHECK(parsed.data().size() == 3 * 8 + 6 * 4);
  CHECK(parsed.SerializeAsString() == std::string(whole.begin(), whole.end()));

  const auto message = decode_rows(bytes);
  REQUIRE(message.has_value());
  CHECK(message->header.step() == 9);
  const auto back = parted(*message, 2);
  REQUIRE(back.has_value());
  CHECK(*back == parts);
  CHECK_FALSE(parted(*message, 3).has_value());

  header.set_counts(0, 100);  // more ids than there are bytes
  const auto lying = encode_rows(header, std::make_shared<RowBody>(joined(parts)));
  CHECK_FALSE(decode_rows(lying).has_value());
  header.set_counts(0, -1);
  CHECK_FALSE(decode_rows(encode_rows(header, std::make_shared<RowBody>())).has_value());
}

namespace {

// What each worker reads in the end.
std::vector<Result<std::vector<float>>> train_all(const Gang& gang) {
  const std::int64_t workers = gang.spec().workers;
  std::vector<Result<std::vector<float>>> ends(static_cast<std::size_t>(workers),
                                               internal("did not run"));
  std::vector<std::jthread> threads;
  for (std::int64_t rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      using enum RemoteOptions::Transport;
      const auto way = rank == 0 ? shared_memory : (gang.spec().ps == 2 ? tcp : unix_socket);
      ends[static_cast<std::size_t>(rank)] = train(gang, rank, way);
    });
  }
  threads.clear();
  return ends;
}

}  // namespace

TEST_CASE("rows are learned to the bits of a plain loop, on any number of ps, by any transport",
          "[rows]") {
  for (const std::int64_t ps : {1, 2, 3}) {
    for (const std::int64_t workers : {1, 2}) {
      for (const std::int64_t aggregate : {std::int64_t{0}, workers}) {  // as of backup workers
        INFO(ps << " ps, " << workers << " workers, steps of " << aggregate);
        GangSpec spec = table_spec(ps, workers);
        spec.aggregate = aggregate;
        const Gang gang(spec);
        const auto ends = train_all(gang);
        const auto expected = plain_loop(gang);
        for (const auto& end : ends) {
          if (!end.has_value()) FAIL(end.error().message);
          CHECK(*end == expected);
        }
      }
    }
  }
}

TEST_CASE("every worker ends with the same rows, though some gradients come too late", "[rows]") {
  for (const std::int64_t ps : {1, 2}) {
    GangSpec spec = table_spec(ps, 3);
    spec.aggregate = 1;
    const Gang gang(spec);
    const auto ends = train_all(gang);
    for (const auto& end : ends) {
      if (!end.has_value()) FAIL(end.error().message);
      CHECK(*end == *ends.front());
    }
  }
}

TEST_CASE("a push without its rows is refused, and so are rows that cannot be", "[rows]") {
  const Gang gang(table_spec(1, 1));
  auto params = RemoteParams::connect(gang.options(0));
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  const auto refused = [&](std::vector<RowGradients> parts) {
    const Status status = (*params)->push_rows(1, std::move(parts));
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().code == Code::invalid);
    CHECK_THAT(status.error().message, Catch::Contains("ps/0"));
  };
  const std::vector<float> row(width, 1.0F);
  refused({});
  refused({{.ids = {-1}, .rows = row}});
  std::vector<float> two_rows(2 * width, 1.0F);
  refused({{.ids = {4, 4}, .rows = two_rows}});
  std::vector<float> none;
  CHECK((*params)->read_rows({}, none).has_value());
  std::vector<float> one(width);
  const std::vector<std::int64_t> negative{-5};
  CHECK_FALSE((*params)->read_rows(negative, one).has_value());

  const auto gradient = std::make_shared<AlignedBuffer>(500);
  const auto answer =
      (*params)->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Code::conflict);
  CHECK_THAT(answer.error().message, Catch::Contains("no gradients of rows"));
}

TEST_CASE("a step's traffic counts the ids, rows and gradients of its table", "[rows]") {
  for (const std::int64_t ps : {1, 3}) {
    INFO(ps << " ps");
    const Gang gang(table_spec(ps, 1));
    auto params = RemoteParams::connect(gang.options(0));
    REQUIRE(params.has_value());
    REQUIRE((*params)->pull(0).has_value());
    const auto ids = ids_of(0, 1);
    std::vector<float> rows(ids.size() * width);
    REQUIRE((*params)->read_rows(ids, rows).has_value());  // for a test of the model: not counted
    REQUIRE((*params)->look_up_rows(0, ids, rows).has_value());
    REQUIRE((*params)->push_rows(1, {gradient_of(ids, rows, 0)}).has_value());
    const auto gradient = std::make_shared<AlignedBuffer>(500);
    const auto pulled =
        (*params)->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient});
    REQUIRE(pulled.has_value());
    const std::int64_t dense = 500 * 4;
    const std::int64_t count = std::ssize(ids);
    CHECK(pulled->traffic.sent == dense + count * 8 + count * width * 4);  // ids go once
    CHECK(pulled->traffic.received == dense + count * width * 4);
  }
}

TEST_CASE("rows are given to nobody of another attempt", "[rows]") {
  const Gang gang(table_spec(1, 1));
  RowCalls calls(
      {{grpc::CreateChannel(gang.addresses()[0], grpc::InsecureChannelCredentials()), "ps/0"}},
      {.token = "older",
       .rank = 0,
       .width = width,
       .deadline = std::chrono::seconds(20),
       .stop = {}});
  std::vector<float> rows(width);
  const std::vector<std::int64_t> ids{3};
  const auto read = calls.read(ids, rows);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == Code::conflict);
  CHECK_THAT(read.error().message, Catch::Contains("token"));
  const auto pushed = calls.push(1, {{.ids = ids, .rows = rows}});
  REQUIRE_FALSE(pushed.has_value());
  CHECK(pushed.error().code == Code::conflict);
}

namespace {

Aggregator::Rules counting_rules() {
  Aggregator::Rules rules;
  rules.gate = {.mode = Mode::sync, .ranks = 2, .max_steps = 10};
  rules.optimizer.learning_rate = 1;
  return rules;
}

// Two ranks, one row of one column, sgd of rate 1: the row counts what was applied.
struct CountingPs {
  CountingPs()
      : aggregator(
            counting_rules(), ParameterShard({}, AlignedBuffer(1), {}), {}, [](const Snapshot&) {},
            RowTable({.variables = {{.name = "row", .columns = 1, .bound = 0}}}, 1, {})) {}

  Status stage(std::int64_t rank, std::int64_t step, float value) {
    return aggregator.stage_rows(rank, step, {{.ids = {3}, .rows = {value}}});
  }
  // The code of the refusal; nothing where it was taken or is waited for.
  std::optional<Code> push(std::int64_t rank, std::int64_t step) {
    std::optional<Code> refused;
    aggregator.push({.rank = rank,
                     .step = step,
                     .base_version = step - 1,
                     .sums = {.examples = 1},
                     .gradient = payload_of(gradient.span(), Share{.ranges = {{0, 1}}})},
                    [&refused](const Result<Answer>& answer) {
                      if (!answer.has_value()) refused = answer.error().code;
                    });
    return refused;
  }
  float row() { return aggregator.read_rows(std::vector<std::int64_t>{3})->front(); }

  AlignedBuffer gradient{1};
  Aggregator aggregator;
};

}  // namespace

TEST_CASE("a message may have many parts, and its header a bound", "[rows]") {
  constexpr std::int64_t many = 100'000;
  proto::RowFrame header;
  for (std::int64_t part = 0; part < many; ++part) header.add_counts(part % 2);
  const std::vector<RowGradients> one{
      {.ids = std::vector<std::int64_t>(many / 2, 9), .rows = std::vector<float>(many / 2, 1.5F)}};
  const auto body = std::make_shared<RowBody>(joined(one));
  const auto parts = parted(*decode_rows(encode_rows(header, body)), 1);
  REQUIRE(parts.has_value());
  REQUIRE(std::ssize(*parts) == many);
  CHECK(parts->front().ids.empty());
  CHECK(parts->back().rows == std::vector<float>{1.5F});

  for (std::int64_t part = 0; part < 10 * many; ++part) header.add_counts(0);
  CHECK_FALSE(decode_rows(encode_rows(header, body)).has_value());
}

TEST_CASE("more rows than a message holds are not read", "[rows]") {
  constexpr std::int64_t width = std::int64_t{1} << 20;
  Aggregator aggregator(
      counting_rules(), ParameterShard({}, AlignedBuffer(1), {}), {}, [](const Snapshot&) {},
      RowTable({.variables = {{.name = "row", .columns = width, .bound = 0}}}, 1, {}));
  const auto ids = static_cast<std::size_t>(row_message_floats_max / width);
  CHECK(aggregator.read_rows(std::vector<std::int64_t>(ids + 1, 3)).error().code == Code::invalid);
}

TEST_CASE("rows count once for each step, however often they come", "[rows]") {
  CountingPs ps;
  CHECK(ps.push(0, 1) == Code::conflict);  // no rows yet
  REQUIRE(ps.stage(0, 1, -100).has_value());
  REQUIRE(ps.stage(0, 1, -2).has_value());  // in place of those before
  CHECK_FALSE(ps.push(0, 1));
  REQUIRE(ps.stage(0, 1, -100).has_value());  // too late: the push has come
  CHECK(ps.row() == 0.0F);
  REQUIRE(ps.stage(1, 1, -4).has_value());
  CHECK_FALSE(ps.push(1, 1));
  CHECK(ps.aggregator.version() == 1);
  CHECK(ps.row() == 3.0F);  // the mean of two examples

  REQUIRE(ps.stage(1, 1, -100).has_value());  // of a step that is made
  CHECK_FALSE(ps.push(1, 1));                 // a duplicate
  REQUIRE(ps.stage(0, 5, -100).has_value());
  CHECK(ps.push(0, 5) == Code::conflict);
  CHECK(ps.row() == 3.0F);
  CHECK(ps.push(0, 2) == Code::conflict);  // nothing of the above is left for it
  CHECK(ps.stage(7, 2, -1).error().code == Code::invalid);
  CHECK(ps.aggregator.stage_rows(0, 2, {}).error().code == Code::invalid);
}

}  // namespace trainyard::runtime
