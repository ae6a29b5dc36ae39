// The participant or observer of a command, and its waits.
#include "topic_session.hpp"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/config/nearest.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/core/line_writer.hpp>

#include "escaped.hpp"
#include "output.hpp"

namespace spindrift::tools {
namespace {

constexpr std::size_t named_topics_max = 10;
constexpr std::chrono::milliseconds reader_patience(1000);
constexpr std::chrono::milliseconds shown_within(300);

/// Standard output, if it is a pipe: its end can be waited for, as nobody reads it any more.
pollfd reader_of_output() {
  struct stat output {};
  const bool pipe = ::fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
  return {.fd = pipe ? STDOUT_FILENO : -1, .events = 0, .revents = 0};
}

/// Whether some participant begins to write it only when readers match. It says so with the topic: a writer is known later.
bool is_held_for_readers(const topics::AnnouncedTopic& topic) {
  return std::ranges::any_of(topic.participants, [](const topics::EndpointFacts& each) {
    return std::ranges::equal(each.qos.data.topic, waits_for_readers);
  });
}

/// Empty where the command is to be a participant.
void observe(std::optional<topics::DomainObserver>& observer, const TopicOptions& options) {
  const bool wants_history = options.from == "last";
  if (options.as == "participant" || (options.as == "auto" && wants_history)) return;
  if (wants_history) {
    throw Exception(Error(ErrorKind::bad_argument, "an observer is given nothing that was kept for late joiners")
                        .at("--as observer --from last")
                        .fix("leave out one of the two"));
  }
  observer.emplace(options.domain, options.config, overrides_of(options));
  if (options.as == "auto" && !observer->suffices()) observer.reset();
}

}  // namespace

std::string missing_text(std::uint64_t samples) {
  return fmt::format("{} missing: too fast, gone with the member that fed this command, or not to be read",
                     samples == 1 ? "1 sample is" : std::to_string(samples) + " samples are");
}

Error no_sample(const TopicOptions& options, const topics::DynamicReader& reader) {
  const std::string waits_for = reader.waits_for();
  const std::string none = fmt::format("no sample came for {} ms", *options.timeout_ms);
  Error why(ErrorKind::timed_out,
            waits_for.empty() ? none : none + ": no member feeds this command, which waits for " + waits_for);
  return std::move(why)
      .at(place_of(options))
      .fix(waits_for.empty() ? "see whether somebody writes (spindrift topic info), or give a longer --timeout"
                             : "see to these members (spindrift group why), or join the domain (--as participant)");
}

std::string place_of(const TopicOptions& options, const std::string& topic) {
  const std::string domain = options.config.empty() ? "domain " + std::to_string(options.domain) : options.config;
  return "topic " + topic + " of " + domain;
}

TopicSession::TopicSession(const TopicOptions& options, topics::DomainWatch below)
    : options_(options), use_(TopicUse::takes_part), over_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  begin(std::move(below));
}

TopicSession::TopicSession(const TopicOptions& options, TopicUse use)
    : options_(options), use_(use), over_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  begin({});
}

void TopicSession::begin(topics::DomainWatch below) {
  if (!over_) throw Exception(system_error("eventfd", errno));
  if (use_ != TopicUse::takes_part) {
    const JoinInterrupt interrupt(signals_, std::nullopt, nullptr, options_.json ? ErrorForm::json : ErrorForm::text);
    observe(observer_, options_);
  }
  if (!observer_) join(std::move(below));
  watcher_ = value_or_throw(start_thread([this] { watch(); }));
}

void TopicSession::join(topics::DomainWatch below) {
  const JoinInterrupt interrupt(signals_, std::nullopt, nullptr, options_.json ? ErrorForm::json : ErrorForm::text);
  participant_.emplace(options_.domain, options_.config, overrides_of(options_), std::move(below));
  observer_.reset();
}

TopicSession::~TopicSession() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(over_.get(), &one, sizeof one);
  watcher_.join();
}

