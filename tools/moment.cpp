// Reading a time from the left, each part of which has as many digits as it must have.
#include "moment.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace spindrift::tools {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::string_view digits = "0123456789";

Error no_moment(std::string why) { return Error(ErrorKind::bad_argument, std::move(why)); }

/// The rest of the text; one part that is missing makes all that follow missing.
class Parts {
 public:
  explicit Parts(std::string_view text) : text_(text) {}

  /// A number of exactly so many digits.
  int number(std::size_t count) {
    int value = 0;
    good_ = good_ && text_.size() >= count && text_.substr(0, count).find_first_not_of(digits) == std::string_view::npos;
    for (std::size_t i = 0; good_ && i < count; ++i) value = 10 * value + (text_[i] - '0');
    if (good_) text_.remove_prefix(count);
    return value;
  }
  /// The next character, if it is one of these.
  std::optional<char> one_of(std::string_view characters) {
    if (!good_ || text_.empty() || characters.find(text_.front()) == std::string_view::npos) return std::nullopt;
    const char found = text_.front();
    text_.remove_prefix(1);
    return found;
  }
  void require(std::string_view characters) { good_ = one_of(characters).has_value(); }
  /// As many digits as there are.
  std::string_view run() {
    const std::string_view found = text_.substr(0, std::min(text_.find_first_not_of(digits), text_.size()));
    text_.remove_prefix(found.size());
    return found;
  }
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

std::chrono::year_month_day date_of(Parts& parts) {
  const std::chrono::year year(parts.number(4));
  parts.require("-");
  const std::chrono::month month(static_cast<unsigned>(parts.number(2)));
  parts.require("-");
  const std::chrono::day day(static_cast<unsigned>(parts.number(2)));
  return {year, month, day};
}

/// The time of a day; nothing: none has it. A leap second is none.
std::optional<seconds> of_day(int hour, int minute, int second) {
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return std::chrono::hours(hour) + minutes(minute) + seconds(second);
}

Result<nanoseconds> fraction_of(Parts& parts) {
  constexpr std::size_t most = 9;
  if (!parts.one_of(".")) return nanoseconds(0);
  std::string part(parts.run());
  if (part.empty() || part.size() > most) return no_moment("a fraction of a second has one to nine digits");
  part.resize(most, '0');
  return nanoseconds(std::stoll(part));
}

/// The local time less that in UTC.
Result<minutes> offset_of(Parts& parts) {
  if (parts.one_of("Zz")) return minutes(0);
  const auto sign = parts.one_of("+-");
  if (!sign) return no_moment("it does not end with Z, for UTC, or an offset from UTC as +01:00");
  const int hour = parts.number(2);
  parts.require(":");
  const int minute = parts.number(2);
  if (!parts.good() || hour > 23 || minute > 59) return no_moment("its offset from UTC is none as +01:00");
  const minutes offset = std::chrono::hours(hour) + minutes(minute);
  return *sign == '-' ? -offset : offset;
}

}  // namespace

Result<std::uint64_t> parse_moment(std::string_view text) {
  Parts parts(text);
  const std::chrono::year_month_day date = date_of(parts);
  parts.require("Tt");
  const int hour = parts.number(2);
  parts.require(":");
  const int minute = parts.number(2);
  parts.require(":");
  const auto time = of_day(hour, minute, parts.number(2));
  if (!parts.good()) return no_moment("it does not begin as a time, 2026-11-28T10:00:00, does");
  if (!date.ok()) return no_moment("no calendar has that day");
  if (!time) return no_moment("no day has that time");
  SPINDRIFT_TRY_ASSIGN(const nanoseconds fraction, fraction_of(parts));
  SPINDRIFT_TRY_ASSIGN(const minutes offset, offset_of(parts));
  if (!parts.empty()) return no_moment("something follows behind the time");
  const seconds whole = std::chrono::sys_days(date).time_since_epoch() + *time - offset;
  constexpr seconds behind_all = std::chrono::sys_days(std::chrono::year(2554) / 1 / 1).time_since_epoch();
  if (whole < seconds(0) || whole >= behind_all) return no_moment("no log has a time before 1970, or behind 2553");
  constexpr std::uint64_t ns_per_s = 1'000'000'000;
  return static_cast<std::uint64_t>(whole.count()) * ns_per_s + static_cast<std::uint64_t>(fraction.count());
}

std::string moment_text(std::int64_t since_1970_ns) {
  const std::int64_t nanoseconds = ((since_1970_ns % 1'000'000'000) + 1'000'000'000) % 1'000'000'000;
  const std::time_t seconds = (since_1970_ns - nanoseconds) / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, nanoseconds);
}

}  // namespace spindrift::tools
