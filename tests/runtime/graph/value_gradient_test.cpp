// Ops of values with each other: elementwise ones, layout, reductions, rows and products.
#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

namespace {

using enum Nonlinearity;

NodeId flat(Graph& graph, NodeId x) {
  return graph.add(ReshapeOp{{graph.nodes()[x].shape.elements()}}, {x});
}

// x of a shape, what `add_ops` makes of it, a head and a loss; x is read once, or by somebody else,
// too: an op that works in place may not overwrite it then.
template <class AddOps>
SmallGraph graph_through(const Shape& shape, bool is_read_twice, AddOps add_ops) {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId first = dense(graph, graph.add_features({5}), shape.elements());
  // Small, so that differences are near slopes.
  const NodeId x = graph.add(ReshapeOp{shape}, {graph.add(AffineOp{{.scale = 0.3F}}, {first})});
  NodeId y = flat(graph, add_ops(graph, x));
  if (is_read_twice) {
    y = graph.add(ConcatOp{0}, {y, flat(graph, graph.add(ActivationOp{tanh}, {x}))});
  }
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, y, 3)});
  return small;
}

template <class AddOps>
void require_right_through(const Shape& shape, AddOps add_ops) {
  for (const bool is_read_twice : {false, true}) {
    require_gradients_right(graph_through(shape, is_read_twice, add_ops), 3);
  }
}

void require_right(const Shape& shape, const Op& op) {
  require_right_through(shape, [&](Graph& graph, NodeId x) { return graph.add(op, {x}); });
}

NodeId shifted(Graph& graph, NodeId x, float shift) {
  return graph.add(AffineOp{{.shift = shift}}, {x});
}

NodeId positive(Graph& graph, NodeId x) {
  return shifted(graph, graph.add(ActivationOp{softplus}, {x}), 0.5F);
}

// Another value of that shape, made of x.
NodeId another(Graph& graph, NodeId x, const Shape& shape) {
  return graph.add(ReshapeOp{shape}, {dense(graph, flat(graph, x), shape.elements())});
}

}  // namespace

TEST_CASE("gradients through activations agree with finite differences", "[gradient]") {
  // Below, where they are steep or bent.
  constexpr std::array others{Nonlinearity::relu, Nonlinearity::leaky_relu, Nonlinearity::exp,
                              Nonlinearity::abs};
  for (const auto& [name, kind, domain] : nonlinearities) {
    if (std::ranges::find(others, kind) != others.end()) continue;
    INFO(name);
    const ActivationOp op{{kind, 1.0F}};
    const bool is_above_zero = domain == Domain::above_zero;
    require_right_through({6}, [&](Graph& graph, NodeId x) {
      return graph.add(op, {is_above_zero ? positive(graph, x) : x});
    });
  }
  require_right_through({6}, [&](Graph& graph, NodeId x) {
    const NodeId small = graph.add(AffineOp{{.scale = 0.25F, .shift = -0.5F}}, {x});
    return graph.add(ActivationOp{Nonlinearity::exp}, {small});
  });
  // On either side of their kinks.
  for (const Activation& bent : std::initializer_list<Activation>{
           relu, {leaky_relu, 0.3F}, {elu, 2.5F}, Nonlinearity::abs}) {
    INFO("kind " << static_cast<int>(bent.kind));
    for (const float shift : {-20.0F, 20.0F}) {
      require_right_through({6}, [&](Graph& graph, NodeId x) {
        return graph.add(ActivationOp{bent}, {shifted(graph, x, shift)});
      });
    }
  }
}

TEST_CASE("gradients through learned slopes agree with finite differences", "[gradient]") {
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{2, 2, 1}}) {
    for (const float shift : {-20.0F, 20.0F}) {  // on either side of the kink
      INFO("rank " << shape.rank() << " shift " << shift);
      require_right_through(shape, [&](Graph& graph, NodeId x) {
        const NodeId slope = graph.add_variable("slope", {shape.columns()});
        const NodeId bent = graph.add(PreluOp{}, {shifted(graph, x, shift), slope});
        return graph.add(AffineOp{{.scale = 0.1F}}, {bent});
      });
    }
  }
}

TEST_CASE("gradients through straight lines and limits agree with finite differences",
          "[gradient]") {
  require_right({6}, AffineOp{{.scale = -1.5F, .shift = 0.5F}});
  require_right({6}, ClipOp{{.least = -50, .most = 50}});
  for (const float shift : {-20.0F, 20.0F}) {  // all of it is beyond
    require_right_through({6}, [&](Graph& graph, NodeId x) {
      const NodeId clipped = graph.add(ClipOp{{}}, {shifted(graph, x, shift)});
      return graph.add(AddOp{}, {clipped, x});
    });
  }
}

TEST_CASE("gradients through binary functions agree with finite differences", "[gradient]") {
  const std::initializer_list<Shape> shapes{{2, 3, 2}, {2}, {3, 1}, {1, 3, 1}, {1}, {2, 1, 2}};
  for (const Shape& shape : shapes) {
    for (const Binary op : {Binary::add, Binary::sub, Binary::mul, Binary::div}) {
      INFO("op " << static_cast<int>(op) << " rank " << shape.rank());
      require_right_through({2, 3, 2}, [&](Graph& graph, NodeId x) {
        NodeId b = another(graph, x, shape);
        if (op == Binary::div) b = positive(graph, b);
        return graph.add(BinaryOp{op}, {x, b});
      });
    }
    for (const Binary op : {Binary::max, Binary::min}) {
      for (const float shift : {-20.0F, 20.0F}) {
        INFO("op " << static_cast<int>(op) << " rank " << shape.rank() << " shift " << shift);
        require_right_through({2, 3, 2}, [&](Graph& graph, NodeId x) {
          return graph.add(BinaryOp{op}, {shifted(graph, another(graph, x, shape), shift), x});
        });
      }
    }
  }
  // A value with itself.
  require_right_through({4}, [](Graph& graph, NodeId x) {
    return graph.add(BinaryOp{Binary::mul}, {x, x});
  });
}

