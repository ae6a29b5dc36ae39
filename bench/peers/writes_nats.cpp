// NATS JetStream: one stream replicated in files of three servers, each client with a server of its own. A publication is
// answered when a majority has written it; that version of the server (2.9) syncs files once in a while alone, so what is
// answered may be gone when machines lose their power. --place: the port of the first server; those of the others follow.
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "nats_client.hpp"
#include "writes.hpp"

using namespace spindrift;
using peers::fail_nats;
using peers::NatsMessage;

namespace {

constexpr int poll_ms = 100;

class NatsWriter {
 public:
  explicit NatsWriter(peers::WriteScene& scene)
      : scene_(scene),
        client_(static_cast<std::uint16_t>(std::stoi(scene.options().place) + static_cast<int>(scene.self())), "") {
    client_.subscribe(answers_);
    client_.subscribe(acks_ + ".*");
  }

  void run() {
    make_stream();
    await_leader();
    scene_.ready();
    while (!scene_.stopped() || scene_.on_their_way() > 0) {
      while (scene_.wants_more()) client_.publish("bench", fmt::format("{}.{}", acks_, scene_.begin()), scene_.text());
      exchange();
    }
  }

 private:
  /// Asks until there is a leader to answer. The same stream asked for by everybody is made once.
  void make_stream() {
    for (answer_.clear(); answer_.empty() || answer_.find("\"error\"") != std::string::npos;) {
      if (answer_.find("\"code\":400") != std::string::npos) fail_nats(answer_);
      answer_.clear();
      client_.publish("$JS.API.STREAM.CREATE.bench", answers_,
                      R"({"name":"bench","subjects":["bench"],"storage":"file","retention":"limits","num_replicas":3})");
      for (int waited_ms = 0; answer_.empty() && waited_ms < 2000; waited_ms += poll_ms) exchange();
    }
  }

  /// Publishes until that is answered: a stream that was made has no leader yet.
  void await_leader() {
    for (answer_.clear(); answer_.empty() || answer_.find("\"error\"") != std::string::npos;) {
      answer_.clear();
      client_.publish("bench", answers_, scene_.text());
      for (int waited_ms = 0; answer_.empty() && waited_ms < 2000; waited_ms += poll_ms) exchange();
    }
  }

  void exchange() {
    client_.flush();
    client_.take(poll_ms, [&](const NatsMessage& message) { on_message(message); });
  }

  void on_message(const NatsMessage& message) {
    if (message.subject == answers_) {
      answer_ = message.header.empty() ? message.payload : "\"error\"";
      return;
    }
    if (!message.header.empty() || message.payload.find("\"error\"") != std::string_view::npos)
      fail_nats("not stored: " + std::string(message.payload));
    const std::string_view number = message.subject.substr(acks_.size() + 1);
    std::uint64_t value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
      fail_nats("not a number: " + std::string(number));
    scene_.end(value);
  }

  peers::WriteScene& scene_;
  const std::string answers_ = fmt::format("answers.{}", scene_.self());
  const std::string acks_ = fmt::format("acks.{}", scene_.self());
  peers::NatsClient client_;
  std::string answer_;
};

}  // namespace

int main(int argc, char** argv) {
  return peers::run_writes(argc, argv, [](peers::WriteScene& scene) { NatsWriter(scene).run(); });
}
