// Frames as bytes, and what strangers may send instead.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "runtime/net/chunks/named_ranks.h"
#include "tests/runtime/chunks/gang.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of

StreamSocket connect_to(const std::string& address) {
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  auto socket = StreamSocket::connect_tcp(
      address, port, StreamSocket::Clock::now() + std::chrono::seconds(30), {});
  REQUIRE(socket.has_value());
  return *std::move(socket);
}

void send_all(const StreamSocket& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    const auto sent = socket.send({&piece, 1});
    if (!sent.has_value()) return;  // it was closed meanwhile
    bytes.remove_prefix(*sent);
  }
}

// All that comes until the other end closes.
std::string answer_of(const StreamSocket& socket) {
  std::string all;
  std::array<char, 4096> room;
  REQUIRE(eventually([&] {
    const iovec place{room.data(), room.size()};
    const auto come = socket.receive({&place, 1});
    if (!come.has_value()) return true;
    all.append(room.data(), *come);
    return false;
  }));
  return all;
}

std::string frame_of(FrameHeader header, std::string_view payload = {}) {
  header.bytes = static_cast<std::uint32_t>(payload.size());
  const FrameHeaderBytes head = encode_header(header);
  return std::string(reinterpret_cast<const char*>(head.data()), head.size()).append(payload);
}

// Of a chunk of 1,024 elements, the only one.
std::string gradient_of(std::int64_t step) {
  return frame_of({.kind = FrameKind::gradient, .step = step},
                  std::string(1024 * sizeof(float), '\0'));
}

std::string hello_of(std::int64_t rank, const std::string& token = gang_token,
                     std::uint64_t plan = gang_plan) {
  return frame_of({.kind = FrameKind::hello},
                  encode_hello({.rank = rank, .plan = plan, .token = token}));
}

}  // namespace

TEST_CASE("a header is read as it was written") {
  const FrameHeader header{.kind = FrameKind::parameters,
                           .flag = true,
                           .chunk = 77,
                           .bytes = 1 << 20,
                           .step = std::int64_t{1} << 60,
                           .snapshot = 3,
                           .denominator = std::int64_t{1} << 33};
  const FrameHeaderBytes bytes = encode_header(header);
  const auto read = decode_header(bytes);
  REQUIRE(read.has_value());
  CHECK(*read == header);
}

TEST_CASE("what is no header is refused") {
  const FrameHeaderBytes good = encode_header({.kind = FrameKind::gradient, .step = 1});
  REQUIRE(decode_header(good).has_value());
  const auto with = [&](std::size_t at, int value) {
    FrameHeaderBytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return decode_header(bytes).has_value();
  };
  CHECK_FALSE(with(0, 0));  // another mark
  CHECK_FALSE(with(4, 0));  // no such kind
  CHECK_FALSE(with(4, 17));
  CHECK_FALSE(with(4, 31));
  CHECK_FALSE(with(4, 44));
  CHECK_FALSE(with(4, 255));
  CHECK_FALSE(with(5, 2));  // no such flag
  CHECK_FALSE(with(6, 1));
  CHECK_FALSE(with(23, 0x80));  // a step below 0
  CHECK_FALSE(with(31, 0x80));  // a snapshot below 0
  CHECK_FALSE(with(39, 0x80));  // a denominator below 0
}

TEST_CASE("a hello that is too short is none") {
  const std::string whole = encode_hello({.rank = 1, .plan = 2, .token = "t"});
  CHECK(decode_hello(whole)->token == "t");
  CHECK(decode_hello(whole)->fingerprint == "");
  const std::string on_device =
      encode_hello({.rank = 1, .plan = 2, .token = "t", .fingerprint = "a GPU"});
  CHECK(decode_hello(on_device)->token == "t");
  CHECK(decode_hello(on_device)->fingerprint == "a GPU");
  CHECK_FALSE(decode_hello(on_device.substr(0, on_device.size() - 2)).has_value());
  for (std::size_t bytes = 0; bytes + 1 < whole.size(); ++bytes) {
    CHECK_FALSE(decode_hello(whole.substr(0, bytes)).has_value());
  }
}

