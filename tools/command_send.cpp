// `spindrift send`: what comes on standard input becomes messages of one subgroup.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "exit_code.hpp"
#include "members_awaited.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "session.hpp"
#include "subgroup_option.hpp"

namespace spindrift::tools {
namespace {

struct SendOptions : SubgroupCommandOptions {
  std::optional<std::uint64_t> block_bytes;
  std::uint64_t members = 1;
  std::string wait = "stable";
};

/// The own messages that were delivered here, and whether all are durable.
class OwnDeliveries {
 public:
  /// Sets the handlers; `durable`: of what is durable, too. All outlive the group's member.
  void follow(Session& session, Subgroup& subgroup, bool durable) {
    subgroup.on_delivery([this, &session, self = session.group().self(), first = session.group().view().id](auto batch) {
      for (const Delivery& each : batch) {
        const bool own = each.sender == self && each.view >= first;  // a log has those of earlier starts, too
        if (own && note(each.version)) session.request_stop();
      }
    });
    if (!durable) return;
    subgroup.on_durable([this, &session](std::uint64_t version) {
      if (note_durable(version)) session.request_stop();
    });
  }
  [[nodiscard]] std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// Until so many are durable at all members. False: a signal comes before, or the member ends: `finish` says how.
  [[nodiscard]] bool await_durable(Session& session, std::uint64_t count) {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        awaited_ = count;
        if (done()) return true;
      }
      if (session.wait_for() != Session::Event::requested) return false;
    }
  }

 private:
  // True: that is what `await_durable` waits for. A member is told what is durable also while it is still given the log.
  [[nodiscard]] bool note(std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    ++count_;
    last_ = version;
    return done();
  }
  [[nodiscard]] bool note_durable(std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    durable_ = version;
    return done();
  }
  /// Behind the mutex.
  [[nodiscard]] bool done() const { return awaited_ && count_ >= *awaited_ && (*awaited_ == 0 || durable_ > last_); }

  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::uint64_t last_ = 0;     // version of the last one
  std::uint64_t durable_ = 0;  // versions below it
  std::optional<std::uint64_t> awaited_;
};

void require_logged(const SubgroupView& subgroup, bool durable) {
  if (!durable || subgroup.storage == SubgroupStorage::logged) return;
  throw Exception(Error(ErrorKind::bad_argument, "--wait durable: subgroup " + subgroup.name + " is not logged")
                      .fix("wait for stable, or give the subgroup \"storage\": \"logged\" in the layout of all members"));
}

/// The advice about messages that are too large, with a file or without.
const std::string raise_the_limit =
    "raise max_smc_payload_size in the subgroup's profile, at all members alike: in the file, or by --set "
    "SUBGROUP/DEFAULT/max_smc_payload_size=BYTES";

/// Cuts a stream of bytes into messages: lines, or blocks of one size.
class MessageSender {
 public:
  MessageSender(Subgroup& subgroup, std::optional<std::uint64_t> block_bytes)
      : subgroup_(subgroup), block_bytes_(block_bytes) {}

  void add(std::string_view bytes) {
    pending_ += bytes;
    std::size_t taken = 0;
    while (const auto length = complete_length(taken)) {
      send(std::string_view(pending_).substr(taken, *length));
      taken += *length + (block_bytes_ ? 0 : 1);
    }
    pending_.erase(0, taken);
  }

  /// The last message may lack its end.
  void end() {
    if (!pending_.empty()) send(pending_);
  }

  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

 private:
  [[nodiscard]] std::optional<std::size_t> complete_length(std::size_t from) const {
    if (block_bytes_) {
      if (pending_.size() - from < *block_bytes_) return std::nullopt;
      return static_cast<std::size_t>(*block_bytes_);
    }
    const auto newline = pending_.find('\n', from);
    // A line that is too long already need not be read to its end.
    if (newline == std::string::npos && pending_.size() - from > subgroup_.message_bytes_max())
      return pending_.size() - from;
    if (newline == std::string::npos) return std::nullopt;
    return newline - from;
  }

  void send(std::string_view message) {
    if (message.size() > subgroup_.message_bytes_max()) {
      throw Exception(Error(ErrorKind::bad_input, fmt::format("message {} has more than the {} bytes that subgroup {} takes",
                                                              sent_ + 1, subgroup_.message_bytes_max(), subgroup_.name()))
                          .at("standard input")
                          .fix("send shorter lines, or " + raise_the_limit));
    }
    subgroup_.send(message);
    ++sent_;
  }

