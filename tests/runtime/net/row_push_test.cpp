// Gradients of rows that name what was looked up in place of ids, over real gRPC.
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/net/row_frame.h"
#include "tests/runtime/net/row_calls_of.h"

namespace trainyard::runtime {
namespace {

using test::Gang, test::GangSpec;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t width = 5;

// Of 2 workers each has 2 parts of a step: one of two micro-batches, one of one.
GangSpec table_spec(std::int64_t ps) {
  return {.ps = ps,
          .workers = 2,
          .max_steps = 3,
          .elements = 500,
          .optimizer = {.kind = OptimizerKind::adagrad},
          .leaves = 6,
          .row_width = width};
}

// Of a micro-batch: some are in others too, and some ps hold none of it.
Ids ids_of(std::int64_t leaf, std::int64_t step) {
  Ids ids;
  for (std::int64_t i = 0; i < 1 + 4 * (leaf % 3); ++i) ids.push_back(11 * i + leaf % 2 + step);
  return ids;
}

RowGradients gradient_of(Ids ids, std::vector<float> rows, std::int64_t leaf) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = 0.3F * rows[i] + 0.1F * static_cast<float>(leaf + 1) + 0.01F * static_cast<float>(i);
  }
  return {.ids = std::move(ids), .rows = std::move(rows)};
}

enum class Named { by_ids, by_lookups };

struct Ended {
  std::vector<float> rows;
  std::int64_t sent = 0;
  std::int64_t ids = 0;  // of gradients
};

Result<Ended> train(const Gang& gang, std::int64_t rank, Named named) {
  TRY_ASSIGN(const auto params, RemoteParams::connect(gang.options(rank)));
  const auto leaves = leaves_of(rank, 2, 6);
  const auto nodes = sent_nodes(Wire::float32, leaves, 6);
  const auto gradient = std::make_shared<AlignedBuffer>(500 * nodes.size());
  Ended ended;
  TRY_ASSIGN(Pulled pulled, params->pull(0));
  while (pulled.version < gang.spec().max_steps) {
    const std::int64_t step = pulled.version + 1;
    std::vector<RowGradients> parts(nodes.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (std::int64_t leaf = nodes[part].begin; leaf < nodes[part].end; ++leaf) {
        const Ids ids = ids_of(leaf, step);
        std::vector<float> rows(ids.size() * width);
        if (named == Named::by_lookups) {
          TRY(params->look_up_rows(static_cast<std::int64_t>(part), ids, rows));
        } else {
          TRY(params->read_rows(ids, rows));
        }
        const RowGradients more = gradient_of(ids, rows, leaf);
        parts[part] = leaf == nodes[part].begin ? more : add_rows(parts[part], more, width);
      }
      ended.ids += std::ssize(parts[part].ids);
    }
    TRY(params->push_rows(step, std::move(parts)));
    TRY_ASSIGN(pulled,
               params->push_pull({.step = step, .sums = {.examples = 9}, .gradient = gradient}));
    ended.sent += pulled.traffic.sent;
  }
  Ids all;
  for (std::int64_t id = 0; id < 120; ++id) all.push_back(id);
  ended.rows.resize(all.size() * width);
  TRY(params->read_rows(all, ended.rows));
  return ended;
}

std::vector<Ended> train_both(std::int64_t ps, Named named) {
  const Gang gang(table_spec(ps));
  std::vector<Result<Ended>> ends(2, internal("did not run"));
  std::vector<std::jthread> threads;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back(
        [&, rank] { ends[static_cast<std::size_t>(rank)] = train(gang, rank, named); });
  }
  threads.clear();
  std::vector<Ended> good;
  for (auto& end : ends) {
    if (!end.has_value()) FAIL(end.error().message);
    good.push_back(*std::move(end));
  }
  return good;
}

std::int64_t looked_up(std::int64_t rank) {
  std::int64_t ids = 0;
  const auto leaves = leaves_of(rank, 2, 6);
  for (std::int64_t step = 1; step <= 3; ++step) {
    for (auto leaf = leaves.begin; leaf < leaves.end; ++leaf) ids += std::ssize(ids_of(leaf, step));
  }
  return ids;
}

}  // namespace

