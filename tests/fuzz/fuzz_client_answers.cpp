// The bytes that a member answers to a client: whatever they are, the client takes them as an answer or leaves that member,
// and ends each request once.
#include <spindrift/group/client_messages.hpp>
#include <spindrift/group/object_caller.hpp>

#include <deque>
#include <vector>

#include "fuzz.hpp"

using namespace spindrift;
using namespace spindrift::clients;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

namespace {

constexpr std::uint64_t requests = 6;

/// A client whose members answer by the input.
class Client {
 public:
  explicit Client(Choices& choices) : choices_(choices) {
    for (std::uint64_t ticket = 1; ticket <= requests; ++ticket) {
      const Ask ask = Ask{4 + static_cast<std::uint32_t>(choices.choice(4))};
      caller_.add({.ticket = ticket, .ask = ask, .method = 0, .arguments = {}, .deadline = now_ + std::chrono::seconds(20)});
    }
  }

  void play() {
    for (int round = 0; round < 60 && !choices_.empty(); ++round) {
      step();
      if (choices_.choice(8) == 0) caller_.on_lost(Error(ErrorKind::member_lost, "the connection ended"), now_);
      caller_.on_connected(now_);
      step();
      if (!sent_.empty()) answer();
    }
    now_ += std::chrono::seconds(30);
    step();
    expect(ended_.size() == requests && caller_.open_count() == 0, "each request ends in time");
  }

 private:
  void step() {
    now_ += std::chrono::milliseconds(choices_.choice(50));
    CallerStep step = caller_.step(now_);
    expect(!step.connect || !step.connect->empty(), "a member that is called has an address");
    for (auto& each : step.send) {
      expect(decode_request(each.request).ok(), "what a client sends is a request");
      sent_.push_back(each.number);
    }
    for (const Ended& each : step.ended) {
      expect(ended_.insert(each.ticket).second, "a request ends once");
      expect((each.kind == Ended::Kind::failed) == (each.why != nullptr), "a failure has a reason");
    }
  }
  void answer() {
    const std::uint64_t to = sent_.front();
    sent_.pop_front();
    const auto status = static_cast<rpc::CallStatus>(choices_.choice(16) < 13 ? 0 : choices_.choice(9));
    const auto bytes = std::as_bytes(choices_.take(choices_.choice(64)));
    static_cast<void>(decode_members(bytes));
    static_cast<void>(decode_session(bytes));
    caller_.on_answer(to, status, bytes, now_);
  }

  Choices& choices_;
  ObjectCaller caller_{"ledger", 7, MemberChoice({"a:1", "b:1"}, 0)};
  std::deque<std::uint64_t> sent_;
  std::set<std::uint64_t> ended_;
  Time now_{std::chrono::hours(1)};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto answer = decode_answer(bytes))
    expect(answer->words.size() <= words_bytes_max && answer->bytes.size() < size, "an answer lies in its bytes");
  if (const auto members = decode_members(bytes))
    expect(encode_members(*members).size() == size, "addresses are all there is");
  Choices choices(data, size);
  Client(choices).play();
  return 0;
}