TEST_CASE("who has no token hears nothing, and training goes on beside") {
  const GangScene scene{.ranks = 1, .servers = 1};
  const Servers gang(scene);
  const std::string address = gang.addresses().front();
  const std::vector<std::string> strangers{
      "GET / HTTP/1.1\r\n\r\n" + std::string(100, 'x'),
      hello_of(0, "a guess"),
      hello_of(0, ""),
      frame_of({.kind = FrameKind::ask_parameters}),
      frame_of({.kind = FrameKind::gradient, .step = 1}, std::string(64, 'g')),
      frame_of({.kind = FrameKind::hello}, std::string(small_payload_bytes_max + 1, 'h')),
      std::string(64, '\0')};
  for (const std::string& bytes : strangers) {
    const StreamSocket socket = connect_to(address);
    send_all(socket, bytes);
    CHECK(answer_of(socket).empty());
  }
  CHECK(work(scene, 0, gang.addresses()) == expected(scene, scene.max_steps));
}

TEST_CASE("strangers that say nothing keep nobody out") {
  const GangScene scene{.ranks = 1, .servers = 1};
  const Servers gang(scene);
  std::vector<StreamSocket> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(connect_to(gang.addresses().front()));
  CHECK(answer_of(strangers.front()).empty());  // who was first has had most time
  CHECK(work(scene, 0, gang.addresses()) == expected(scene, scene.max_steps));
}

TEST_CASE("with backup workers ps 0 is told no names") {
  const GangScene scene{.ranks = 2, .servers = 1, .aggregate = 1};
  const Servers gang(scene);
  const StreamSocket socket = connect_to(gang.addresses().front());
  const std::vector<std::int64_t> named{0};
  send_all(socket, hello_of(0) + frame_of({.kind = FrameKind::named, .step = 1},
                                          encode_ranks(named, scene.ranks)));
  CHECK_THAT(answer_of(socket), Catch::Matchers::EndsWith("ps 0 names steps itself"));
}

TEST_CASE("a worker that makes no sense is told why, and gone") {
  const GangScene scene{.ranks = 2, .servers = 1};
  const Servers gang(scene);
  const std::string address = gang.addresses().front();
  const std::string hello = hello_of(0);
  const auto [bytes, why] = GENERATE_COPY(table<std::string, std::string>(
      {{hello_of(2), "there is no such rank"},
       {hello_of(-1), "there is no such rank"},
       {hello_of(0, gang_token, 1), "it cuts the parameters otherwise"},
       {hello + hello, "a connection begins with one hello"},
       {hello + frame_of({.kind = FrameKind::gradient, .chunk = 1000, .step = 1}, "x"),
        "there is no such chunk"},
       {hello + frame_of({.kind = FrameKind::gradient, .step = 1}, "x"),
        "a gradient of another length"},
       {hello + frame_of({.kind = FrameKind::ask_turn, .step = 1}), "turns are not given here"},
       {hello + frame_of({.kind = FrameKind::parameters, .step = 1}), "a worker does not say that"},
       {hello + frame_of({.kind = FrameKind::ask_parameters, .step = 9}),
        "version 9 is asked for where there is 0"}}));
  const StreamSocket socket = connect_to(address);
  send_all(socket, bytes);
  CHECK_THAT(answer_of(socket), Catch::Matchers::EndsWith(why));
}

TEST_CASE("a hello may say that parameters stay rounded where they never are") {
  const GangScene scene{.ranks = 1, .servers = 1, .leaves = 1, .elements = 16, .max_steps = 3};
  const Servers gang(scene);
  const StreamSocket socket = connect_to(gang.addresses().front());
  const std::string hello =
      encode_hello({.rank = 0, .plan = gang_plan, .token = gang_token, .fingerprint = ""});
  send_all(socket, frame_of({.kind = FrameKind::hello, .flag = true}, hello) +
                       frame_of({.kind = FrameKind::ask_turn, .step = 1}));
  CHECK_THAT(answer_of(socket), Catch::Matchers::EndsWith("turns are not given here"));
  CHECK(work(scene, 0, gang.addresses()) == expected(scene, scene.max_steps));
}