  Subgroup& subgroup_;
  std::optional<std::uint64_t> block_bytes_;
  std::string pending_;
  std::uint64_t sent_ = 0;
};

Exception unreadable(int error_number) {
  return Exception(system_error("read", error_number)
                       .at("standard input")
                       .fix(error_number == EISDIR ? "give a file of lines, not a directory, or a pipe"
                                                   : "see what standard input is: a file or a pipe that can be read"));
}

/// One read of standard input. Empty: its end.
std::string_view read_some(std::array<char, 65536>& buffer) {
  for (;;) {
    const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count >= 0) return {buffer.data(), static_cast<std::size_t>(count)};
    if (errno != EINTR && errno != EAGAIN) throw unreadable(errno);
  }
}

/// The sender waits then, and its user should know for what.
void warn_if_inadequate(const NewView& news, const std::string& name) {
  for (const SubgroupView& subgroup : news.view.subgroups) {
    if (subgroup.name != name || subgroup.inadequate.empty()) continue;
    fmt::print(stderr, "spindrift: subgroup {} takes nothing in view {}: {}; waiting for another view\n", name,
               news.view.id.value(), subgroup.inadequate);
  }
}

void tell_how_many(std::uint64_t sent, bool durable = false) {
  const char* const words = sent == 0   ? "messages"
                            : sent == 1 ? "message; every member has delivered it"
                                        : "messages; every member has delivered them";
  const char* const them = sent == 1 ? "it" : "them";
  const std::string on_disks = durable && sent > 0 ? fmt::format(", and has {} on its disk", them) : "";
  fmt::print(stderr, "sent {} {}{}\n", sent, words, on_disks);
}

/// A signal ended the wait for other members.
int tell_of_none(const std::string& lacking) {
  fmt::print(stderr, "sent nothing: {}\n", lacking);
  return number(ExitCode::interrupted);
}

void require_fitting_block(const SubgroupView& subgroup, const SendOptions& options) {
  const std::uint64_t most = subgroup.profile.message_bytes_max;
  if (options.block_bytes.value_or(0) <= most) return;
  throw Exception(Error(ErrorKind::bad_argument, fmt::format("--block {} is more than the {} bytes that subgroup {} takes",
                                                             *options.block_bytes, most, subgroup.name))
                      .fix("give smaller blocks, or " + raise_the_limit));
}

/// The member has ended before all was done. Whatever it has delivered in an ordered subgroup, all that go on deliver,
/// unless they go on by a revival.
void tell_how_far(std::uint64_t sent, std::uint64_t delivered, DeliveryMode mode, const Error& why) {
  if (sent == 0) return;
  const char* const messages = sent == 1 ? "message" : "messages";
  if (why.kind() == ErrorKind::given_up) {
    fmt::print(stderr, "sent {} {}; which of them the group has that was revived is not known\n", sent, messages);
    return;
  }
  if (mode == DeliveryMode::unordered) {
    fmt::print(stderr, "sent {} {}; which of them other members have is not known\n", sent, messages);
    return;
  }
  fmt::print(stderr,
             "sent {} {}; the first {} of them every member delivers that goes on, of the other {} it is not known\n", sent,
             messages, delivered, sent - delivered);
}

enum class Input : std::uint8_t { sent, cut_short, dropped };

/// Until the end of input, or of the member; if that failed, `finish` says so.
Input send_input(Session& session, MessageSender& sender, const Subgroup& subgroup) {
  std::array<char, 65536> buffer;
  while (session.wait_for(STDIN_FILENO) == Session::Event::input) {
    const std::string_view bytes = read_some(buffer);
    try {
      bytes.empty() ? sender.end() : sender.add(bytes);
    } catch (const Exception& failure) {
      if (failure.error().kind() == ErrorKind::refused && subgroup.description().dropped) return Input::dropped;
      if (failure.error().kind() != ErrorKind::group_closed) throw;
      return Input::cut_short;  // the member left while the sender waited for space
    }
    if (bytes.empty()) return Input::sent;
  }
  return Input::cut_short;
}

