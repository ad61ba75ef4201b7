#include "schemas/wire/safetensors.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/schemas/wire/random_values.h"

using namespace trainyard;

namespace {

std::string with_length(std::uint64_t length, const std::string& text) {
  std::string bytes;
  for (int byte = 0; byte < 8; ++byte) bytes += static_cast<char>((length >> (8 * byte)) & 0xFFU);
  return bytes + text;
}

std::string refusal(const std::string& json, std::int64_t data_bytes) {
  const std::string text = with_length(json.size(), json);
  const auto result = decode_safetensors_header(text, std::ssize(text) + data_bytes);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::invalid);
  return result.error().message;
}

std::int64_t data_bytes(const SafetensorsHeader& header) {
  return header.entries.empty() ? 0 : header.entries.back().end;
}

}  // namespace

TEST_CASE("a header is laid out as the format says", "[wire]") {
  SafetensorsHeader header;
  header.entries = {{.name = "b", .shape = {2, 3}}, {.name = "a", .dtype = "I64", .shape = {}}};
  header.metadata = {{"format", "pt"}};
  const std::string bytes = *encode_safetensors_header(header);

  CHECK(bytes.size() % 64 == 0);
  CHECK(header.data_start == std::ssize(bytes));
  CHECK(header.entries[0].end == 24);
  CHECK(header.entries[1].begin == 24);
  CHECK(header.entries[1].end == 32);
  CHECK(*safetensors_header_length(bytes) == std::ssize(bytes) - 8);
  CHECK(
      bytes.substr(8).starts_with(R"({"__metadata__":{"format":"pt"},"a":{"data_offsets":[24,32],)"
                                  R"("dtype":"I64","shape":[]},"b":)"));
}

TEST_CASE("headers come back as they were", "[wire]") {
  RandomValues random(41);
  for (int i = 0; i < 300; ++i) {
    SafetensorsHeader header = random.safetensors_header();
    const std::string bytes = *encode_safetensors_header(header);
    const auto again = decode_safetensors_header(bytes, std::ssize(bytes) + data_bytes(header));
    REQUIRE(again);
    // Tensors without bytes share an offset: any order of them is right.
    const auto by_name = [](SafetensorsHeader sorted) {
      std::ranges::sort(sorted.entries, {}, &SafetensorsEntry::name);
      return sorted;
    };
    CHECK(by_name(*again) == by_name(header));
  }
}

TEST_CASE("hostile headers are refused, saying why", "[wire]") {
  CHECK(refusal("[]", 0).find("no JSON object") != std::string::npos);
  CHECK(refusal("{", 0).find("not JSON") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8)
            .find("do not match its shape") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4)
            .find("dtype that is unknown") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", 4)
            .find("beyond all bounds") != std::string::npos);
  CHECK(
      refusal(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4).find("/a/shape/0") !=
      std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8)
            .find("a gap or an overlap") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                6)
            .find("a gap or an overlap") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3)
            .find("describes 4 bytes of data, the file has 3") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                4)
            .find("given twice") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4).find("/a/shape is required") !=
        std::string::npos);
  CHECK(refusal(R"({"__metadata__":{"a":1}})", 0).find("/__metadata__/a") != std::string::npos);
}

TEST_CASE("a length that lies about the file is refused", "[wire]") {
  CHECK_FALSE(safetensors_header_length("1234567"));
  CHECK_FALSE(safetensors_header_length(with_length(100'000'001, "")));
  CHECK_FALSE(safetensors_header_length(with_length(~std::uint64_t{0}, "")));
  CHECK_FALSE(decode_safetensors_header(with_length(10, "{}"), 10));
  CHECK_FALSE(decode_safetensors_header(with_length(2, "{}"), 5));
  CHECK(decode_safetensors_header(with_length(2, "{}"), 10));
}

TEST_CASE("every beginning of a file is refused and none does harm", "[wire]") {
  RandomValues random(43);
  SafetensorsHeader header = random.safetensors_header();
  const std::string bytes = *encode_safetensors_header(header);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(
        decode_safetensors_header(bytes.substr(0, length), static_cast<std::int64_t>(length)));
  }
}
