// One connected endpoint of libfabric: operations on their way to one peer, those that wait until the provider takes them,
// and buffers for what comes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/fabric/connected/backlog.hpp>
#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/ofi/provider.hpp>

namespace spindrift::fabric::ofi {

class MessageEndpoint;

/// A request to the provider. Its region is one that is read; the context of a receive is the number of the buffer.
struct OfiRequest : connected::Transfer {
  enum class Kind : std::uint8_t { write, read, send, receive };
  Kind kind = Kind::write;
  std::vector<std::byte> owned{};  ///< holds `local`, if this is not empty
};

/// Requests that the provider has, by the token that it gives back on completion. A token of a connection that is gone is
/// known as such.
class Flights {
 public:
  struct Flight {
    MessageEndpoint* connection = nullptr;
    OfiRequest request{};
    std::uint32_t place = 0;
    std::uint32_t generation = 1;
  };
  /// A free place; the request is moved in by `at` once the provider has taken it.
  [[nodiscard]] void* reserve(MessageEndpoint& connection);
  Flight& at(void* token) noexcept;
  /// Null if it belongs to a connection that is gone.
  [[nodiscard]] Flight* find(void* token) noexcept;
  void finish(void* token) noexcept { clear(at(token)); }
  void drop(const MessageEndpoint& connection) noexcept;
  /// How many requests of the connection the provider has, buffers aside.
  [[nodiscard]] std::size_t under_way(const MessageEndpoint& connection) const noexcept;

 private:
  void clear(Flight& flight) noexcept;
  std::deque<Flight> flights_;
  std::vector<std::uint32_t> free_;
};

class MessageEndpoint final : public connected::Connection {
 public:
  MessageEndpoint(const connected::PeerCall& call, Provider& provider, Handle<fid_ep> endpoint, Flights& flights)
      : Connection(call), provider_(provider), endpoint_(std::move(endpoint)), flights_(flights) {}
  ~MessageEndpoint() override { close(); }

  /// Gives the provider all buffers. Errors: resource.
  [[nodiscard]] Result<void> start_receiving();
  /// The bytes of one buffer were taken: it is given to the provider again, or held back while the caller takes none.
  void taken(void* token);
  [[nodiscard]] std::span<const std::byte> received(const OfiRequest& buffer, std::size_t bytes) const noexcept;

  void send(std::span<const std::byte> message, bool signaled, std::uint64_t context) override;
  void transfer(const connected::Transfer& transfer) override;
  void flush() override;
  [[nodiscard]] bool idle() const noexcept override { return backlog_.empty() && flights_.under_way(*this) == 0; }
  void close() override;
  void resume() override;

  [[nodiscard]] fid_ep& endpoint() noexcept { return *endpoint_; }

 private:
  /// Takes it, now or later, in order. What the provider refuses for good breaks the connection.
  void post(OfiRequest request);
  [[nodiscard]] Result<Right> give_right(connected::OwnRegion& region, Access access) override;
  void receive_again(void* token);
  [[nodiscard]] bool offer(OfiRequest& request);
  [[nodiscard]] long pass_on(const OfiRequest& request, void* token);

  Provider& provider_;
  Handle<fid_ep> endpoint_;
  Flights& flights_;
  const std::size_t inject_bytes_ = provider_.info().tx_attr->inject_size;
  std::unique_ptr<std::byte[]> buffers_;
  std::vector<void*> held_;  ///< buffers kept back while the caller takes none of its messages
  connected::Backlog<OfiRequest> backlog_;
};

}  // namespace spindrift::fabric::ofi