void TopicSession::watch() {
  std::array<pollfd, 3> sources{{readable(over_.get()), readable(signals_.descriptor()), reader_of_output()}};
  while (::poll(sources.data(), sources.size(), -1) < 0) {
    if (errno != EINTR) return;
  }
  if (sources[0].revents != 0) return;
  (sources[1].revents != 0 ? stopped_ : unread_) = true;
  topics::DynamicParticipant::wake();
  if (stopped_) say_if_held_up();
}

void TopicSession::say_if_held_up() const {
  pollfd over = readable(over_.get());
  if (::poll(&over, 1, static_cast<int>(reader_patience.count())) != 0) return;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, 0) != 0) return;
  write_to_standard_error(
      "spindrift: still printing: the reader of standard output has stopped; another signal ends this process at once\n");
}

std::vector<topics::AnnouncedTopic> TopicSession::topics() const {
  return observer_ ? observer_->topics() : participant_->topics();
}

std::size_t TopicSession::others() const { return observer_ ? observer_->participants() : participant_->others(); }

topics::DynamicReader TopicSession::read(const topics::AnnouncedTopic& topic, const topics::DynamicReading& how) {
  return observer_ ? observer_->read(topic, how) : participant_->read(topic, how);
}

std::optional<Error> TopicSession::failure() const { return observer_ ? observer_->failure() : participant_->failure(); }

void TopicSession::require_going_on() const {
  if (unread_) throw Exception(output_error(EPIPE));
  if (const auto why = failure()) throw Exception(*why);
}

TopicSession::Clock::time_point TopicSession::patience() const {
  if (!options_.timeout_ms) return Clock::time_point::max();
  return Clock::now() + std::chrono::milliseconds(*options_.timeout_ms);
}

std::optional<topics::AnnouncedTopic> TopicSession::find(const std::string& name) {
  // A member shows what is new within some milliseconds, which a participant knows at once.
  const Clock::time_point settled = Clock::now() + (observer_ ? shown_within : std::chrono::milliseconds(0));
  const Clock::time_point until = options_.timeout_ms ? patience() : settled;
  for (;;) {
    const std::uint64_t seen = topics::DynamicParticipant::changes();
    bool is_held = false;
    for (topics::AnnouncedTopic& each : topics()) {
      if (each.name != name) continue;
      is_held = use_ == TopicUse::reads && observer_ && options_.as == "auto" && is_held_for_readers(each);
      if (!is_held) return std::move(each);
    }
    require_going_on();
    if (stopped_) return std::nullopt;
    if (is_held) {
      fmt::print(stderr, "joining the domain: topic {} is written once readers match, and observers are none\n",
                 harmless(name));
      join({});
      continue;
    }
    if (Clock::now() >= until) throw Exception(not_there(name));
    topics::DynamicParticipant::await_change(seen, until);
  }
}

Error TopicSession::not_there(const std::string& name) const {
  std::vector<std::string> names;
  for (const topics::AnnouncedTopic& each : topics()) names.push_back(each.name);
  std::string there;
  for (const std::string& each : names) {
    if (there.size() > 0) there += ", ";
    if (&each - names.data() == named_topics_max) {
      there += "and more";
      break;
    }
    there += each;
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = config::nearest(name, known);
  const std::string what = names.empty()
                               ? "there is no such topic, nor any other; " + std::to_string(others()) +
                                     " other participants are in the domain"
                               : "there is no such topic; there are: " + there;
  const std::string otherwise = "start a program that has it, or wait for one with --timeout";
  const bool waited = options_.timeout_ms.has_value();
  return Error(waited ? ErrorKind::timed_out : ErrorKind::bad_argument, what)
      .at(place_of(options_, name))
      .fix(near.empty() ? otherwise : "did you mean " + std::string(near) + "? otherwise " + otherwise);
}

}  // namespace spindrift::tools
