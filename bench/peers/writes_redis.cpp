// Redis: a master and two replicas, all of which sync their file of commands before they answer (appendfsync always). Every
// write is a SET, behind which WAIT 2 holds the answer back until both replicas have it.
//
// WAIT holds up its connection. So each write on its way has a connection of its own; or, with ":pipelined" behind the
// place, all writes of a client go over one connection at once, with one WAIT behind them, and the next when that is
// answered.
// --place: the master's port.
#include <poll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <spindrift/core/result.hpp>

#include "local_socket.hpp"
#include "writes.hpp"

using namespace spindrift;

namespace {

constexpr int poll_ms = 100;
constexpr std::uint64_t keys = 1024;  ///< of each client, written over and over

[[noreturn]] void fail_redis(std::string_view what) {
  throw Exception(Error(ErrorKind::resource, fmt::format("Redis: {}", what)));
}

/// One connection, with writes that are answered together.
class RedisConnection {
 public:
  explicit RedisConnection(std::uint16_t port) : socket_(port) {}

  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  [[nodiscard]] bool idle() const noexcept { return numbers_.empty(); }

  void begin(peers::WriteScene& scene, std::uint64_t writes) {
    for (std::uint64_t i = 0; i < writes; ++i) {
      const std::uint64_t number = scene.begin();
      const std::string key = fmt::format("{}/{}", scene.self(), number % keys);
      socket_.put(fmt::format("*3\r\n$3\r\nSET\r\n${}\r\n{}\r\n${}\r\n", key.size(), key, scene.text().size()));
      socket_.put(scene.text());
      socket_.put("\r\n");
      numbers_.push_back(number);
    }
    socket_.put("*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$1\r\n0\r\n");
    socket_.flush();
    answers_ = 0;
  }

  /// All that was begun has ended, if its answers are here.
  void take(peers::WriteScene& scene) {
    socket_.fill();
    for (std::size_t end = 0; (end = socket_.input().find("\r\n")) != std::string_view::npos; socket_.drop(end + 2)) {
      const std::string_view line = socket_.input().substr(0, end);
      const bool last = answers_++ == numbers_.size();
      if (line != (last ? ":2" : "+OK")) fail_redis(line);
      if (!last) continue;
      for (const std::uint64_t number : numbers_) scene.end(number);
      numbers_.clear();
      answers_ = 0;
    }
  }

 private:
  peers::LocalSocket socket_;
  std::vector<std::uint64_t> numbers_;
  std::size_t answers_ = 0;
};

void run_client(peers::WriteScene& scene) {
  const std::string& place = scene.options().place;
  const bool pipelined = place.ends_with(":pipelined");
  const std::uint64_t connections = pipelined ? 1 : scene.options().outstanding;
  std::vector<std::unique_ptr<RedisConnection>> all;
  std::vector<pollfd> waiting;
  for (std::uint64_t i = 0; i < connections; ++i) {
    all.push_back(std::make_unique<RedisConnection>(static_cast<std::uint16_t>(std::stoi(place))));
    waiting.push_back({all.back()->descriptor(), POLLIN, 0});
  }
  scene.ready();
  while (!scene.stopped() || scene.on_their_way() > 0) {
    for (const auto& each : all) {
      if (each->idle() && scene.wants_more()) each->begin(scene, scene.options().outstanding / connections);
    }
    static_cast<void>(::poll(waiting.data(), waiting.size(), poll_ms));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (waiting[i].revents != 0) all[i]->take(scene);
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return peers::run_writes(argc, argv, run_client); }
