// JPEG by libjpeg-turbo, with its slow integer transform and its smooth upsampling, whose bytes are
// the same with and without SIMD. It leaves at a fault by longjmp: the functions between setjmp and
// it hold nothing that has a destructor.
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

// After <cstdio>, whose FILE it uses.
#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>

#include "runtime/data/image_file.h"

namespace trainyard::runtime {
namespace {

// A progressive file of many empty scans would take minutes to decode.
constexpr int scans_max = 100;

struct JpegFault {
  jpeg_error_mgr errors{};  // first: libjpeg knows no more of it
  std::jmp_buf out{};
  bool is_cut = false;
  char words[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void leave(j_common_ptr jpeg) {
  auto* const fault = reinterpret_cast<JpegFault*>(jpeg->err);
  jpeg->err->format_message(jpeg, fault->words);
  std::longjmp(fault->out, 1);
}

// A warning is of damage that libjpeg would paint over, but for some that change no pixel.
void judge(j_common_ptr jpeg, int level) {
  if (level >= 0) return;  // a trace
  const int code = jpeg->err->msg_code;
  const bool is_harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR ||
                           code == JWRN_ADOBE_XFORM || code == JWRN_TOO_MUCH_DATA;
  if (is_harmless) return;
  auto* const fault = reinterpret_cast<JpegFault*>(jpeg->err);
  fault->is_cut = code == JWRN_JPEG_EOF;
  leave(jpeg);
}

void print_nothing(j_common_ptr) {}

void count_scans(j_common_ptr jpeg) {
  if (jpeg->is_decompressor == 0) return;
  auto* const decoder = reinterpret_cast<j_decompress_ptr>(jpeg);
  if (decoder->input_scan_number > scans_max) ERREXIT(jpeg, JERR_BAD_PROGRESSION);
}

class JpegReader {
 public:
  explicit JpegReader(JpegFault& fault) : fault_(fault) {
    jpeg_.err = jpeg_std_error(&fault.errors);
    fault.errors.error_exit = leave;
    fault.errors.emit_message = judge;
    fault.errors.output_message = print_nothing;
    progress_.progress_monitor = count_scans;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // False at a fault.
  bool read_header(std::span<const std::uint8_t> bytes) {
    if (setjmp(fault_.out) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    jpeg_mem_src(&jpeg_, bytes.data(), bytes.size());
    jpeg_read_header(&jpeg_, TRUE);
    return true;
  }

  [[nodiscard]] bool is_four_colours() const {
    return jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
  }

  bool start() {
    if (setjmp(fault_.out) != 0) return false;
    jpeg_.out_color_space = jpeg_.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_.dct_method = JDCT_ISLOW;
    jpeg_.do_fancy_upsampling = TRUE;
    jpeg_start_decompress(&jpeg_);
    return true;
  }

  bool read_rows(std::uint8_t* to, std::size_t row_bytes) {
    if (setjmp(fault_.out) != 0) return false;
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW row = to + jpeg_.output_scanline * row_bytes;
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  [[nodiscard]] std::int64_t height() const { return jpeg_.image_height; }
  [[nodiscard]] std::int64_t width() const { return jpeg_.image_width; }
  [[nodiscard]] std::int64_t channels() const { return jpeg_.output_components; }

 private:
  JpegFault& fault_;
  jpeg_decompress_struct jpeg_{};
  jpeg_progress_mgr progress_{};
};

Error jpeg_error_of(const JpegFault& fault) {
  if (fault.is_cut) return invalid("is truncated");
  return invalid("is a damaged JPEG image: " + std::string(fault.words));
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::uint8_t> bytes) {
  JpegFault fault;
  JpegReader reader(fault);
  if (!reader.read_header(bytes)) return jpeg_error_of(fault);
  TRY(check_image_size(reader.height(), reader.width()));
  if (reader.is_four_colours()) return invalid("has four colours (CMYK), which are not read");
  if (!reader.start()) return jpeg_error_of(fault);
  Image image{
      .shape = {.height = reader.height(), .width = reader.width(), .channels = reader.channels()},
      .pixels = {}};
  image.pixels.resize(image.shape.bytes());
  const std::size_t row_bytes = image.pixels.size() / static_cast<std::size_t>(reader.height());
  if (!reader.read_rows(image.pixels.data(), row_bytes)) return jpeg_error_of(fault);
  return image;
}

}  // namespace trainyard::runtime