TEST_CASE("gradients that name their lookups teach the same bits, without ids", "[rows]") {
  for (const std::int64_t ps : {1, 3}) {
    INFO(ps << " ps");
    const auto by_ids = train_both(ps, Named::by_ids);
    const auto by_lookups = train_both(ps, Named::by_lookups);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const Ended& with = by_ids[static_cast<std::size_t>(rank)];
      const Ended& without = by_lookups[static_cast<std::size_t>(rank)];
      CHECK(without.rows == with.rows);
      // Ids that are read by no step's lookup are not counted, those of gradients are.
      CHECK(with.sent - without.sent == 8 * (with.ids - looked_up(rank)));
    }
  }
}

namespace {

GangSpec one_worker() { return {.workers = 1, .elements = 500, .row_width = width}; }

}  // namespace

TEST_CASE("where a ps knows a lookup no more, the ids are sent", "[rows]") {
  const Gang gang(one_worker());
  const Ids ids{3, 8, 9};
  std::vector<float> rows(3 * width);
  RowCalls older = test::row_calls_of(gang, 100);
  REQUIRE(older.look_up(0, ids, rows).has_value());
  RowCalls newer = test::row_calls_of(gang, 200);  // the rank's next process
  REQUIRE(newer.look_up(0, ids, rows).has_value());

  const auto short_push = newer.push(1, {{.ids = ids, .rows = rows}});
  REQUIRE(short_push.has_value());
  CHECK(short_push->sent == 3 * width * 4);
  const auto long_push = older.push(1, {{.ids = ids, .rows = rows}});
  REQUIRE(long_push.has_value());
  CHECK(long_push->sent == 3 * width * 4 + 3 * (8 + width * 4));  // in vain, and again
}

namespace {

// The rows that one asynchronous step teaches, where the rank's process before may speak too late.
std::vector<float> rows_after_step(bool earlier_speaks) {
  const Gang gang({.mode = Mode::async, .workers = 1, .elements = 500, .row_width = width});
  const Ids ids{3, 8};
  std::vector<float> rows(2 * width);
  RowCalls earlier = test::row_calls_of(gang, 1);
  REQUIRE(earlier.look_up(0, ids, rows).has_value());

  const auto params = RemoteParams::connect(gang.options(0));
  REQUIRE(params.has_value());
  REQUIRE((*params)->pull(0).has_value());
  const RowGradients gradients{.ids = ids, .rows = std::vector<float>(2 * width, 1.0F)};
  REQUIRE((*params)->push_rows(1, {gradients}).has_value());
  if (earlier_speaks) {
    const RowGradients late{.ids = ids, .rows = std::vector<float>(2 * width, -100.0F)};
    const auto pushed = earlier.push(1, {late});
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code == Code::conflict);
    CHECK_FALSE(earlier.read(ids, rows).has_value());
  }
  const auto gradient = std::make_shared<AlignedBuffer>(500);
  REQUIRE(
      (*params)->push_pull({.step = 1, .sums = {.examples = 1}, .gradient = gradient}).has_value());
  const std::vector<float> before = rows;
  REQUIRE((*params)->read_rows(ids, rows).has_value());
  CHECK(rows != before);
  return rows;
}

}  // namespace

TEST_CASE("rows of a rank's earlier process come too late once its next one is there", "[rows]") {
  CHECK(rows_after_step(true) == rows_after_step(false));
}

TEST_CASE("gradients of other rows than were looked up go with their ids", "[rows]") {
  const Gang gang(one_worker());
  std::vector<float> rows(2 * width);
  RowCalls calls = test::row_calls_of(gang, 1);
  REQUIRE(calls.look_up(0, Ids{3, 8}, rows).has_value());
  const auto other = calls.push(1, {{.ids = {3, 9}, .rows = rows}});
  REQUIRE(other.has_value());
  CHECK(other->sent == 2 * (8 + width * 4));

  REQUIRE(calls.look_up(1, Ids{3, 8}, rows).has_value());  // for a part that does not come
  const auto missing = calls.push(1, {{.ids = {3, 8}, .rows = rows}});
  REQUIRE(missing.has_value());
  CHECK(missing->sent == 2 * (8 + width * 4));
}

