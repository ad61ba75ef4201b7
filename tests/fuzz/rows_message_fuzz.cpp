// What a ps that holds rows of a table is sent: messages one after another, each a byte that says
// which call it is of, two for its length, and the message. Every message is answered, and the rows
// stay numbers that the other rank can read.
#include <algorithm>
#include <vector>

#include "runtime/net/rows/row_requests.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;
using namespace trainyard::runtime;

namespace {

constexpr std::int64_t width = 3;

RowStore small_store(Mode mode) {
  const bool is_sync = mode == Mode::sync;
  return {{.mode = mode,
           .nodes = {{{0, 1}}, {is_sync ? Leaves{1, 2} : Leaves{0, 1}}},
           .leaves = is_sync ? 2 : 1,
           .step_at = [](std::int64_t) { return RowStore::Step{.learning_rate = 0.1}; }},
          {},
          RowTables({.variables = {{.name = "table", .columns = width, .bound = 1}}}, 1, {})};
}

grpc::ByteBuffer message_of(std::string_view text) {
  const grpc::Slice slice(text.data(), text.size());
  return {&slice, 1};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest = fuzz::text_of(data, size);
  RowRequests requests(small_store(rest.front() % 2 == 0 ? Mode::sync : Mode::async));
  rest.remove_prefix(1);
  std::int64_t asked = 0;
  std::int64_t answered = 0;
  const auto count = [&answered](const Result<grpc::ByteBuffer>&) { ++answered; };
  while (rest.size() >= 3) {
    const bool is_push = rest[0] % 2 == 1;
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(rest[1])) |
                        static_cast<std::size_t>(static_cast<unsigned char>(rest[2])) << 8;
    rest.remove_prefix(3);
    const grpc::ByteBuffer message = message_of(rest.substr(0, length));
    rest.remove_prefix(std::min(length, rest.size()));
    ++asked;
    if (is_push) {
      requests.push(message, count);
    } else {
      requests.read(message, count);
    }
  }
  static_cast<void>(requests.store().take_snapshots());
  requests.store().read({.rank = 1, .version = {}, .ids = {0, 1, 7}},
                        [](const Result<std::vector<float>>& rows) {
                          ENSURE(rows.has_value() && rows->size() == 3 * width);
                        });
  requests.store().close(unavailable("the end"));
  ENSURE(answered == asked);
  return 0;
}
