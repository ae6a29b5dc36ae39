// Cards of KRCore's testbed in virtual time: devices whose queue pairs carry out reads when a model of card and link says,
// so that real pools, directories and meta tables can be stepped over them. What is modelled is what the paper's figures 8
// to 15 are about: a connectionless queue pair serves one peer at a time, and a card answers so many reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include <spindrift/bench/model/costs.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::bench::model {

/// What things cost there. Marks as in costs.hpp; the paper is KRCore (2022).
struct CardCosts {
  Ticks read_ns = 2150;         ///< stated, figure 10a: a read of 8 bytes with verbs, one client
  Ticks system_call_ns = 1000;  ///< stated, figures 10a and 12a: 3.15 - 2.15 us
  Ticks connect_call_ns = 900;  ///< stated, section 5.1: connecting with everything cached
  Ticks turn_ns = 90;           ///< derived, figure 10a: 3.24 - 3.15 us: connectionless, from idle or from another peer
  /// Fitted, figure 14a: 99 us for 64 reads over one connectionless queue pair, of which 63 * 9/10 + 1 have another peer
  /// than the one before, and wait for it: from card to card and back.
  Ticks flight_ns = 1590;
  Ticks operation_ns = 1000.0 / 138;      ///< stated, figure 10b: the card of a server answers 138 M reads per second
  Ticks further_ns = 60;                  ///< assumed, as in costs.cpp: a further request of a list, or a completion
  double bytes_per_ns = 12.5;             ///< stated, section 5: 100 Gb/s
  double packet_header_bytes = 42;        ///< assumed, as of Link
  Ticks connected_batch_ns = 75e3;        ///< stated, figure 14a: 64 reads over 64 connected queue pairs
  Ticks answer_ns = 1e3 / (22.0 / 11.8);  ///< derived, figures 8a and 9a: what one thread answers, 22 M / 11.8 per second
  Ticks pair_ns = 300;                    ///< measured: a virtual queue pair made and bound, by thousands (bench connect)
  double metadata_bytes = 78;             ///< measured: a peer in the cache of metadata, of 5000 (bench connect)
  /// Derived, figure 15a: 48 queue pairs and 12 bytes for each of 5000 peers are 6.3 MB.
  double queue_pair_bytes = (6.3e6 - 5000 * 12) / 48;

  /// What the thread does for one read by verbs: half before it is on its way, half after it is back.
  [[nodiscard]] Ticks thread_ns() const noexcept { return read_ns - flight_ns - operation_ns; }
  /// How long a server's card is busy with a read of so many bytes.
  [[nodiscard]] Ticks occupancy_ns(std::uint64_t bytes) const noexcept;
};

class CardDevice;

/// All cards, and when something comes to which of them.
class CardNetwork {
 public:
  explicit CardNetwork(const CardCosts& costs) : costs_(costs) {}

  [[nodiscard]] std::unique_ptr<CardDevice> add();
  [[nodiscard]] const CardCosts& costs() const noexcept { return costs_; }

  struct Arrival {
    Ticks at = 0;
    std::size_t device = 0;  ///< in the order of `add`
  };
  /// The next one, in the order of time; nothing if nobody waits for anything. What came may have been taken already.
  [[nodiscard]] std::optional<Arrival> next();

 private:
  friend class CardDevice;
  friend class CardQueuePair;
  struct Later {
    bool operator()(const Arrival& a, const Arrival& b) const noexcept {
      return a.at != b.at ? a.at > b.at : a.device > b.device;
    }
  };
  const CardCosts costs_;
  std::vector<CardDevice*> devices_;
  std::priority_queue<Arrival, std::vector<Arrival>, Later> arrivals_;
};

/// One process's device, connectionless. It carries out reads alone: others are refused by their completion.
class CardDevice final : public kernel::Device {
 public:
  CardDevice(CardNetwork& network, std::size_t number);
  ~CardDevice() override;

  [[nodiscard]] const kernel::DeviceTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] const kernel::Metadata& metadata() const noexcept override { return metadata_; }
  /// Of any 8 bytes; those that are no number of a device lead nowhere.
  [[nodiscard]] Result<kernel::PeerHandle> resolve(const kernel::Metadata& peer) override;
  void forget(kernel::PeerHandle peer) override { peers_.erase(peer.value()); }
  [[nodiscard]] Result<std::unique_ptr<kernel::PhysicalQueuePair>> open() override;
  [[nodiscard]] Result<std::unique_ptr<kernel::PhysicalQueuePair>> connect(const kernel::Metadata&, std::uint64_t) override;
  [[nodiscard]] Accepted accepted() override { return {}; }
  [[nodiscard]] Result<kernel::MemoryKeys> register_memory(std::span<std::byte> memory, fabric::Access access) override;
  [[nodiscard]] Result<kernel::MemoryKeys> register_local(std::span<std::byte> memory) override;
  void deregister(const kernel::MemoryKeys& keys) override { memory_.erase(keys.remote_key); }

  /// Until when the thread of this device is busy, or the instant at which it looks; posting and taking add to it.
  Ticks now_ns = 0;

 private:
  friend class CardQueuePair;
  struct Registered {
    std::span<std::byte> memory;
    fabric::Access access;
  };

  CardNetwork& network_;
  const std::size_t number_;
  kernel::DeviceTraits traits_;
  kernel::Metadata metadata_;
  std::map<std::uint32_t, std::uint64_t> peers_;  ///< device number by handle
  std::uint32_t newest_peer_ = 0;
  std::uint64_t newest_key_ = 0;
  std::map<std::uint64_t, Registered> memory_;  ///< by remote key
  Ticks port_free_ns_ = 0;                      ///< when its card can answer the next read
};

/// The time of one device's thread.
class CardClock final : public Clock {
 public:
  explicit CardClock(const CardDevice& device) noexcept : device_(device) {}
  [[nodiscard]] Time now() const noexcept override { return Time(Duration(static_cast<Duration::rep>(device_.now_ns))); }

 private:
  const CardDevice& device_;
};

}  // namespace spindrift::bench::model
