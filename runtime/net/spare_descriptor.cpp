#include "runtime/net/spare_descriptor.h"

#include <fcntl.h>

#include <cerrno>

namespace trainyard::runtime {
namespace {

Descriptor any_file() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

SpareDescriptor::SpareDescriptor() : spare_(any_file()) {}

bool SpareDescriptor::is_needed() { return errno == EMFILE || errno == ENFILE; }

void SpareDescriptor::turn_away(const StreamSocket& listener) {
  spare_ = Descriptor();
  static_cast<void>(listener.accept());
  spare_ = any_file();
}

}  // namespace trainyard::runtime