/// The member has left in order. A subgroup is dropped once what was sent there is delivered.
int tell_end(Session& session, const MessageSender& sender, const std::string& subgroup, Input input, bool durable) {
  tell_how_many(sender.sent(), durable);
  if (session.signaled()) return number(ExitCode::interrupted);
  if (input == Input::sent) return number(ExitCode::success);
  if (input == Input::dropped) {
    throw Exception(Error(ErrorKind::group_closed, "subgroup " + subgroup + " was dropped before standard input was sent")
                        .at("standard input")
                        .fix("create it again (spindrift group create-subgroup), or send the rest to another one"));
  }
  throw Exception(taken_out(session.group().self(), "standard input was sent").at("standard input"));
}

/// A program that is started without one, or with one that is there to be written, has nothing to send.
void require_input() {
  const int mode = ::fcntl(STDIN_FILENO, F_GETFL);
  if (mode >= 0 && (mode & O_ACCMODE) != O_WRONLY) return;
  throw Exception(Error(ErrorKind::bad_argument, "there is no standard input that could be read, and that is what is sent")
                      .at("standard input")
                      .fix("lead a file or a pipe there; to send nothing: </dev/null"));
}

int join_and_send(const SendOptions& options) {
  const OwnConfig own =
      await_own_config(load_subgroup_config(options), options.json ? ErrorForm::json : ErrorForm::text);
  const Config& config = *own;
  const SubgroupView shape = require_subgroup(config, options, SubgroupUse::send);
  require_fitting_block(shape, options);
  GroupOptions group;
  using Words = MembersAwaited::Words;
  MembersAwaited awaited(options.subgroup, options.members, options.quiet ? Words::quiet : Words::spoken);
  group.on_view = [&](const NewView& news) {
    warn_if_inadequate(news, options.subgroup);
    awaited.on_view(news);
  };
  require_logged(shape, options.wait == "durable");
  OwnDeliveries own_messages;
  bool durable = false;
  Session session(config, std::move(group), {.quiet = options.quiet, .json = options.json});
  session.drop_deliveries(options.subgroup);
  Subgroup& subgroup = use_subgroup(session.group(), options);
  own_messages.follow(session, subgroup, options.wait == "durable");
  MessageSender sender(subgroup, options.block_bytes);
  Input input = Input::cut_short;
  try {
    const bool enough = awaited.wait(session);
    const std::string lacking = awaited.lacking();
    if (enough) input = send_input(session, sender, subgroup);
    if (options.wait == "durable" && input == Input::sent) durable = own_messages.await_durable(session, sender.sent());
    session.finish();
    if (!enough && session.signaled()) return tell_of_none(lacking);
  } catch (const Exception& failure) {
    if (failure.error().kind() != ErrorKind::bad_input) {
      tell_how_far(sender.sent(), own_messages.count(), shape.mode, failure.error());
      throw;
    }
    session.finish();  // what came before it was sent all the same
    tell_how_many(sender.sent());
    throw;
  }
  return tell_end(session, sender, options.subgroup, input, durable);
}

int run_send(const SendOptions& options) {
  require_input();
  return join_and_send(options);
}

}  // namespace

void add_send_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<SendOptions>();
  const CommandText text{
      "send", "Send standard input to a subgroup, one message per line",
      "Joins as a member, sends each line without its newline, and leaves gracefully at the end of input, when every member "
      "has\n"
      "delivered everything. The others go on. A change of the view on the way loses nothing and repeats nothing.\n\n"
      "Without --config the group is this user's on this host, or the one that --group names: whoever is there founds it,\n"
      "each process takes an id that nobody has, and the subgroup is created if nobody has.\n\n"
      "Examples:\n"
      "  seq 1000 | spindrift send orders\n"
      "  seq 1000 | spindrift send --config derecho.cfg --id 0 --subgroup orders\n"
      "  spindrift send --config derecho.cfg --id 0 --subgroup orders --block 1024 < photo.jpg"};
  CLI::App* command = add_command(app, chosen, text, options, run_send);
  add_subgroup_options(*command, *options, "to send to");
  add_quiet_option(*command, *options);
  command->add_option("--members", options->members, "Send once so many members are in the subgroup, this one included")
      ->type_name("N")
      ->check(number_from(std::uint64_t{1}, std::uint64_t{member_count_max}));
  command->add_option("--wait", options->wait,
                      "Leave when every member has delivered all (stable), or has it on its disk, too (durable)")
      ->type_name("stable|durable")
      ->check(CLI::IsMember({"stable", "durable"}));
  command->add_option("--block", options->block_bytes, "Send blocks of this many bytes instead of lines")
      ->type_name("BYTES")
      ->check(number_from(std::uint64_t{1}, std::uint64_t{1} << 28));
}

}  // namespace spindrift::tools
