#include "tests/e2e/frame_name.h"

#include <cstddef>
#include <span>

#include "runtime/net/chunks/chunk_frame.h"

namespace trainyard::e2e {
namespace {

using runtime::FrameHeader;
using runtime::FrameKind;

std::string marked(const FrameHeader& header, const std::string& name) {
  return header.snapshot == 0 ? name : name + " for a checkpoint";
}

std::string flagged(const FrameHeader& header, const std::string& name,
                    const std::string& with_flag) {
  return header.flag ? with_flag : name;
}

std::string name_of(const FrameHeader& header) {
  switch (header.kind) {
    case FrameKind::hello: return "hello";
    case FrameKind::gradient: return marked(header, "gradient");
    case FrameKind::ask_parameters:
      return flagged(header, "ask_parameters", "ask_parameters of a chunk");
    case FrameKind::ask_turn: return "ask_turn";
    case FrameKind::ended: return "ended";
    case FrameKind::sums: return "sums";
    case FrameKind::ask_residuals: return "ask_residuals";
    case FrameKind::residual: return "residual";
    case FrameKind::goodbye: return "goodbye";
    case FrameKind::begin_snapshot: return "begin_snapshot";
    case FrameKind::ask_shard: return "ask_shard";
    case FrameKind::ask_weights: return "ask_weights";
    case FrameKind::finish: return "finish";
    case FrameKind::whole: return marked(header, "whole");
    case FrameKind::named: return "named";
    case FrameKind::total_squares: return "total_squares";
    case FrameKind::welcome: return "welcome";
    case FrameKind::parameters:
      return header.snapshot == 0 ? "parameters" : "parameters that ask for a residual";
    case FrameKind::turn: return flagged(header, marked(header, "turn"), "turn that is over");
    case FrameKind::applied: return "applied";
    case FrameKind::shard: return flagged(header, "shard", "shard that is refused");
    case FrameKind::weights: return flagged(header, "weights", "weights that are refused");
    case FrameKind::released: return "released";
    case FrameKind::refused: return "refused";
    case FrameKind::residual_taken: return "residual_taken";
    case FrameKind::restored_residual: return "restored_residual";
    case FrameKind::late: return "late";
    case FrameKind::squares: return "squares";
  }
  return "frame";
}

}  // namespace

std::optional<std::string> frame_name(std::string_view bytes) {
  if (bytes.size() < runtime::frame_header_bytes) return std::nullopt;
  const auto all = std::as_bytes(std::span(bytes));
  const auto header = runtime::decode_header(all.first<runtime::frame_header_bytes>());
  if (!header.has_value()) return std::nullopt;
  return name_of(*header);
}

}  // namespace trainyard::e2e
