// PGM and PPM as cameras and scripts write them: binary, a byte for each value.
#include <optional>
#include <string>

#include "runtime/data/image_file.h"

namespace trainyard::runtime {
namespace {

// The words of a header: numbers between white space and comments.
class Header {
 public:
  explicit Header(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  // The next number, which is below 2^31.
  std::optional<std::int64_t> number() {
    while (place_ < bytes_.size() && (is_space() || bytes_[place_] == '#')) {
      if (bytes_[place_] == '#') {
        while (place_ < bytes_.size() && bytes_[place_] != '\n') ++place_;
      } else {
        ++place_;
      }
    }
    const std::size_t begin = place_;
    std::int64_t value = 0;
    while (place_ < bytes_.size() && bytes_[place_] >= '0' && bytes_[place_] <= '9') {
      value = 10 * value + (bytes_[place_++] - '0');
      if (value >= std::int64_t{1} << 31) return std::nullopt;
    }
    if (place_ == begin) return std::nullopt;
    return value;
  }

  // What follows the one white space behind the last number.
  std::optional<std::span<const std::uint8_t>> rest() {
    if (place_ >= bytes_.size() || !is_space()) return std::nullopt;
    return bytes_.subspan(place_ + 1);
  }

 private:
  [[nodiscard]] bool is_space() const {
    const std::uint8_t byte = bytes_[place_];
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t place_ = 2;  // behind "P5"
};

}  // namespace

Result<Image> decode_netpbm(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2 || bytes[0] != 'P' || (bytes[1] != '5' && bytes[1] != '6')) {
    return invalid("is a PBM, PGM or PPM file, of which binary PGM (P5) and PPM (P6) are read");
  }
  Header header(bytes);
  const auto width = header.number();
  const auto height = header.number();
  const auto most = header.number();
  const auto data = header.rest();
  if (!width || !height || !most || !data) return invalid("has a damaged header");
  if (*most < 1 || *most > 255) {
    return invalid("has values up to " + std::to_string(*most) + ", of which 1 to 255 are read");
  }
  TRY(check_image_size(*height, *width));
  Image image{.shape = {.height = *height, .width = *width, .channels = bytes[1] == '5' ? 1 : 3},
              .pixels = {}};
  const std::size_t size = image.shape.bytes();
  if (data->size() < size) return invalid("is truncated");
  image.pixels.assign(data->begin(), data->begin() + static_cast<std::ptrdiff_t>(size));
  if (*most == 255) return image;
  for (std::uint8_t& byte : image.pixels) {
    if (byte > *most) return invalid("has a value above the " + std::to_string(*most) + " it says");
    byte = static_cast<std::uint8_t>((byte * 255 + *most / 2) / *most);
  }
  return image;
}

}  // namespace trainyard::runtime
