// Words about versions that cannot be read.
#include <spindrift/group/kept_version.hpp>

#include <cstdio>
#include <utility>

namespace spindrift::replicated {
namespace {

std::string words_of_kept(const KeptVersion& kept) {
  return "version " + std::to_string(kept.version) + ", of time " + words_of(kept.time);
}

}  // namespace

std::string words_of(LogTime time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  char digits[16];
  std::snprintf(digits, sizeof digits, "%09lld", static_cast<long long>((since - seconds).count()));
  return std::to_string(seconds.count()) + "." + digits;
}

NoVersion no_version(const AskedVersion& asked) {
  const std::string field = "a Persistent field cannot be read as of " + asked.words + ": ";
  const std::string first = asked.first == nullptr ? "it has none" : "its first is " + words_of_kept(*asked.first);
  ErrorKind kind = ErrorKind::bad_argument;
  std::string why;
  std::string fix;
  switch (asked.state) {
    case VersionState::kept:
    case VersionState::never_was:
      why = "it had no version yet then, and " + first;
      fix = "ask for its first version, or a later one";
      break;
    case VersionState::trimmed:
      why = "that was trimmed, and " + first;
      fix = "trim less, or keep more by KeepVersions, at all members";
      break;
    case VersionState::not_yet:
      kind = ErrorKind::would_block;
      why = "what it will be then is not known here yet";
      fix = "ask again later, or by an ordered query behind that update";
      break;
  }
  return {asked.state, Error(kind, field + why).at(asked.place).fix(std::move(fix))};
}

}  // namespace spindrift::replicated
