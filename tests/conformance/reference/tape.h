// Numbers in double that know what they were made of: a loop that computes values with them has
// its gradients, too, and nobody writes a second loop that could agree with a wrong kernel by the
// same mistake. Reverse accumulation (Griewank and Walther, "Evaluating derivatives", 2008).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace trainyard::runtime::reference {

// A value, and its place on the tape; none for one that no gradient is asked of.
struct Number {
  double value = 0;
  std::int64_t place = -1;

  Number() = default;
  Number(double of) : value(of) {}  // NOLINT: a constant is a number
  Number(double of, std::int64_t at) : value(of), place(at) {}
};

// Where the numbers of one computation are recorded. One of a thread at a time; numbers outlive no
// tape.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Number variable(double value);

  // By place, the gradients of the sum of weights[i] * of[i].
  [[nodiscard]] std::vector<double> gradients(std::span<const Number> of,
                                              std::span<const double> weights) const;

 private:
  friend class Recording;

  struct Dependence {
    std::int64_t on;
    double slope;
  };

  std::vector<Dependence> dependences_;
  std::vector<std::size_t> ends_;  // by place: where its dependences end
};

// One number that is made of others.
class Recording {
 public:
  void depends(const Number& on, double slope);
  // Where nothing recorded is among them: a constant.
  Number made(double value);

 private:
  std::vector<std::pair<std::int64_t, double>> on_;
};

Number operator+(const Number& a, const Number& b);
Number operator-(const Number& a, const Number& b);
Number operator-(const Number& a);
Number operator*(const Number& a, const Number& b);
Number operator/(const Number& a, const Number& b);
Number& operator+=(Number& a, const Number& b);

// f(x) whose value and slope at x are known.
Number function_of(const Number& x, double value, double slope);

Number exp(const Number& x);
Number log(const Number& x);
Number log1p(const Number& x);
Number sqrt(const Number& x);
Number tanh(const Number& x);
Number erf(const Number& x);
Number sigmoid(const Number& x);
// log(exp(a) + exp(b)); either may be minus infinity.
Number log_add(const Number& a, const Number& b);

// A long sum of products: one number on the tape.
class Sum {
 public:
  void add(const Number& x);
  void add_product(const Number& a, const Number& b);
  Number number();

 private:
  double value_ = 0;
  Recording recording_;
};

}  // namespace trainyard::runtime::reference
