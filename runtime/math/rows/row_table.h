// One embedding table, or a ps' share of it: rows by id, each with the slots of its optimizer. A
// row is made when it is first learned; until then reading it computes how it starts, which is a
// function of (seed, id) alone. So no order of events and no number of ps makes a difference, and a
// table may have more rows than fit any memory as long as few of them are ever learned.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/row_layout.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/math/rows/block_pool.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/math/rows/row_index.h"

namespace trainyard::runtime {

class RowTable {
 public:
  // That of this number in the layout, which is of all of a model's tables.
  RowTable(RowLayout layout, std::uint64_t seed, const OptimizerConfig& optimizer,
           std::int64_t table = 0);

  // The same rows, to be updated apart. What is not changed on either side stays shared, so this is
  // quick; the first change of a block of rows copies the block. One thread calls fork() and
  // changes the original; the copy may be read on another.
  [[nodiscard]] RowTable fork();

  struct Update {
    double learning_rate = 0;
    std::int64_t step = 1;  // the optimizer's, counted from 1, of the whole model
    float gradient_scale = 1;
  };

  // The values of these rows, [ids, width].
  void read(std::span<const std::int64_t> ids, std::span<float> rows) const;

  // One update of each of the gradients' rows; no other row changes, nor do its slots. These are
  // the "sparse" or "lazy" optimizers of TensorFlow and PyTorch (SparseAdam): weight decay and
  // momentum work on a row only when it is touched, and adam's bias correction counts the model's
  // steps.
  // `before`, if not empty, receives the rows' values as they were, [ids, width].
  void apply(const RowGradients& gradients, const Update& update, std::span<float> before = {});

  // A row as a checkpoint has it: its values and slots, [1 + slots][width].
  void put(std::int64_t id, std::span<const float> row);
  // For checkpoints: all rows by ascending id, each as put() takes it.
  struct Stored {
    std::int64_t id = 0;
    const float* floats = nullptr;  // stride() of them, until the next change
  };
  [[nodiscard]] std::vector<Stored> stored() const;

  [[nodiscard]] std::int64_t width() const { return width_; }
  // Floats of a row with its slots: (1 + slots) * width.
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  // Of rows that lie together, each with its slots behind it.
  struct Block {
    std::vector<std::int64_t> ids;
    std::shared_ptr<float> floats;
  };
  // Shared with a fork until the next change.
  template <class T>
  struct Lent {
    std::shared_ptr<T> value;
    bool lent = false;
  };

  void start_row(std::int64_t id, std::span<float> row) const;
  void find_rows(std::span<const std::int64_t> ids, std::span<const float*> found) const;
  struct SomeRows {
    std::span<const std::int64_t> ids;
    std::span<const float> gradients;
    std::span<float> before;    // or none
    std::span<float> gathered;  // room
  };
  void apply_to_some(const SomeRows& some, const Update& update);
  float* row_to_change(std::int64_t id);
  RowIndex& own_index();
  Block& own_block(std::size_t number);
  [[nodiscard]] const float* row(std::uint32_t number) const;

  RowLayout layout_;
  std::int64_t table_;
  std::uint64_t seed_;
  OptimizerConfig optimizer_;
  std::uint32_t width_;  // unsigned, so that the compiler knows it for a size
  std::size_t stride_;
  std::size_t size_ = 0;
  Lent<RowIndex> index_;
  std::vector<Lent<Block>> blocks_;
  std::vector<float*> begins_;  // of the blocks' floats: one look less on the way to a row
  BlockPool pool_;              // of the blocks' floats
};

}  // namespace trainyard::runtime
