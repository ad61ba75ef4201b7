// What a ps is sent by workers that share memory with it. Each packet comes after a byte that says
// what memory goes with it and a byte of length.
#include "runtime/net/packet_socket.h"
#include "runtime/net/shared_floats.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/ps_peer.h"

using namespace trainyard;
using namespace trainyard::runtime;
using namespace trainyard::runtime::test;

namespace {

std::optional<SharedFloats> memory_of(std::uint8_t choice) {
  if (choice % 4 == 0) return std::nullopt;
  const bool too_little = choice % 4 == 1;
  return *SharedFloats::create(too_little ? 1 : fuzz::gradient_elements);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Gang gang(fuzz::small_ps());
  const auto socket = PacketSocket::connect(describe(gang.addresses().front()).shared_socket());
  ENSURE(socket.has_value());
  std::string_view rest = fuzz::text_of(data, size);
  while (rest.size() >= 2) {
    const auto memory = memory_of(data[size - rest.size()]);
    const auto length = static_cast<std::uint8_t>(rest[1]);
    const std::string_view packet = rest.substr(2, length);
    rest.remove_prefix(2 + packet.size());
    if (!socket->send(packet, memory ? memory->descriptor() : -1)) break;
  }
  fuzz::await_end(socket->descriptor());
  fuzz::ensure_it_lives(gang);
  return 0;
}
