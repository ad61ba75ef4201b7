// PNG by libpng. It leaves at a fault by longjmp: the functions between setjmp and it hold nothing
// that has a destructor.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/data/image_file.h"

namespace trainyard::runtime {
namespace {

struct PngSource {
  std::span<const std::uint8_t> bytes;
  std::size_t place = 0;
  bool is_cut = false;
  char fault[128] = "";  // libpng's words
};

[[noreturn]] void png_fault(png_structp png, png_const_charp message) {
  auto* const source = static_cast<PngSource*>(png_get_error_ptr(png));
  std::strncpy(source->fault, message, sizeof source->fault - 1);
  png_longjmp(png, 1);
}

// Of parts that do not change the pixels: a bad time, a bad text.
void png_ignore(png_structp, png_const_charp) {}

void png_take(png_structp png, png_bytep to, png_size_t count) {
  auto* const source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->bytes.size() - source->place) {
    source->is_cut = true;
    png_error(png, "is truncated");
  }
  std::memcpy(to, source->bytes.data() + source->place, count);
  source->place += count;
}

class PngReader {
 public:
  explicit PngReader(PngSource& source)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, png_fault, png_ignore)),
        info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {
    if (info_ == nullptr) return;
    png_set_read_fn(png_, &source, png_take);
    // What has no pixels is skipped: a text or a colour profile may claim 2 GiB, for which libpng
    // makes room before it reads.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  [[nodiscard]] bool is_ready() const { return info_ != nullptr; }

  // False at a fault.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    return true;
  }

  // What follows is bytes: grey, or red, green and blue. 0 at a fault.
  std::size_t choose_format() {
    if (setjmp(png_jmpbuf(png_)) != 0) return 0;
    const int type = png_get_color_type(png_, info_);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return png_get_rowbytes(png_, info_);
  }

  // The rows, then what is left of the file, so that its sums are checked too.
  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  [[nodiscard]] std::int64_t height() const { return png_get_image_height(png_, info_); }
  [[nodiscard]] std::int64_t width() const { return png_get_image_width(png_, info_); }
  [[nodiscard]] std::int64_t channels() const { return png_get_channels(png_, info_); }

 private:
  png_structp png_;
  png_infop info_;
};

Error png_error_of(const PngSource& source) {
  if (source.is_cut) return invalid("is truncated");
  return invalid("is a damaged PNG image: " + std::string(source.fault));
}

}  // namespace

Result<Image> decode_png(std::span<const std::uint8_t> bytes) {
  PngSource source{.bytes = bytes};
  PngReader reader(source);
  if (!reader.is_ready()) return unavailable("cannot be decoded: no memory for libpng");
  if (!reader.read_header()) return png_error_of(source);
  TRY(check_image_size(reader.height(), reader.width()));
  const std::size_t row_bytes = reader.choose_format();
  if (row_bytes == 0) return png_error_of(source);
  Image image{
      .shape = {.height = reader.height(), .width = reader.width(), .channels = reader.channels()},
      .pixels = {}};
  const bool is_known = image.shape.channels == 1 || image.shape.channels == 3;
  if (!is_known || image.shape.bytes() != row_bytes * static_cast<std::size_t>(reader.height())) {
    return invalid("is a PNG image of a kind that is not read");
  }
  image.pixels.resize(image.shape.bytes());
  std::vector<png_bytep> rows;
  for (std::size_t begin = 0; begin < image.pixels.size(); begin += row_bytes) {
    rows.push_back(image.pixels.data() + begin);
  }
  if (!reader.read_rows(rows.data())) return png_error_of(source);
  return image;
}

}  // namespace trainyard::runtime
