// Result<T>: a value or an Error, spelled like C++23's std::expected. Expected failures (bad input,
// a peer that is gone, a missing file) travel in it; a programmer's mistake is an ENSURE instead.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "schemas/base/check.h"

namespace trainyard {

// What the caller can do about it. One table maps these to HTTP (api/http/problem.cpp), one to gRPC
// (schemas/wire/grpc_status.cpp).
enum class Code {
  invalid,      // the input is wrong: do not try again unchanged
  not_found,    // the thing named does not exist
  conflict,     // the state of the thing does not allow it
  unavailable,  // a peer, the disk or the queue cannot take it now: try again
  internal,     // our own fault
};

struct Error {
  Code code = Code::internal;
  std::string message;  // a sentence that says what and which: "job 7: ps must be 1 or more, got 0"
  bool operator==(const Error&) const = default;
};

inline Error invalid(std::string message) { return {Code::invalid, std::move(message)}; }
inline Error not_found(std::string message) { return {Code::not_found, std::move(message)}; }
inline Error conflict(std::string message) { return {Code::conflict, std::move(message)}; }
inline Error unavailable(std::string message) { return {Code::unavailable, std::move(message)}; }
inline Error internal(std::string message) { return {Code::internal, std::move(message)}; }

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: same

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  [[nodiscard]] const T& value() const& {
    ENSURE(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T& value() & {
    ENSURE(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    ENSURE(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  [[nodiscard]] const Error& error() const& {
    ENSURE(!has_value());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    ENSURE(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;

inline Status ok() { return std::monostate{}; }

}  // namespace trainyard

#define TRAINYARD_JOIN_(a, b) a##b
#define TRAINYARD_JOIN(a, b) TRAINYARD_JOIN_(a, b)

// TRY(expression): returns the error to the caller, or goes on.
#define TRY(expression)                                              \
  do {                                                               \
    if (auto try_result_ = (expression); !try_result_.has_value()) { \
      return std::move(try_result_).error();                         \
    }                                                                \
  } while (false)

// TRY_ASSIGN(auto x, expression): x is the value, or the error is returned to the caller.
#define TRY_ASSIGN_(target, expression, name)            \
  auto name = (expression);                              \
  if (!name.has_value()) return std::move(name).error(); \
  target = std::move(name).value()
#define TRY_ASSIGN(target, expression) \
  TRY_ASSIGN_(target, expression, TRAINYARD_JOIN(try_result_, __COUNTER__))
