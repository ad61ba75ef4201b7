#include "tests/conformance/reference/tape.h"

#include <cmath>
#include <limits>

#include "schemas/base/check.h"

namespace trainyard::runtime::reference {
namespace {

thread_local Tape* current = nullptr;

Number of_two(double value, const Number& a, double a_slope, const Number& b, double b_slope) {
  Recording recording;
  recording.depends(a, a_slope);
  recording.depends(b, b_slope);
  return recording.made(value);
}

}  // namespace

Tape::Tape() {
  ENSURE(current == nullptr);
  current = this;
}

Tape::~Tape() { current = nullptr; }

Number Tape::variable(double value) {
  ends_.push_back(dependences_.size());
  return {value, std::ssize(ends_) - 1};
}

std::vector<double> Tape::gradients(std::span<const Number> of,
                                    std::span<const double> weights) const {
  ENSURE(of.size() == weights.size());
  std::vector<double> result(ends_.size());
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i].place >= 0) result[static_cast<std::size_t>(of[i].place)] += weights[i];
  }
  for (std::size_t place = ends_.size(); place-- > 0;) {
    const double upstream = result[place];
    if (upstream == 0) continue;  // nothing flows: not even where a slope is infinite
    for (std::size_t i = place == 0 ? 0 : ends_[place - 1]; i < ends_[place]; ++i) {
      result[static_cast<std::size_t>(dependences_[i].on)] += upstream * dependences_[i].slope;
    }
  }
  return result;
}

void Recording::depends(const Number& on, double slope) {
  if (on.place >= 0) on_.emplace_back(on.place, slope);
}

Number Recording::made(double value) {
  if (on_.empty()) return {value};
  ENSURE(current != nullptr);
  for (const auto& [on, slope] : on_) current->dependences_.push_back({on, slope});
  current->ends_.push_back(current->dependences_.size());
  on_.clear();
  return {value, std::ssize(current->ends_) - 1};
}

Number operator+(const Number& a, const Number& b) { return of_two(a.value + b.value, a, 1, b, 1); }

Number operator-(const Number& a, const Number& b) {
  return of_two(a.value - b.value, a, 1, b, -1);
}

Number operator-(const Number& a) { return function_of(a, -a.value, -1); }

Number operator*(const Number& a, const Number& b) {
  return of_two(a.value * b.value, a, b.value, b, a.value);
}

Number operator/(const Number& a, const Number& b) {
  return of_two(a.value / b.value, a, 1 / b.value, b, -a.value / b.value / b.value);
}

Number& operator+=(Number& a, const Number& b) { return a = a + b; }

Number function_of(const Number& x, double value, double slope) {
  Recording recording;
  recording.depends(x, slope);
  return recording.made(value);
}

Number exp(const Number& x) {
  const double y = std::exp(x.value);
  return function_of(x, y, y);
}

Number log(const Number& x) { return function_of(x, std::log(x.value), 1 / x.value); }

Number log1p(const Number& x) { return function_of(x, std::log1p(x.value), 1 / (1 + x.value)); }

Number sqrt(const Number& x) {
  const double y = std::sqrt(x.value);
  return function_of(x, y, 0.5 / y);
}

Number tanh(const Number& x) {
  const double y = std::tanh(x.value);
  return function_of(x, y, 1 - y * y);
}

Number erf(const Number& x) {
  constexpr double two_over_root_pi = 1.1283791670955126;
  return function_of(x, std::erf(x.value), two_over_root_pi * std::exp(-x.value * x.value));
}

Number sigmoid(const Number& x) {
  const double y = 1 / (1 + std::exp(-x.value));
  return function_of(x, y, y * (1 - y));
}

Number log_add(const Number& a, const Number& b) {
  constexpr double least = -std::numeric_limits<double>::infinity();
  if (a.value == least) return b;
  if (b.value == least) return a;
  const double larger = std::max(a.value, b.value);
  const double sum = larger + std::log(std::exp(a.value - larger) + std::exp(b.value - larger));
  return of_two(sum, a, std::exp(a.value - sum), b, std::exp(b.value - sum));
}

void Sum::add(const Number& x) {
  value_ += x.value;
  recording_.depends(x, 1);
}

void Sum::add_product(const Number& a, const Number& b) {
  value_ += a.value * b.value;
  recording_.depends(a, b.value);
  recording_.depends(b, a.value);
}

Number Sum::number() { return recording_.made(value_); }

}  // namespace trainyard::runtime::reference
