// The programs that write durably have this in common, Spindrift's own among them: the same clients, payloads, writes on
// their way, watch and counting. Each program brings one function, that of a client.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace spindrift::peers {

struct WriteOptions {
  std::uint32_t clients = 3;  ///< each a process
  std::uint64_t bytes = 1024;
  std::uint64_t outstanding = 16;  ///< writes of each client that were begun and are not durable yet; at most
  double warm_up = 0.5;            ///< seconds
  double watch = 2;                ///< seconds
  std::string place;               ///< what the client needs to find its servers; see its program
};

struct WriteArena;

/// A client's view of the run. Not thread-safe.
class WriteScene {
 public:
  WriteScene(const WriteArena& arena, std::uint32_t self);

  [[nodiscard]] const WriteOptions& options() const noexcept;
  [[nodiscard]] std::uint32_t self() const noexcept { return self_; }
  /// This client is connected; returns when all are.
  void ready() noexcept;
  /// Nothing more is to be begun. What is on its way is still awaited.
  [[nodiscard]] bool stopped() const noexcept;
  [[nodiscard]] std::uint64_t on_their_way() const noexcept { return begun_ns_.size(); }
  /// Whether another one is to be begun now.
  [[nodiscard]] bool wants_more() const noexcept { return !stopped() && on_their_way() < options().outstanding; }

  /// A write begins: its number, from 0.
  std::uint64_t begin();
  /// The bytes that all of this client's writes write.
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return payload_; }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(payload_.data()), payload_.size()};
  }
  /// The store has said that the write is as durable as it makes it. Throws Exception: bad_input (it was said before).
  void end(std::uint64_t number);

 private:
  const WriteArena& arena_;
  std::uint32_t self_;
  std::vector<std::byte> payload_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> begun_ns_;  ///< by number
};

/// The main function of a program: reads the options, runs `client` in one process per client, and prints one JSON object:
/// writes per second of all clients, and the median and 99th percentile of their times.
int run_writes(int argc, char** argv, const std::function<void(WriteScene&)>& client);

}  // namespace spindrift::peers
