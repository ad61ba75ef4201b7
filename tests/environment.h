// What a run of the tests is: under a sanitizer or not, asked for something by hand, and what it
// asks of the programs that it starts.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace trainyard {

// Code under a sanitizer is several times slower. It is bounds and races that count there, which a
// few steps, seeds and combinations show as well as many.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
template <typename Count>
constexpr Count fewer(Count count) {
  return is_sanitized ? count / 4 : count;
}
template <typename Value>
constexpr Value either(Value whole, Value sanitized) {
  return is_sanitized ? sanitized : whole;
}
// How many times longer programs under a sanitizer may take.
inline constexpr int slowness = is_sanitized ? 5 : 1;

// A whole number in an environment variable; `otherwise` where it is not set.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// An environment variable, for the programs that are started while this lives.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~EnvironmentVariable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace trainyard
