// Rendering of errors.
#include <spindrift/core/result.hpp>

#include <cstring>

#include <spindrift/core/limits.hpp>

namespace spindrift {

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::bad_config: return "bad config";
    case ErrorKind::bad_argument: return "bad argument";
    case ErrorKind::bad_input: return "bad input";
    case ErrorKind::refused: return "refused";
    case ErrorKind::removed: return "removed";
    case ErrorKind::given_up: return "given up";
    case ErrorKind::no_majority: return "no majority";
    case ErrorKind::member_lost: return "member lost";
    case ErrorKind::group_closed: return "group closed";
    case ErrorKind::lagging: return "lagging";
    case ErrorKind::handler_failed: return "handler failed";
    case ErrorKind::would_block: return "would block";
    case ErrorKind::timed_out: return "timed out";
    case ErrorKind::disk_full: return "disk full";
    case ErrorKind::resource: return "resource";
    case ErrorKind::unsupported: return "unsupported";
  }
  return "unknown";
}

std::string Error::to_string() const {
  std::string text;
  const std::string* remedy = nullptr;
  for (const Error* error = this; error != nullptr; error = error->cause_.get()) {
    if (error != this) text += "; because: ";
    if (!error->place_.empty()) text += error->place_ + ": ";
    text += error->message_;
    if (!error->fix_.empty()) remedy = &error->fix_;  // the innermost fix is the most specific
  }
  if (remedy != nullptr) text += "; fix: " + *remedy;
  return text;
}

Error system_error(std::string_view what, int error_number) {
  Error error(ErrorKind::resource, std::string(what) + ": " + std::strerror(error_number));
  auto limit = limit_behind(error_number);
  if (limit) return std::move(error).because(std::move(*limit));
  return error;
}

}  // namespace spindrift
