// A client of one object, whose members a test plays.
#pragma once

#include <catch2/catch.hpp>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/object_caller.hpp>

namespace spindrift::clients::test {

using namespace std::chrono_literals;

/// The caller of one object, and members that the test plays.
class Played {
 public:
  explicit Played(std::vector<std::string> members = {"a:1", "b:1", "c:1"}, const CallerOptions& options = {})
      : line("ledger", 77, MemberChoice(std::move(members), 0), options) {}

  struct Sent {
    std::uint64_t attempt;
    std::vector<std::byte> bytes;
    [[nodiscard]] CallerRequest request() const { return *decode_request(bytes); }
  };

  void want(std::uint64_t ticket, Ask ask = Ask::update, Time deadline = never) {
    line.add({.ticket = ticket, .ask = ask, .method = 1, .arguments = {}, .deadline = deadline});
  }
  void step() {
    CallerStep step = line.step(now);
    hung_up += step.hang_up ? 1 : 0;
    if (step.hang_up) connected.reset();
    if (step.connect) {
      connected = step.connect;
      calls.push_back(*step.connect);
    }
    for (auto& each : step.send) sent.push_back({each.number, std::move(each.request)});
    for (auto& each : step.ended) ended.push_back(std::move(each));
    due = step.due;
  }
  void pass(Duration time) {
    now += time;
    step();
  }
  /// Takes what was sent last for that, which has to be one.
  Sent take(Ask ask) {
    std::vector<Sent> found;
    for (auto at = sent.begin(); at != sent.end();) {
      if (at->request().ask != ask) {
        ++at;
        continue;
      }
      found.push_back(std::move(*at));
      at = sent.erase(at);
    }
    REQUIRE(found.size() == 1);
    return found.front();
  }
  void answer(const Sent& to, const MemberAnswer& with) {
    std::vector<std::byte> bytes(answer_bytes(with));
    encode(with, bytes);
    line.on_answer(to.attempt, rpc::CallStatus::answered, bytes, now);
    step();
  }
  void answer(const Sent& to, CallerOutcome outcome) { answer(to, answer_of(outcome, "so it is")); }
  /// The connection comes to be, and whoever asks for the members is told those.
  void connect(const std::vector<std::string>& members = {}) {
    line.on_connected(now);
    step();
    answer(take(Ask::members), {CallerOutcome::returned, encode_members(members)});
  }
  void open(std::uint64_t number) {
    const auto words = field_bytes(ClientSessionId{number, 5});
    answer(take(Ask::open), {CallerOutcome::returned, {words.begin(), words.end()}});
  }
  void lose(Error why = Error(ErrorKind::member_lost, "the connection ended")) {
    connected.reset();
    line.on_lost(std::move(why), now);
    step();
  }
  [[nodiscard]] Ended take_ended() {
    REQUIRE(ended.size() == 1);
    Ended each = std::move(ended.front());
    ended.clear();
    return each;
  }
  [[nodiscard]] Error take_failure() {
    const Ended each = take_ended();
    REQUIRE(each.kind == Ended::Kind::failed);
    try {
      std::rethrow_exception(each.why);
    } catch (const Exception& failure) {
      return failure.error();
    }
  }
  [[nodiscard]] std::optional<ClientRefusal> take_refusal() {
    const Ended each = take_ended();
    REQUIRE(each.kind == Ended::Kind::failed);
    try {
      std::rethrow_exception(each.why);
    } catch (const ClientRefused& refused) {
      return refused.reason();
    } catch (const Exception&) {
      return std::nullopt;
    }
  }

  ObjectCaller line;
  Time now{1h};
  std::deque<Sent> sent;
  std::vector<Ended> ended;
  std::vector<std::string> calls;
  std::optional<std::string> connected;
  int hung_up = 0;
  Time due = never;
};

inline std::string thrown_words(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const Exception& failure) {
    return failure.error().message();
  }
}

inline const MemberAnswer good{CallerOutcome::returned, {std::byte{1}}};

}  // namespace spindrift::clients::test
