// An image file of any of the formats.
#include "runtime/data/image_file.h"
#include "schemas/base/check.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::int64_t channels : {1, 3}) {
    const auto image = runtime::decode_image({data, size}, channels);
    if (image) {
      ENSURE(image->shape.channels == channels && image->pixels.size() == image->shape.bytes());
    } else {
      ENSURE(!image.error().message.empty());
    }
  }
  return 0;
}
