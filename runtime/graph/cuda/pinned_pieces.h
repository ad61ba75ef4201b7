// Memory of the host that a GPU reads and writes by itself: what is copied to or from the GPU goes
// through it, piece by piece, so that a copy holds nobody up.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "runtime/graph/cuda/cuda_status.h"

namespace trainyard::runtime {

class PinnedPieces {
 public:
  // `stream`: that reads or writes them. Made when the first is asked for.
  PinnedPieces(cudaStream_t stream, CudaStatus* status) : stream_(stream), status_(status) {}

  ~PinnedPieces() {
    for (Piece& piece : pieces_) {
      if (piece.used != nullptr) cudaEventDestroy(piece.used);
      if (piece.memory != nullptr) cudaFreeHost(piece.memory);
    }
  }
  PinnedPieces(const PinnedPieces&) = delete;
  PinnedPieces& operator=(const PinnedPieces&) = delete;

  struct Room {
    std::byte* memory = nullptr;  // null: there is none
    std::size_t bytes = 0;        // at least 1, at most what was asked for
  };
  // Room until as many bytes more were taken as all pieces but one have. `empties` is called with
  // the number of a piece whose copies are over, before it is used again.
  template <class Empties>
  Room take(std::size_t wanted, const Empties& empties) {
    if (used_ == piece_bytes) {
      status_->is_good(cudaEventRecord(pieces_[current_].used, stream_), "cudaEventRecord");
      current_ = (current_ + 1) % pieces_.size();
      used_ = 0;
      if (pieces_[current_].memory != nullptr) {
        status_->is_good(cudaEventSynchronize(pieces_[current_].used), "the GPU's work");
        empties(current_);
      }
    }
    Piece& piece = pieces_[current_];
    if (!is_there(piece)) return {};
    const std::size_t bytes = wanted < piece_bytes - used_ ? wanted : piece_bytes - used_;
    std::byte* const memory = piece.memory + used_;
    used_ += (bytes + border - 1) / border * border;
    return {memory, bytes};
  }

  [[nodiscard]] std::size_t current() const { return current_; }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{4} << 20;
  static constexpr std::size_t border = 64;
  struct Piece {
    std::byte* memory = nullptr;
    cudaEvent_t used = nullptr;  // what used it is over
  };

  bool is_there(Piece& piece) {
    if (piece.memory != nullptr) return true;
    void* memory = nullptr;
    if (!status_->is_good(cudaEventCreateWithFlags(&piece.used, cudaEventDisableTiming),
                          "cudaEventCreate") ||
        !status_->is_good(cudaHostAlloc(&memory, piece_bytes, cudaHostAllocDefault),
                          "memory for copies")) {
      return false;
    }
    piece.memory = static_cast<std::byte*>(memory);
    return true;
  }

  cudaStream_t stream_;
  CudaStatus* status_;
  std::array<Piece, 8> pieces_{};
  std::size_t current_ = 0;
  std::size_t used_ = 0;  // bytes of the current one
};

}  // namespace trainyard::runtime
