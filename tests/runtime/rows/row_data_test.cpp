#include "runtime/net/rows/row_data.h"

#include <catch2/catch.hpp>
#include <string>

#include "schemas/proto/rows.pb.h"

namespace trainyard::runtime {
namespace {

using Floats = std::vector<float>;

const RowData bags{
    .ids = {1, 1'000'000'000'000}, .sizes = {2, 1}, .places = {0, 1, 1}, .floats = {0.5F, 1, 2}};

proto::RowRequest header_of_bags() {
  proto::RowRequest header;
  header.set_rank(3);
  header.set_version(9);
  header.set_ids(2);
  header.set_bags(2);
  header.set_elements(3);
  return header;
}

grpc::ByteBuffer message(const google::protobuf::MessageLite& header, const RowData& data) {
  return encode_rows_message(header, std::make_shared<RowData>(data));
}

std::string text_of(const grpc::ByteBuffer& bytes) {
  grpc::Slice whole;
  REQUIRE(bytes.DumpToSingleSlice(&whole).ok());
  return {whole.begin(), whole.end()};
}

// In slices of so many bytes, as a network may leave them.
grpc::ByteBuffer cut_up(const std::string& text, std::size_t piece) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < text.size(); at += piece)
    slices.emplace_back(text.substr(at, piece));
  return {slices.data(), slices.size()};
}

Result<RowData> data_of(const grpc::ByteBuffer& bytes, const RowCounts& counts) {
  proto::RowRequest header;
  TRY_ASSIGN(const Payload payload, decode_rows_message(bytes, header));
  return read_row_data(payload, counts);
}

}  // namespace

TEST_CASE("messages of rows are what protobuf makes of them, and come back as they were") {
  const std::string text = text_of(message(header_of_bags(), bags));
  proto::RowRequest parsed;
  REQUIRE(parsed.ParseFromString(text));
  CHECK(parsed.data().size() == 2 * 8 + 2 * 4 + 3 * 4 + 3 * 4);
  CHECK(parsed.SerializeAsString() == text);

  for (const std::size_t piece : {1, 3, 7, 1000}) {
    proto::RowRequest header;
    const auto payload = decode_rows_message(cut_up(text, piece), header);
    REQUIRE(payload.has_value());
    CHECK(header.version() == 9);
    CHECK(header.data().empty());
    const auto data = read_row_data(*payload, {.ids = 2, .bags = 2, .elements = 3});
    REQUIRE(data.has_value());
    CHECK(data->ids == bags.ids);
    CHECK(data->sizes == bags.sizes);
    CHECK(data->places == bags.places);
    CHECK(data->floats == bags.floats);
    CHECK(data->bytes() == bags.bytes());
  }
}

TEST_CASE("a message of less than it says, or of none, is refused before memory is taken") {
  const auto code = [](const RowCounts& counts) {
    const auto data = data_of(message(header_of_bags(), bags), counts);
    return data.has_value() ? std::nullopt : std::optional(data.error().code);
  };
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  CHECK_FALSE(code({}));
  CHECK_FALSE(code({.ids = 6}));
  CHECK(code({.ids = 7}) == Code::invalid);
  CHECK(code({.ids = -1}) == Code::invalid);
  CHECK(code({.ids = huge}) == Code::invalid);
  CHECK(code({.bags = huge}) == Code::invalid);
  CHECK(code({.bags = -1}) == Code::invalid);
  CHECK(code({.ids = 2, .bags = 8, .elements = 1}) == Code::invalid);
  CHECK(code({.elements = -1}) == Code::invalid);

  const std::string text = text_of(message(header_of_bags(), bags));
  for (std::size_t length = 1; length < text.size(); ++length) {  // cut off anywhere
    const auto data = data_of(cut_up(text.substr(0, length), 1000), {.ids = 2});
    const bool is_header_alone = length == header_of_bags().SerializeAsString().size();
    INFO(length);
    CHECK_FALSE(data.has_value());
    if (is_header_alone) CHECK_THAT(data.error().message, Catch::Contains("fewer ids"));
  }
  CHECK_FALSE(data_of(cut_up(text + "x", 1000), {}).has_value());
  CHECK(data_of(grpc::ByteBuffer(), {}).error().code == Code::invalid);
}

TEST_CASE("a message may have many parts, and its header a bound") {
  constexpr std::int64_t many = 100'000;
  proto::RowPush header;
  for (std::int64_t part = 0; part < many; ++part) header.add_counts(part % 2);
  const RowData data{.ids = std::vector<std::int64_t>(many / 2, 9),
                     .floats = Floats(many / 2, 1.5F)};
  proto::RowPush read;
  const auto payload = decode_rows_message(message(header, data), read);
  REQUIRE(payload.has_value());
  const std::vector<std::int64_t> counts(read.counts().begin(), read.counts().end());
  REQUIRE(std::ssize(counts) == many);
  CHECK(sum_of_counts(counts, payload->bytes()).value() == many / 2);
  const auto parts = parts_of(*read_row_data(*payload, {.ids = many / 2}), counts, 1);
  REQUIRE(parts.has_value());
  CHECK(parts->front().ids.empty());
  CHECK(parts->back().rows == Floats{1.5F});

  for (std::int64_t part = 0; part < 10 * many; ++part) header.add_counts(0);
  CHECK_FALSE(decode_rows_message(message(header, data), read).has_value());
}

TEST_CASE("parts are put together and taken apart, and counts that cannot be are refused") {
  const std::vector<RowGradients> parts{
      {.ids = {1, 4}, .rows = {1, 2, 3, 4}}, {}, {.ids = {7}, .rows = {5, 6}}};
  const std::vector<std::int64_t> counts{2, 0, 1};
  CHECK(*parts_of(joined_parts(parts), counts, 2) == parts);
  CHECK(*parts_of(joined_parts({parts.front()}), std::vector<std::int64_t>{2}, 2) ==
        std::vector{parts.front()});
  CHECK_FALSE(parts_of(joined_parts(parts), counts, 3).has_value());

  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  using Counts = std::vector<std::int64_t>;
  CHECK(sum_of_counts(Counts{2, 1}, 24).value() == 3);
  CHECK_FALSE(sum_of_counts(Counts{2, 1}, 23).has_value());
  CHECK_FALSE(sum_of_counts(Counts{-1, 2}, 24).has_value());
  CHECK_FALSE(sum_of_counts(Counts{1, most}, 24).has_value());
  CHECK_FALSE(sum_of_counts(Counts{most, most}, most).has_value());
}

}  // namespace trainyard::runtime
