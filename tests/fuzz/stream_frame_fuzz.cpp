// What a ps is sent by a stream socket: frames of a worker that has the token, or, where the first
// byte is even, of anybody.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/ps_peer.h"

using namespace trainyard;
using namespace trainyard::runtime;
using namespace trainyard::runtime::test;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Gang gang(fuzz::small_ps());
  StreamSocket socket = knock(gang.addresses().front(), Door::unix_socket);
  const int descriptor = socket.descriptor();
  StreamClient client(std::move(socket));
  if (data[0] % 2 == 1) client.send_hello();
  client.send(fuzz::text_of(data, size).substr(1));
  fuzz::await_end(descriptor);
  fuzz::ensure_it_lives(gang);
  return 0;
}
