// What a listener has left when no more files may be opened: one that it closes for a moment, to
// take a caller and close it. Else a poll would report the caller for ever.
#pragma once

#include "runtime/net/stream_socket.h"
#include "schemas/base/descriptor.h"

namespace trainyard::runtime {

class SpareDescriptor {
 public:
  SpareDescriptor();

  // Right after StreamSocket::accept() found nobody: somebody calls, but there is no room.
  [[nodiscard]] static bool is_needed();
  // Who called first is gone.
  void turn_away(const StreamSocket& listener);

 private:
  Descriptor spare_;
};

}  // namespace trainyard::runtime
