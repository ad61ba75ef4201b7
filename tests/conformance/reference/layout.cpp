// The same numbers at other places; sums, means and largest values over axes.
#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

// A number for each axis, the batch's first.
using Index = std::vector<std::int64_t>;

Index index_of(std::int64_t at, const Shape& shape) {
  Index index(shape.rank());
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    index[axis] = at % shape[axis];
    at /= shape[axis];
  }
  return index;
}

std::int64_t place_of(const Index& index, const Shape& shape) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) place = place * shape[axis] + index[axis];
  return place;
}

// What lies at each index of the output.
template <class Find>
Numbers found(const Call& call, Find find) {
  Numbers y;
  for (std::int64_t i = 0; i < call.output.elements(); ++i) {
    y.push_back(find(index_of(i, call.output)));
  }
  return y;
}

}  // namespace

Numbers defined(const ReshapeOp&, const Call& call) { return call.x().values; }

Numbers defined(const TransposeOp& op, const Call& call) {
  return found(call, [&](const Index& at) {
    Index from(at.size());
    from[0] = at[0];
    for (std::size_t axis = 0; axis < op.axes.rank(); ++axis) {
      from[static_cast<std::size_t>(op.axes[axis]) + 1] = at[axis + 1];
    }
    return call.x()[place_of(from, call.x().shape)];
  });
}

Numbers defined(const ConcatOp& op, const Call& call) {
  return found(call, [&](Index at) {
    std::size_t input = 0;
    for (; at[op.axis + 1] >= call.inputs[input].shape[op.axis + 1]; ++input) {
      at[op.axis + 1] -= call.inputs[input].shape[op.axis + 1];
    }
    return call.inputs[input][place_of(at, call.inputs[input].shape)];
  });
}

Numbers defined(const SliceOp& op, const Call& call) {
  return found(call, [&](Index at) {
    at[op.axis + 1] += op.begin;
    return call.x()[place_of(at, call.x().shape)];
  });
}

Numbers defined(const PadOp& op, const Call& call) {
  return found(call, [&](Index at) {
    const Shape& shape = call.x().shape;
    for (std::size_t axis = 0; axis < op.before.rank(); ++axis) {
      std::int64_t& place = at[axis + 1];
      place -= op.before[axis];
      if (place < 0 || place >= shape[axis + 1]) return Number(static_cast<double>(op.value));
    }
    return call.x()[place_of(at, shape)];
  });
}

Numbers defined(const ReduceOp& op, const Call& call) {
  const Array& x = call.x();
  std::vector<bool> is_gone(x.shape.rank());
  for (const std::int64_t axis : op.axes.sizes())
    is_gone[static_cast<std::size_t>(axis) + 1] = true;
  std::vector<Sum> sums(static_cast<std::size_t>(call.output.elements()));
  std::vector<const Number*> largest(sums.size());
  for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
    const Index at = index_of(i, x.shape);
    std::size_t to = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (!is_gone[axis]) {
        to = to * static_cast<std::size_t>(x.shape[axis]) + static_cast<std::size_t>(at[axis]);
      }
    }
    sums[to].add(x[i]);
    if (largest[to] == nullptr || largest[to]->value < x[i].value) largest[to] = &x[i];
  }
  const double count =
      static_cast<double>(x.shape.elements()) / static_cast<double>(call.output.elements());
  Numbers y;
  for (std::size_t to = 0; to < sums.size(); ++to) {
    switch (op.kind) {
      case Reduction::sum: y.push_back(sums[to].number()); break;
      case Reduction::mean: y.push_back(sums[to].number() / count); break;
      case Reduction::max: y.push_back(*largest[to]); break;
    }
  }
  return y;
}

}  // namespace trainyard::runtime::reference
