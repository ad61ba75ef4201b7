// parse_rfc3339: the inverse of to_rfc3339, and what other programs write.
#include <chrono>
#include <optional>

#include "schemas/wire/run_event_json.h"

namespace trainyard {
namespace {

// Reads from the front of `rest`.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  // A number of exactly `digits` digits.
  std::optional<int> number(std::size_t digits) {
    int value = 0;
    if (rest_.size() < digits) return std::nullopt;
    for (const char digit : rest_.substr(0, digits)) {
      if (digit < '0' || digit > '9') return std::nullopt;
      value = value * 10 + (digit - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  bool skip(char expected) {
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Milliseconds of a fraction of any length; what is finer is cut off.
  std::optional<int> fraction_millis() {
    int millis = 0;
    int weight = 100;
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      millis += weight * (rest_[digits] - '0');
      weight /= 10;
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    return millis;
  }

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Minutes east of UTC: "Z", "+01:00".
std::optional<int> zone_minutes(Cursor& cursor) {
  if (cursor.skip('Z')) return 0;
  const int sign = cursor.skip('-') ? -1 : 1;
  if (sign == 1 && !cursor.skip('+')) return std::nullopt;
  const auto hours = cursor.number(2);
  if (!hours || *hours > 23 || !cursor.skip(':')) return std::nullopt;
  const auto minutes = cursor.number(2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

std::optional<std::chrono::sys_days> date(Cursor& cursor) {
  using namespace std::chrono;
  const auto y = cursor.number(4);
  if (!y || !cursor.skip('-')) return std::nullopt;
  const auto m = cursor.number(2);
  if (!m || !cursor.skip('-')) return std::nullopt;
  const auto d = cursor.number(2);
  if (!d) return std::nullopt;
  const year_month_day day{year{*y}, month{static_cast<unsigned>(*m)},
                           std::chrono::day{static_cast<unsigned>(*d)}};
  // No zone leads out of four digits.
  if (!day.ok() || *y == 0 || *y == 9999) return std::nullopt;
  return sys_days{day};
}

std::optional<std::chrono::milliseconds> time_of_day(Cursor& cursor) {
  using namespace std::chrono;
  const auto h = cursor.number(2);
  if (!h || *h > 23 || !cursor.skip(':')) return std::nullopt;
  const auto m = cursor.number(2);
  if (!m || *m > 59 || !cursor.skip(':')) return std::nullopt;
  const auto s = cursor.number(2);
  if (!s || *s > 59) return std::nullopt;
  int millis = 0;
  if (cursor.skip('.')) {
    const auto fraction = cursor.fraction_millis();
    if (!fraction) return std::nullopt;
    millis = *fraction;
  }
  return hours{*h} + minutes{*m} + std::chrono::seconds{*s} + milliseconds{millis};
}

std::optional<WallTime> whole_time(std::string_view text) {
  Cursor cursor(text);
  const auto day = date(cursor);
  if (!day || !cursor.skip('T')) return std::nullopt;
  const auto within = time_of_day(cursor);
  if (!within) return std::nullopt;
  const auto zone = zone_minutes(cursor);
  if (!zone || !cursor.at_end()) return std::nullopt;
  const auto utc = *day + *within - std::chrono::minutes{*zone};
  return WallTime{
      std::chrono::duration_cast<std::chrono::milliseconds>(utc.time_since_epoch()).count()};
}

}  // namespace

Result<WallTime> parse_rfc3339(std::string_view text) {
  if (const auto time = whole_time(text)) return *time;
  return invalid("not a time as in 2026-11-20T19:40:00.123Z");
}

}  // namespace trainyard