TEST_CASE("a worker that computes on another kind of device than the first is told so") {
  const GangScene scene{.ranks = 2, .servers = 1};
  const Servers gang(scene);
  const auto hello_on = [](std::int64_t rank, const std::string& kind) {
    return frame_of(
        {.kind = FrameKind::hello},
        encode_hello({.rank = rank, .plan = gang_plan, .token = gang_token, .fingerprint = kind}));
  };
  const StreamSocket first = connect_to(gang.addresses().front());
  send_all(first, hello_on(0, "A"));
  std::array<char, frame_header_bytes> welcome;
  REQUIRE(eventually([&] {
    const iovec place{welcome.data(), welcome.size()};
    const auto come = first.receive({&place, 1});
    return come.has_value() && *come > 0;
  }));
  const StreamSocket second = connect_to(gang.addresses().front());
  send_all(second, hello_on(1, "B"));
  const std::string answer = answer_of(second);
  CHECK_THAT(answer, Catch::Matchers::EndsWith("ask for one kind by gpu_name"));
  const auto header = std::as_bytes(std::span(answer)).first<frame_header_bytes>();
  CHECK(decode_header(header)->kind == FrameKind::refused);
  CHECK(decode_header(header)->flag);
}

TEST_CASE("a residual that makes no sense ends the connection, one that nobody awaits does not") {
  const GangScene scene{
      .ranks = 1, .servers = 1, .leaves = 1, .elements = 16, .max_steps = 9, .push = Wire::onebit};
  const Servers gang(scene);
  const std::string hello = hello_of(0);
  const std::string gradient(2 * sizeof(float) + 2, '\0');
  const std::string residual(16 * sizeof(float), '\0');
  const auto step = [&](std::int64_t number, std::int64_t snapshot) {
    return frame_of({.kind = FrameKind::gradient, .step = number, .snapshot = snapshot}, gradient);
  };
  const auto residual_of = [&](std::int64_t snapshot) {
    return frame_of({.kind = FrameKind::residual, .snapshot = snapshot}, residual);
  };
  const std::string nonsense = frame_of({.kind = FrameKind::ask_turn, .step = 1});
  const auto [bytes, why] = GENERATE_COPY(table<std::string, std::string>(
      {{frame_of({.kind = FrameKind::residual, .chunk = 1}, residual), "there is no such chunk"},
       {frame_of({.kind = FrameKind::residual}, "r"), "a residual of another length"},
       {frame_of({.kind = FrameKind::residual}), "a residual of another length"},
       {step(1, 1) + step(2, 0), "comes before the residual of snapshot 1"},
       {step(1, 1) + residual_of(2) + step(2, 0), "comes before the residual of snapshot 1"},
       {step(1, 0) + frame_of({.kind = FrameKind::ask_residuals}), "the gang has to begin anew"},
       {residual_of(7) + step(1, 1) + residual_of(1) + residual_of(1) + step(2, 0) + nonsense,
        "turns are not given here"}}));
  const StreamSocket socket = connect_to(gang.addresses().front());
  send_all(socket, hello + bytes);
  CHECK_THAT(answer_of(socket), Catch::Matchers::EndsWith(why));
}

TEST_CASE("who asks and asks and never reads is left, however much is sent to others") {
  const GangScene scene{.mode = Mode::async, .ranks = 2, .servers = 1};
  const Servers gang(scene);
  const StreamSocket socket = connect_to(gang.addresses().front());
  send_all(socket, hello_of(0));
  const std::string ask = frame_of({.kind = FrameKind::ask_turn, .step = 1});
  std::string asks;
  for (int i = 0; i < 1000; ++i) asks += ask;
  CHECK(eventually([&] {
    const iovec piece{asks.data(), asks.size()};
    return !socket.send({&piece, 1}).has_value();
  }));
}

