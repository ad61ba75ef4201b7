#include "tests/bench/ps_process.h"

#include "schemas/wire/spec_names.h"
#include "tests/bench/chunk_gang.h"

namespace trainyard::bench {

PsProcess::PsProcess(std::int64_t elements, Wire wire)
    : process_({"--ps", std::to_string(elements), std::string(find_name(wire_names, wire))}),
      address_("127.0.0.1:" + process_.read_line()) {}

int run_ps_process(std::int64_t elements, std::string_view wire) {
  const WireSpec spec = wire_by_word(find_value(wire_names, wire).value());
  const auto server = serve_share({.elements = elements, .wire = spec}, 0);
  write_line(std::to_string(server->port()));
  for (std::string line; read_line(line);) {
  }
  return 0;
}

}  // namespace trainyard::bench