namespace {

// Why a ps refuses a message that was made by hand.
struct Refusal {
  Code code = Code::internal;
  std::string message;
};

struct Peer {
  explicit Peer(const Gang& gang)
      : ps{{grpc::CreateChannel(gang.addresses()[0], grpc::InsecureChannelCredentials()), "ps/0"}} {
  }

  static proto::RowFrame header() {
    proto::RowFrame header;
    header.set_token("token");
    header.set_step(1);
    return header;
  }
  std::optional<Refusal> call(const char* method, const proto::RowFrame& header, RowBody body) {
    const std::string path = std::string("/trainyard.proto.Params/") + method;
    const auto replies = call_each(
        path.c_str(), ps, {encode_rows(header, std::make_shared<RowBody>(std::move(body)))},
        {.deadline = std::chrono::seconds(20), .token = "token", .stop = {}});
    if (replies.has_value()) return std::nullopt;
    return Refusal{replies.error().code, replies.error().message};
  }
  std::optional<Refusal> look_up(std::int64_t rank, std::int64_t number, Ids ids) {
    proto::RowFrame about = header();
    about.set_rank(rank);
    about.set_lookup(number);
    about.add_counts(std::ssize(ids));
    return call("ReadRows", about, {.ids = std::move(ids), .rows = {}});
  }
  std::optional<Refusal> push(std::int64_t first, const std::vector<std::int64_t>& lookups,
                              std::size_t floats) {
    proto::RowFrame about = header();
    about.set_lookup(first);
    about.mutable_lookups()->Assign(lookups.begin(), lookups.end());
    return call("PushRows", about, {.ids = {}, .rows = std::vector<float>(floats)});
  }

  std::vector<RawPeer> ps;
};

}  // namespace

TEST_CASE("lookups and gradients of them that cannot be are refused", "[rows]") {
  const Gang gang(one_worker());
  Peer peer(gang);
  CHECK(peer.look_up(-1, 1, {1})->code == Code::invalid);
  CHECK(peer.look_up(1, 1, {1})->code == Code::invalid);
  CHECK(peer.look_up(0, -1, {1})->code == Code::invalid);
  CHECK(peer.look_up(0, 1, {2, 1})->code == Code::invalid);
  CHECK(peer.look_up(0, 1, {-2, 1})->code == Code::invalid);
  CHECK(peer.push(1, {1}, width)->code == Code::not_found);  // none of those is kept

  REQUIRE_FALSE(peer.look_up(0, 1, {1, 2}));
  CHECK(peer.push(2, {1}, 2 * width)->code == Code::not_found);
  CHECK(peer.push(1, {2}, 2 * width)->code == Code::not_found);
  CHECK(peer.push(1, {-1}, 2 * width)->code == Code::invalid);
  proto::RowFrame both = Peer::header();
  both.set_lookup(1);
  both.add_lookups(1);
  both.add_counts(1);
  CHECK(peer.call("PushRows", both, {.ids = {1}, .rows = std::vector<float>(width)})->code ==
        Code::invalid);
  CHECK_FALSE(peer.push(1, {1}, 2 * width));

  REQUIRE_FALSE(peer.look_up(0, 2, {1, 2}));
  CHECK(peer.push(2, {1}, 2 * width - 1)->code == Code::invalid);  // of another width
  REQUIRE_FALSE(peer.look_up(0, 3, {1, 2}));
  CHECK(peer.push(3, {1, 0}, 2 * width)->code == Code::invalid);  // of more parts
  REQUIRE_FALSE(peer.look_up(0, 4, {1, 2}));
  CHECK_FALSE(peer.push(4, {1}, 2 * width));  // and it goes on
}

}  // namespace trainyard::runtime
