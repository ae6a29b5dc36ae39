// Packets over connections of TCP, inside of TLS as the fabric has it or in the clear: for clients of other hosts, or behind
// a firewall. Each end may listen, call, or both; a route is one connection, and over when that is.
//
// Both ends prove themselves, and greet, in a thread beside this one (`fabric/tcp/handshakes.hpp`), with the keys of the
// group: who is called is the member that was meant, and who calls has the role of a client or a member. When other keys or
// lists of revoked certificates are in force, each connection is judged anew.
//
// Nothing is lost on the way. A packet is lost if what waits for its peer exceeds `output_bytes_max`, which is all that a
// peer that does not read costs; after a minute of that its connection fails.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tcp/handshakes.hpp>
#include <spindrift/rpc/options.hpp>
#include <spindrift/rpc/packet_transport.hpp>

namespace spindrift::rpc {

struct TcpLink;

struct StreamOptions {
  std::string listen{};  ///< "host:port", port 0: any that is free; empty: nobody calls this end
  /// Null: nobody proves anything, and nothing is encrypted: between addresses of the loopback interface, or if `unproven`.
  std::shared_ptr<fabric::tls::Credentials> credentials{};
  bool unproven = false;  ///< as [SPINDRIFT] security = none: any addresses without credentials
  std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();
  std::size_t payload_bytes = 16'000;  ///< `payload_bytes_least` … `payload_bytes_most`
  std::uint32_t burst_packets = 64;    ///< taken by one `receive`; at least 1
  /// Packets that may be promised to sessions. Those that nobody takes wait at their senders, so this bounds no memory of
  /// packets, but how many sessions there are: credits of each, and at a server eight packets' memory.
  std::uint32_t receive_packets = 8192;
  std::uint32_t callers_max = 64;           ///< connections of callers
  std::uint32_t callers_per_identity = 16;  ///< of these with one certificate's identity
  std::size_t output_bytes_max = std::size_t{4} << 20U;  ///< of one connection; at least two packets
};

/// Options of an endpoint over TCP: round trips between hosts are longer than on loopback, and what is repeated early is
/// repeated in vain.
[[nodiscard]] inline RpcOptions over_tcp(RpcOptions options = {}) {
  options.retransmit_after = std::chrono::milliseconds(500);
  options.silence_max = std::chrono::seconds(10);
  return options;
}

/// The other end of a route.
struct TcpPeer {
  std::string with;                             ///< for people
  bool connected = false;                       ///< false: the call is under way
  std::optional<ShownCertificate> certificate;  ///< that proves it; nothing: nobody proves anything
};

class StreamTransport final : public PacketTransport {
 public:
  /// May wait for a name server. Errors: bad_argument; unsupported (without credentials, an address that is not of the
  /// loopback interface); resource.
  [[nodiscard]] static Result<std::unique_ptr<StreamTransport>> open(StreamOptions options);
  /// Hangs up.
  ~StreamTransport() override;

  /// The way to a node that listens at "host:port". It is over if that cannot be reached, or does not prove that it is the
  /// node. Packets may be sent at once; they wait. May wait for a name server. Errors: as open.
  [[nodiscard]] Result<PacketRoute> call(NodeId node, const std::string& address);
  /// The same to some member of the group, whichever listens there. A name may have several addresses: `turn` takes one
  /// after the other.
  [[nodiscard]] Result<PacketRoute> call(const std::string& address, std::size_t turn = 0);
  /// Ends a connection; its route is told as any that is over. Ignores those that are.
  void hang_up(const PacketRoute& route);
  /// Nothing: the route is over.
  [[nodiscard]] std::optional<TcpPeer> peer(const PacketRoute& route) const;
  /// Why a route is over, until the next `receive` behind that; nothing: it is not, or was so before. The kind is refused
  /// where an end took no proof of the other.
  [[nodiscard]] std::optional<Error> why_over(const PacketRoute& route) const;
  /// The address at which it listens, with the port that it has.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Packets that found no room, or no connection, and are lost.
  [[nodiscard]] std::uint64_t packets_unsent() const noexcept { return unsent_; }
  /// Bytes that wait for their peers to read, of all connections.
  [[nodiscard]] std::size_t output_bytes() const;
  [[nodiscard]] std::size_t connections() const noexcept { return links_.size(); }

  /// Sleeps until something has come, or has to be looked at, or that time is over. Returns whether something has.
  /// `interrupt`: a descriptor that ends the sleep when it is readable; -1: none.
  [[nodiscard]] bool wait(Duration most, int interrupt = -1) const;

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return options_.payload_bytes; }
  [[nodiscard]] std::uint32_t receive_packets() const noexcept override { return options_.receive_packets; }
  void send(std::span<const OutgoingPacket> burst) override;
  [[nodiscard]] std::span<const IncomingPacket> receive() override;
  [[nodiscard]] std::span<const PacketRoute> ended_routes() override;

 private:
  explicit StreamTransport(StreamOptions options);

  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> check_proof(const std::string& address) const;
  [[nodiscard]] Result<PacketRoute> call(std::optional<NodeId> node, const std::string& address, std::string with,
                                         std::size_t turn);
  TcpLink& add_link(std::string with);
  [[nodiscard]] TcpLink* find(std::uint64_t id) const;
  void watch(TcpLink& link, bool first);
  void list(TcpLink& link);
  void look_at_sockets();
  void take_outcomes();
  void accept(fabric::tcp::ReceivedCall&& call);
  /// Why there is no place for another caller; empty: there is.
  [[nodiscard]] std::string full(const fabric::tcp::ByteStream& stream) const;
  void connected(std::uint64_t id, std::unique_ptr<fabric::tcp::ByteStream> stream);
  void look_at_keys();
  void take_packets(TcpLink& link, std::size_t most);
  void flush(TcpLink& link);
  void put(TcpLink& link, const OutgoingPacket& packet);
  void end(TcpLink& link, const Error& why);

  const StreamOptions options_;
  std::string address_;
  FileDescriptor events_;
  std::unique_ptr<fabric::tcp::Handshakes> handshakes_;
  std::uint64_t keys_revision_ = 0;
  std::uint64_t links_made_ = 0;
  std::uint64_t unsent_ = 0;
  Time next_full_{};  // that callers find no place may be said again
  std::unordered_map<std::uint64_t, std::unique_ptr<TcpLink>> links_;
  std::deque<std::uint64_t> ready_;      ///< links that have, or may have, something to give
  std::vector<std::uint64_t> unflushed_;
  std::vector<std::unique_ptr<TcpLink>> gone_;  ///< packets that were given may lie there
  std::vector<IncomingPacket> taken_;
  std::vector<PacketRoute> ended_;
  std::vector<PacketRoute> told_;
};

}  // namespace spindrift::rpc
