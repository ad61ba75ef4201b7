// Frames are protobuf, byte for byte, whoever writes or reads them.
#include "runtime/net/frame.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <string>

namespace trainyard::runtime {
namespace {

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  REQUIRE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// The same bytes in slices of random sizes, as a network may deliver them.
grpc::ByteBuffer torn(const std::string& bytes, std::mt19937_64& random) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % 97, bytes.size() - at);
    slices.emplace_back(bytes.substr(at, count));
    at += count;
  }
  return {slices.data(), slices.size()};
}

proto::PushFrame random_header(std::mt19937_64& random) {
  proto::PushFrame header;
  if (random() % 4 != 0) header.set_token(std::string(random() % 200, 'x'));
  if (random() % 2 != 0) header.set_rank(static_cast<std::int64_t>(random() % 1000));
  if (random() % 2 != 0) header.set_step(static_cast<std::int64_t>(random()));
  if (random() % 2 != 0) header.set_examples(static_cast<std::int64_t>(random() % 1000));
  if (random() % 2 != 0) header.set_loss_sum(static_cast<double>(random()) / 3);
  if (random() % 8 == 0) header.set_snapshot_step(1000);
  return header;
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.25F);
  return values;
}

Payload payload_over(const std::vector<float>& values) {
  return {.pieces = {std::as_bytes(std::span(values))}, .owner = nullptr};
}

}  // namespace

TEST_CASE("a frame is what protobuf's own serialisation gives", "[frame]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const proto::PushFrame header = random_header(random);
    const std::vector<float> values = ramp(random() % 3000);
    proto::PushFrame whole = header;
    whole.set_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));

    const std::string ours = bytes_of(encode_frame(header, payload_over(values)));

    CHECK(ours == whole.SerializeAsString());
    proto::PushFrame parsed;
    REQUIRE(parsed.ParseFromString(ours));
    CHECK(parsed.SerializeAsString() == whole.SerializeAsString());
  }
}

TEST_CASE("what protobuf writes is read back, however the network tears it", "[frame]") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const proto::PushFrame header = random_header(random);
    const std::vector<float> values = ramp(random() % 3000);
    proto::PushFrame whole = header;
    whole.set_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));

    const auto frame = decode_push(torn(whole.SerializeAsString(), random));

    REQUIRE(frame.has_value());
    CHECK(frame->header.SerializeAsString() == header.SerializeAsString());
    REQUIRE(frame->payload.bytes() == static_cast<std::int64_t>(values.size() * 4));
    std::vector<float> read(values.size());
    PayloadReader(frame->payload).read(read);
    CHECK(read == values);
  }
}

TEST_CASE("a frame that is cut short anywhere is refused or has no tensor", "[frame]") {
  std::mt19937_64 random(3);
  proto::PushFrame whole;
  whole.set_token("a token");
  whole.set_rank(3);
  whole.set_loss_sum(1.5);
  const std::string small = whole.SerializeAsString();
  whole.set_data(std::string(64, '\1'));
  const std::string bytes = whole.SerializeAsString();

  for (std::size_t count = small.size() + 1; count < bytes.size(); ++count) {
    INFO("cut at " << count);
    CHECK_FALSE(decode_push(torn(bytes.substr(0, count), random)).has_value());
  }
}

TEST_CASE("bytes that are no frame are refused and never read beyond", "[frame]") {
  std::mt19937_64 random(4);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(1 + random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (!decode_push(torn(bytes, random)).has_value()) ++refused;
  }
  CHECK(refused > 19'000);
}

TEST_CASE("fields after the tensor are refused", "[frame]") {
  std::mt19937_64 random(5);
  proto::PushFrame tensor;
  tensor.set_data(std::string(16, '\1'));
  proto::PushFrame late;
  late.set_rank(1);
  CHECK_FALSE(
      decode_push(torn(tensor.SerializeAsString() + late.SerializeAsString(), random)).has_value());
}

TEST_CASE("a length that lies is refused", "[frame]") {
  std::mt19937_64 random(6);
  for (const char* lie : {"\x7a\x05"
                          "abcd",
                          "\x7a\x03"
                          "abcd",
                          "\x7a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                          "abcd"}) {
    CHECK_FALSE(decode_push(torn(lie, random)).has_value());
  }
}

TEST_CASE("a header beyond its bound is refused", "[frame]") {
  std::mt19937_64 random(7);
  proto::PushFrame whole;
  whole.set_token(std::string(kFrameHeaderBytesMax, 'x'));
  whole.set_data("abcd");
  CHECK_FALSE(decode_push(torn(whole.SerializeAsString(), random)).has_value());
}

TEST_CASE("a frame holds its tensor's owner until gRPC lets go of it", "[frame]") {
  auto owner = std::make_shared<std::vector<float>>(ramp(1000));
  {
    const grpc::ByteBuffer frame = encode_frame(
        proto::PullFrame(), {.pieces = {std::as_bytes(std::span(*owner))}, .owner = owner});
    CHECK(owner.use_count() == 2);
  }
  CHECK(owner.use_count() == 1);
}

}  // namespace trainyard::runtime