TEST_CASE("memory that is too small, or may shrink, is not shared") {
  const GangScene scene{.ranks = 2, .servers = 1};
  const Servers gang(scene);
  const std::size_t bytes = GENERATE(100, 10'000'000);
  const Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  REQUIRE(::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0);
  const auto socket = StreamSocket::connect_unix(
      chunk_socket_name(gang_token, 0, port_of(gang.addresses().front())));
  REQUIRE(socket.has_value());
  const std::string hello = hello_of(0);
  const iovec piece{const_cast<char*>(hello.data()), hello.size()};
  REQUIRE(socket->send({&piece, 1}, file.get()).value() == hello.size());
  FrameHeaderBytes first{};
  std::size_t come = 0;
  REQUIRE(eventually([&] {
    const iovec place{first.data() + come, first.size() - come};
    come += socket->receive({&place, 1}).value();
    return come == first.size();
  }));
  const auto welcome = decode_header(first);
  REQUIRE(welcome.has_value());
  CHECK(welcome->kind == FrameKind::welcome);
  CHECK_FALSE(welcome->flag);
}

TEST_CASE("a gradient that is next only when the last of it comes is refused") {
  const GangScene scene{.ranks = 2,
                        .servers = 1,
                        .elements = 1024,
                        .chunk_elements = 1024,
                        .optimizer = OptimizerKind::sgd};
  const Servers gang(scene);
  const StreamSocket early = connect_to(gang.addresses().front());
  const StreamSocket other = connect_to(gang.addresses().front());
  const std::string second = gradient_of(2);
  send_all(early, hello_of(0) + gradient_of(1) + second.substr(0, 100));
  send_all(other, hello_of(1) + gradient_of(1));
  // Parameters of version 1 have left when the step is made, to each of them.
  std::array<char, 4096> room;
  std::size_t come = 0;
  REQUIRE(eventually([&] {
    const iovec place{room.data(), room.size()};
    come += other.receive({&place, 1}).value();
    return come > gradient_of(1).size();
  }));
  send_all(early, second.substr(100));
  CHECK_THAT(answer_of(early), Catch::Matchers::EndsWith("not next when it began to come"));
}

TEST_CASE("in async ps 0 takes no push of a rank that has not had its turn") {
  const GangScene scene{.mode = Mode::async,
                        .ranks = 1,
                        .servers = 1,
                        .elements = 1024,
                        .chunk_elements = 1024,
                        .optimizer = OptimizerKind::sgd};
  const Servers gang(scene);
  const std::string turn = frame_of({.kind = FrameKind::ask_turn, .step = 1});
  const std::string bytes = GENERATE_COPY(gradient_of(1), turn + gradient_of(1) + gradient_of(2));
  const StreamSocket socket = connect_to(gang.addresses().front());
  send_all(socket, hello_of(0) + bytes);
  CHECK_THAT(answer_of(socket), Catch::Matchers::EndsWith("a push without its turn"));
}

TEST_CASE("a worker of another gang gives up with what it was told") {
  const GangScene scene{.ranks = 1, .servers = 1};
  const Servers gang(scene);
  WorkerLink::Options options = link_options(scene, 0, gang.addresses());
  options.plan = gang_plan + 1;
  const auto link = WorkerLink::open(std::move(options));
  REQUIRE(link.has_value());
  const auto next = (*link)->next();
  REQUIRE_FALSE(next.has_value());
  CHECK_THAT(next.error().message, Catch::Matchers::EndsWith("it cuts the parameters otherwise"));
}

TEST_CASE("chunks are cut where blocks are, and together are all of the arena") {
  const auto [elements, holders, most] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{1, 1, 1024}, {1024, 1, 1024}, {1025, 1, 1024}, {100'000, 3, 4096}, {16, 3, 1024}}));
  const std::int64_t state = GENERATE(as<std::int64_t>{}, no_state, 0, 1024, 7168);
  const auto chunks = cut_chunks(plan_shares(elements, holders), most, state);
  std::int64_t at = 0;
  for (const ArenaChunk& chunk : chunks) {
    CHECK(chunk.range.begin == at);
    CHECK(chunk.range.size() > 0);
    CHECK(chunk.range.size() <= most);
    CHECK((chunk.range.end <= state || chunk.range.begin >= state));
    CHECK((chunk.holder >= 0 && chunk.holder < holders));
    at = chunk.range.end;
  }
  CHECK(at == elements);
  const auto by_holder = chunks_by_holder(chunks, holders);
  std::size_t count = 0;
  for (const auto& own : by_holder) {
    CHECK(std::ranges::is_sorted(own));
    count += own.size();
  }
  CHECK(count == chunks.size());
}

}  // namespace trainyard::runtime
