// Devices on a network that exists in one thread: what is posted is carried out when `step` is called, one operation at a
// time, in an order that the seed chooses among those that a real device could show.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::sim {

struct SimOptions {
  bool ordered = true;   ///< completions of a queue pair come in order, and one failure breaks it
  bool flushes = false;  ///< without order: a failure flushes what waits to go to the same peer, and breaks nothing
  bool proves = true;    ///< completions prove that the peer has it; false: it arrives later, in its queue pair's order
  std::uint32_t send_depth = 32;
  std::uint32_t receive_buffers = 8;
  std::size_t message_bytes_max = 512;
  bool connectionless = true;  ///< it says that it has such queue pairs
};

class SimNetwork;
class SimQueuePair;

class SimDevice final : public PhysicalDevice {
 public:
  SimDevice(SimNetwork& network, std::uint64_t number, const SimOptions& options);
  ~SimDevice() override;

  [[nodiscard]] Result<PeerHandle> resolve(const Metadata& peer) override;
  void forget(PeerHandle peer) override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> open() override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const Metadata& peer, std::uint64_t token) override;
  [[nodiscard]] Accepted accepted() override;
  [[nodiscard]] Result<MemoryKeys> register_memory(std::span<std::byte> memory,
                                                   std::optional<fabric::Access> access) override;
  void deregister(const MemoryKeys& keys) override;

  /// How many peers it has resolved now.
  [[nodiscard]] std::size_t resolved() const noexcept { return peers_.size(); }
  /// How much memory is registered now.
  [[nodiscard]] std::size_t registered() const noexcept { return memory_.size(); }
  /// Breaks its first queue pair, though nobody did anything wrong.
  void break_down();
  /// Has no resources for a `reset`, from now on or not any more.
  void refuse_resets(bool refuse) noexcept { resets_refused_ = refuse; }
  /// Its newest queue pair reports this next, true or not.
  void report(const PhysicalEvent& event);
  /// How many operations it flushed though no queue pair of it broke.
  [[nodiscard]] std::size_t flushed() const noexcept { return flushed_; }
  /// The most operations that were ever under way on one of its queue pairs.
  [[nodiscard]] std::size_t under_way_max() const noexcept { return under_way_max_; }

 private:
  friend class SimNetwork;
  friend class SimQueuePair;
  struct Registered {
    std::span<std::byte> memory;
    fabric::Access access;
  };

  SimNetwork& network_;
  const std::uint64_t number_;
  const SimOptions options_;
  std::map<std::uint32_t, std::uint64_t> peers_;  ///< device number by handle
  std::uint32_t newest_peer_ = 0;
  std::uint64_t newest_key_ = 0;
  std::map<std::uint64_t, Registered> memory_;  ///< by remote key
  std::vector<SimQueuePair*> queue_pairs_;      ///< connectionless ones
  std::deque<Accepted> accepted_;
  std::size_t under_way_max_ = 0;
  std::size_t flushed_ = 0;
  bool resets_refused_ = false;
};

class SimNetwork {
 public:
  explicit SimNetwork(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] std::unique_ptr<SimDevice> add(const SimOptions& options = {});
  /// One that is reached as `former` was, which is dead from here on.
  [[nodiscard]] std::unique_ptr<SimDevice> start_again(const SimDevice& former);
  /// Carries out something; false if nothing is posted anywhere.
  bool step();
  void run() {
    while (step()) {
    }
  }
  /// Nobody hears of the device any more; what is posted to it fails.
  void kill(const SimDevice& device);
  [[nodiscard]] std::uint64_t draw(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
  }

 private:
  friend class SimDevice;
  friend class SimQueuePair;
  [[nodiscard]] SimDevice* alive(std::uint64_t number) const;

  std::mt19937_64 random_;
  std::uint64_t newest_ = 0;
  std::map<std::uint64_t, SimDevice*> devices_;  ///< that live
  std::vector<SimQueuePair*> queue_pairs_;       ///< of all devices
};

class SimQueuePair final : public PhysicalQueuePair {
 public:
  enum class Kind : std::uint8_t { connectionless, calling, connected };
  SimQueuePair(SimDevice& device, Kind kind, std::uint64_t peer = 0);
  ~SimQueuePair() override;

  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override;
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override;
  void give_back(std::uint64_t buffer) override;
  [[nodiscard]] Result<void> reset() override;

 private:
  friend class SimDevice;
  friend class SimNetwork;
  struct Pending {
    PhysicalOperation operation;
    std::vector<std::byte> header;
    std::vector<std::byte> bytes;  ///< of one that flies
  };
  enum class Outcome : std::uint8_t { over, waits };

  [[nodiscard]] bool step();
  [[nodiscard]] bool call();
  [[nodiscard]] bool arrive();
  [[nodiscard]] SimDevice* peer_of(const PhysicalOperation& operation) const;
  [[nodiscard]] Outcome carry_out(const Pending& pending, OperationStatus& status);
  void complete(const PhysicalOperation& operation, OperationStatus status);
  void fail(PeerHandle peer);
  void flush(const PhysicalOperation& operation);
  void break_down();
  [[nodiscard]] bool receive(std::span<const std::byte> header, std::span<const std::byte> payload);

  SimDevice& device_;
  Kind kind_;
  const std::uint64_t peer_;  ///< of a connected one, its device
  std::uint64_t token_ = 0;
  SimQueuePair* partner_ = nullptr;  ///< of a connected one, while it lives
  std::deque<Pending> pending_;
  std::deque<Pending> flying_;  ///< completed, and not there yet; with their bytes
  std::deque<PhysicalEvent> events_;
  std::set<PeerHandle> failed_;  ///< an operation to them failed, and the owner has not taken all events since
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::uint64_t> free_buffers_;
  std::size_t under_way_ = 0;
  bool broken_ = false;
};

}  // namespace spindrift::kernel::sim
