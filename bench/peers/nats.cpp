// NATS JetStream: one stream replicated in the memory of three servers, whose leader orders it; every member publishes
// through its own server, 100 messages unacknowledged, and gets the stream pushed. Speaks the servers' text protocol itself.
// --place: the port of the first server; those of the others follow. Behind a colon the certificate of the authority that
// the servers' certificates are of: then all is inside of TLS.
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <spindrift/core/result.hpp>

#include "nats_client.hpp"
#include "peer.hpp"

using namespace spindrift;
using peers::fail_nats;
using peers::NatsMessage;

namespace {

constexpr std::uint64_t window = 100;
constexpr int poll_ms = 100;

class NatsMember {
 public:
  explicit NatsMember(peers::Scene& scene)
      : scene_(scene),
        client_(static_cast<std::uint16_t>(std::stoi(scene.options().place) + static_cast<int>(scene.self())),
                authority_of(scene.options().place)) {
    for (const std::string_view subject : {answers(), acks(), pushed()}) client_.subscribe(subject);
  }

  void run() {
    // The same stream asked for by everybody is made once.
    request("$JS.API.STREAM.CREATE.bench",
            R"({"name":"bench","subjects":["bench"],"storage":"memory","retention":"limits","num_replicas":3})");
    request("$JS.API.CONSUMER.CREATE.bench",
            fmt::format(
                R"({{"stream_name":"bench","config":{{"deliver_subject":"{}","deliver_policy":"all","ack_policy":"none",)"
                R"("flow_control":true,"idle_heartbeat":1000000000,"num_replicas":1}}}})",
                pushed()));
    scene_.ready();
    if (scene_.sends()) {
      while (!scene_.stopped()) {
        while (published_ - acknowledged_ < window) publish();
        exchange(poll_ms);
      }
      while (acknowledged_ < published_) exchange(poll_ms);
      scene_.sent_all();
    }
    while (!scene_.over()) exchange(poll_ms);
  }

 private:
  [[nodiscard]] static std::string authority_of(const std::string& place) {
    const auto colon = place.find(':');
    return colon == std::string::npos ? std::string() : place.substr(colon + 1);
  }
  [[nodiscard]] std::string_view answers() const { return names_[0]; }
  [[nodiscard]] std::string_view acks() const { return names_[1]; }
  [[nodiscard]] std::string_view pushed() const { return names_[2]; }

  /// Asks until there is a leader to answer.
  void request(std::string_view subject, std::string_view what) {
    for (answer_.clear(); answer_.empty() || answer_.find("\"error\"") != std::string::npos;) {
      if (answer_.find("\"code\":400") != std::string::npos) fail_nats(answer_);
      answer_.clear();
      client_.publish(subject, answers(), what);
      for (int waited_ms = 0; answer_.empty() && waited_ms < 2000; waited_ms += poll_ms) exchange(poll_ms);
    }
  }

  void publish() {
    const auto message = scene_.next_message();
    client_.publish("bench", acks(), {reinterpret_cast<const char*>(message.data()), message.size()});
    ++published_;
  }

  void exchange(int timeout_ms) {
    client_.flush();
    client_.take(timeout_ms, [&](const NatsMessage& message) { on_message(message); });
  }

  void on_message(const NatsMessage& message) {
    if (message.subject == acks()) {
      if (!message.header.empty() || message.payload.find("\"error\"") != std::string_view::npos)
        fail_nats("not stored: " + std::string(message.payload));
      ++acknowledged_;
    } else if (message.subject == answers()) {
      answer_ = message.header.empty() ? message.payload : "\"error\"";
    } else if (!message.header.empty()) {
      if (!message.reply.empty()) client_.publish(message.reply, "", "");  // flow control
    } else {
      scene_.on_delivery(std::as_bytes(std::span(message.payload)));
    }
  }

  peers::Scene& scene_;
  const std::array<std::string, 3> names_{fmt::format("answers.{}", scene_.self()), fmt::format("acks.{}", scene_.self()),
                                          fmt::format("pushed.{}", scene_.self())};
  peers::NatsClient client_;
  std::string answer_;
  std::uint64_t published_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return peers::run_peer(argc, argv, true, [](peers::Scene& scene) { NatsMember(scene).run(); });
}
