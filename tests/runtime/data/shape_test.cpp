// What a ps learns of data without reading it is what a worker finds in it.
#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/data/dataset.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

DatasetSpec libsvm_spec(const TempFolder& folder) {
  DatasetSpec spec;
  spec.format = "libsvm";
  spec.path = folder.write("train.txt", "+1 1:1 3:2\n-1 2:1\n-1 3:1\n+1 1:4\n-1 2:9\n");
  return spec;
}

void check_same(const DatasetSpec& spec) {
  const auto shape = read_shape(spec, 7, ExampleCount::needed);
  const auto data = open_dataset(spec, 7);
  REQUIRE(shape);
  REQUIRE(data);
  REQUIRE((*data)->prepare(Split::train));
  CHECK(*shape == shape_of(**data));
  Batch batch;  // and so it is
  REQUIRE(
      (*data)->read({Split::train, std::vector<std::int64_t>{shape->train_examples - 1}}, batch));
  CHECK(batch.examples == 1);
  const auto first_look = read_shape(spec, 7, ExampleCount::unneeded);
  REQUIRE(first_look);
  CHECK(first_look->example == (*data)->shape());
}

}  // namespace

TEST_CASE("the shape that a first look gives is the shape of the data", "[shape][mend-B16]") {
  const TempFolder folder;
  DatasetSpec spec;
  SECTION("synthetic digits") {
    spec.format = "synthetic_digits";
    spec.train_examples = 20;
    spec.test_examples = 10;
  }
  SECTION("csv with classes") {
    spec.format = "csv";
    spec.path = folder.write("table.csv", "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,z\n9,10,y\n");
  }
  SECTION("csv with targets and a limit") {
    spec.format = "csv";
    spec.path = folder.write("line.csv", "1,2.5\n2,4.5\n3,6.5\n4,8.5\n5,10.5\n");
    spec.train_examples = 2;
  }
  SECTION("libsvm") { spec = libsvm_spec(folder); }
  SECTION("libsvm with a test file") {
    spec = libsvm_spec(folder);
    spec.test_path = folder.write("test.txt", "-1 9:1\n+1 1:1\n");
  }
  SECTION("libsvm of known width") {
    spec = libsvm_spec(folder);
    spec.features = 12;
  }
  SECTION("MNIST") {
    spec.format = "idx";
    spec.path = "../shared/data/mnist";
    spec.train_examples = 1000;
    if (!std::filesystem::exists(spec.path)) {
      WARN("skipped: there is no MNIST in " << spec.path);
      return;
    }
  }
  check_same(spec);
}

TEST_CASE("a ps reads nothing of LibSVM data whose width it is told", "[shape][mend-B16]") {
  DatasetSpec spec;
  spec.format = "libsvm";
  spec.path = "/nowhere";
  spec.features = 5;
  CHECK(read_shape(spec, 1, ExampleCount::unneeded));
  CHECK_FALSE(read_shape(spec, 1, ExampleCount::needed));
}

TEST_CASE("ten million digits are there at once, and each is its own", "[shape][mend-B16]") {
  DatasetSpec many;
  many.format = "synthetic_digits";
  many.train_examples = 1'000'000;
  many.test_examples = 1;
  DatasetSpec few = many;
  few.train_examples = 40;
  const auto large = open_dataset(many, 3);
  const auto small = open_dataset(few, 3);
  REQUIRE(large);
  REQUIRE(small);
  Batch first;
  Batch again;
  const std::vector<std::int64_t> some{39, 4, 4, 17};
  REQUIRE((*large)->read({Split::train, some}, first));
  REQUIRE((*large)->read({Split::train, some}, again));  // kept now
  CHECK(first.features == again.features);
  CHECK(first.labels == again.labels);
  REQUIRE((*small)->read({Split::train, some}, again));
  CHECK(first.features == again.features);
  CHECK(first.labels == again.labels);
}

}  // namespace trainyard::runtime
