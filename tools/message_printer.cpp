// Making lines, and noticing who does not read them.
#include "message_printer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "escaped.hpp"
#include "json_output.hpp"

namespace spindrift::tools {
namespace {

constexpr int format_version = 1;  ///< of a line of JSON

bool write(const std::string& line) { return std::fwrite(line.data(), 1, line.size(), stdout) == line.size(); }

std::string json_line(nlohmann::json object) { return one_line_of(versioned(format_version, std::move(object))) + "\n"; }

nlohmann::json json_of(const std::optional<MessagePlace>& place) {
  if (!place) return nullptr;
  return {{"view", place->view.value()}, {"sequence", place->sequence.value()}};
}

std::string json_of(const Delivery& delivery, std::string_view text, bool log_version) {
  return json_line({{"view", delivery.view.value()},
                    {"sequence", delivery.sequence.value()},
                    {"node", delivery.sender.value()},
                    {"index", delivery.index.value()},
                    {"log_version", log_version ? nlohmann::json(delivery.version) : nlohmann::json()},
                    {"bytes", text.size()},
                    {"text", text}});
}

std::string json_of(const Gap& gap) {
  const nlohmann::json messages = gap.messages ? nlohmann::json(*gap.messages) : nlohmann::json();
  return json_line({{"gap", {{"after", json_of(gap.after)}, {"last", json_of(gap.last)}, {"messages", messages}}}});
}

std::string text_of(const MessagePlace& place) {
  return fmt::format("[{}.{}]", place.view.value(), place.sequence.value());
}

std::string text_of(const Delivery& delivery, std::string_view text) {
  return fmt::format("{} {}: {}\n", text_of(MessagePlace::of(delivery)), delivery.sender.value(), escaped(text));
}

std::string text_of(const Gap& gap) {
  return "missed " + (gap.messages ? std::to_string(*gap.messages) + " messages" : std::string("messages")) +
         (gap.after ? " behind " + text_of(*gap.after) : "") + (gap.last ? " up to " + text_of(*gap.last) : "") + "\n";
}

}  // namespace

void MessagePrinter::print(const Delivery& delivery) {
  if (done_) return;
  const std::string_view text(reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size());
  if (!write(json_ ? json_of(delivery, text, log_versions_) : text_of(delivery, text))) return stop(errno);
  if (most_ && ++printed_ == *most_) stop(std::fflush(stdout) == 0 ? 0 : errno);
}

void MessagePrinter::print(const Gap& gap) {
  if (!done_ && !write(json_ ? json_of(gap) : text_of(gap))) stop(errno);
}

void MessagePrinter::flush() {
  if (!done_ && std::fflush(stdout) != 0) stop(errno);
}

void MessagePrinter::look_at_reader() {
  if (done_) return;
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  const bool gone = ::poll(&output, 1, 0) > 0;
  const bool closed = (::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY;  // as run_program puts in its place
  if (gone || closed) stop(closed ? EBADF : EPIPE);
}

void MessagePrinter::stop(int refused) {
  done_ = true;
  refused_ = refused;
}

}  // namespace spindrift::tools
