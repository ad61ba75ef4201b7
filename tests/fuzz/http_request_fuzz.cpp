// An HTTP request: whole and byte by byte it is read as the same, and what routes do with its parts
// is done.
#include "api/http/address.h"
#include "api/http/byte_range.h"
#include "api/http/request_parser.h"
#include "api/http/url.h"
#include "schemas/base/check.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;
using State = api::RequestParser::State;

namespace {

constexpr api::RequestLimits limits{.head_bytes = 2048, .target_bytes = 512, .body_bytes = 4096};

void use(const api::Request& request) {
  static_cast<void>(api::decode_path_segment(request.path));
  static_cast<void>(api::is_loopback_name(request.header("host")));
  static_cast<void>(api::matches_tag(request.header("if-none-match"), "tag"));
  const api::ByteRange range = api::parse_range(request.header("range"), 1000);
  if (range.kind != api::ByteRange::Kind::part) return;
  ENSURE(range.first >= 0 && range.length > 0 && range.first + range.length <= 1000);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  api::RequestParser whole(limits);
  const State state = whole.feed(bytes);

  api::RequestParser slow(limits);
  State slow_state = State::need_more;
  for (const char byte : bytes) {
    slow_state = slow.feed({&byte, 1});
    if (slow_state == State::complete || slow_state == State::refused) break;
  }
  if (state != State::complete) {
    ENSURE(slow_state != State::complete || state == State::refused);
    return 0;
  }
  ENSURE(slow_state == State::complete);
  const api::Request request = whole.take();
  const api::Request same = slow.take();
  ENSURE(request.path == same.path && request.headers == same.headers && request.body == same.body);
  ENSURE(request.body.size() <= limits.body_bytes);
  use(request);
  return 0;
}
