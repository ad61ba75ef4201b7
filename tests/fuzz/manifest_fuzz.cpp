// The manifest of a checkpoint, and the names of tensors in its shards.
#include "schemas/base/check.h"
#include "schemas/wire/checkpoint_json.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto range = parse_tensor_name(text)) {
    const auto again = parse_tensor_name(to_tensor_name(*range));
    ENSURE(again.has_value() && *again == *range);
  }
  const auto manifest = parse_manifest(text);
  if (!manifest) return 0;
  const std::string written = to_json(*manifest);
  const auto again = parse_manifest(written);
  ENSURE(again.has_value());
  ENSURE(to_json(*again) == written);  // as text: a number that is none does not equal itself
  return 0;
}