TEST_CASE(
    "gradients through transposed, joined, cut and padded values agree with finite differences",
    "[gradient]") {
  for (const AxisNumbers& axes :
       {AxisNumbers{0, 1, 2}, AxisNumbers{1, 0, 2}, AxisNumbers{2, 0, 1}, AxisNumbers{1, 2, 0}}) {
    require_right({2, 3, 2}, TransposeOp{axes});
  }
  for (const std::size_t axis : {0U, 1U}) {
    require_right_through({2, 3}, [&](Graph& graph, NodeId x) {
      const NodeId bent = graph.add(ActivationOp{sigmoid}, {x});
      return graph.add(ConcatOp{axis}, {x, bent, x});
    });
    // Two slices of one value, which overlap.
    require_right_through({3, 3}, [&](Graph& graph, NodeId x) {
      const NodeId head = graph.add(SliceOp{axis, 0, 2}, {x});
      const NodeId tail = graph.add(SliceOp{axis, 1, 2}, {x});
      return graph.add(BinaryOp{Binary::mul}, {head, tail});
    });
  }
  require_right({3}, SliceOp{0, 1, 1});
  require_right({2, 2}, PadOp{.before = {1, 0}, .after = {0, 2}, .value = 3.0F});
}

TEST_CASE("gradients through reductions agree with finite differences", "[gradient]") {
  for (const Reduction kind : {Reduction::sum, Reduction::mean}) {
    for (const AxisNumbers& axes : {AxisNumbers{}, AxisNumbers{0}, AxisNumbers{1}, AxisNumbers{2},
                                    AxisNumbers{2, 0}, AxisNumbers{0, 1, 2}}) {
      for (const bool keeps_axes : {false, true}) {
        INFO("kind " << static_cast<int>(kind) << " axes " << axes.rank());
        require_right({2, 3, 2}, ReduceOp{kind, axes, keeps_axes});
      }
    }
  }
  // The middle one of three is the largest everywhere.
  require_right_through({2, 2}, [](Graph& graph, NodeId x) {
    const NodeId all = graph.add(
        ConcatOp{1}, {shifted(graph, x, -20), shifted(graph, x, 20), shifted(graph, x, -10)});
    const NodeId apart = graph.add(ReshapeOp{{2, 3, 2}}, {all});
    return graph.add(ReduceOp{Reduction::max, {1}}, {apart});
  });
}

TEST_CASE("gradients through functions of rows agree with finite differences", "[gradient]") {
  for (const Op& op : {Op{SoftmaxOp{}}, Op{LogSoftmaxOp{}}, Op{L2NormalizeOp{}}}) {
    require_right({2, 4}, op);
    require_right({5}, op);
  }
}

TEST_CASE("gradients through products of values agree with finite differences", "[gradient]") {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      require_right_through({2, 2, 3}, [&](Graph& graph, NodeId x) {
        const NodeId left = a ? graph.add(TransposeOp{{0, 2, 1}}, {x}) : x;
        const NodeId right = another(graph, x, b ? Shape{2, 2, 3} : Shape{2, 3, 2});
        return graph.add(MatrixProductOp{{.a = a, .b = b}}, {left, right});
      });
    }
  }
  require_right_through({2, 3}, [](Graph& graph, NodeId x) {  // with itself
    return graph.add(MatrixProductOp{{.b = true}}, {x, x});
  });
  require_right({3, 2}, FactorizeOp{});
  require_right({4, 2}, PairwiseDotOp{});
}

TEST_CASE("an example's value has the same bits in every batch", "[graph]") {
  const auto values_of = [](std::int64_t first, std::int64_t examples) {
    SmallGraph small = graph_through({4, 6}, true, [](Graph& graph, NodeId x) {
      const NodeId turned = graph.add(TransposeOp{{1, 0}}, {x});
      const NodeId product = graph.add(MatrixProductOp{}, {x, turned});
      const NodeId rows = graph.add(SoftmaxOp{}, {product});
      const NodeId mean = graph.add(ReduceOp{Reduction::mean, {0}}, {product});
      const NodeId scaled = graph.add(BinaryOp{Binary::mul}, {rows, mean});
      const NodeId gated = graph.add(ActivationOp{gelu}, {scaled});
      return graph.add(ConcatOp{0}, {gated, graph.add(L2NormalizeOp{}, {product})});
    });
    const NodeId loss = small.loss;
    Executor executor(std::move(small.graph), {.examples = 8, .loss = loss, .outputs = {loss}});
    const auto parameters =
        random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
    OwnedFeed owned = random_feed(8, 5);
    const auto from = static_cast<std::ptrdiff_t>(first);
    owned.features = {owned.features.begin() + 5 * from,
                      owned.features.begin() + 5 * (from + examples)};
    owned.labels = {owned.labels.begin() + from, owned.labels.begin() + from + examples};
    executor.forward(parameters, owned.feed(examples), Pass::train);
    const auto values = executor.value(loss).span();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> whole = values_of(0, 8);
  for (const std::int64_t cut : {1, 3, 7}) {
    std::vector<float> parts = values_of(0, cut);
    for (const float value : values_of(cut, 8 - cut)) parts.push_back(value);
    CHECK(parts == whole);
  }
}

}  // namespace trainyard::runtime
