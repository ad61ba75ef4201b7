#include "tests/bench/ps_process.h"

#include <stop_token>
#include <thread>

#include "runtime/net/ps_server.h"
#include "schemas/base/check.h"

namespace trainyard::bench {

int run_ps_process(std::int64_t elements) {
  using namespace trainyard::runtime;  // NOLINT: this function is about it
  auto server = PsServer::start(
      {.listen = "127.0.0.1:0", .token = "bench"},
      {.rules = {.gate = {.mode = Mode::sync, .ranks = 1, .max_steps = INT64_MAX}, .optimizer = {}},
       .share = plan_shares(elements, 1).front(),
       .arena_elements = elements,
       .shard = ParameterShard({}, AlignedBuffer(static_cast<std::size_t>(elements)), {}),
       .start = {},
       .files = {}});
  ENSURE(server.has_value());
  write_line(std::to_string((*server)->port()));
  std::stop_source over;
  std::thread([over]() mutable {
    for (std::string line; read_line(line);) {
    }
    over.request_stop();
  }).detach();
  return (*server)->serve(over.get_token()).has_value() ? 0 : 1;
}

}  // namespace trainyard::bench
