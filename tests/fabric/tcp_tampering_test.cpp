// Somebody between two members changes, repeats, swaps, drops or cuts off what they say: their connection ends, and what
// came before is what was said.
#include "tcp_members.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

enum class Fault { flip, repeat, swap, drop, cut_off };

/// Passes records of TLS on between one caller and node 2, and does something to one of them.
class Between {
 public:
  Between(Fault fault, std::size_t way, std::size_t record) : fault_(fault), way_(way), record_(record) {
    sockaddr_in address = socket_address_of("127.0.0.1:0");
    socklen_t bytes = sizeof address;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0);
    REQUIRE(::listen(listener_.get(), 8) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

  /// Whether the fault happened, and one of the two has ended the connection since.
  [[nodiscard]] bool over() {
    if (!ends_[0]) {
      ends_[0] = FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!ends_[0]) return false;
      ends_[1] = connection_to(address_of(NodeId(2)).endpoint);
    }
    return pass(0) || pass(1);
  }
  [[nodiscard]] bool happened() const { return happened_; }

 private:
  static constexpr std::size_t header_bytes = 5;

  [[nodiscard]] bool pass(std::size_t way) {
    std::array<std::byte, 16384> came;
    const ssize_t count = ::recv(ends_[way].get(), came.data(), came.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN)) return true;
    Bytes& waiting = waiting_[way];
    if (count > 0) waiting.insert(waiting.end(), came.begin(), came.begin() + count);
    while (waiting.size() >= header_bytes) {
      const std::size_t size =
          header_bytes + (std::to_integer<std::size_t>(waiting[3]) << 8U) + std::to_integer<std::size_t>(waiting[4]);
      if (waiting.size() < size) break;
      const Bytes record(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(size));
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(size));
      if (!pass_record(way, record)) return true;
    }
    return false;
  }

  [[nodiscard]] bool pass_record(std::size_t way, Bytes record) {
    const bool chosen = way == way_ && passed_[way]++ == record_;
    if (!chosen) {
      send(way, record);
      if (way == way_) send(way, std::exchange(held_, {}));
      return true;
    }
    happened_ = true;
    switch (fault_) {
      case Fault::flip: record[(header_bytes + record.size()) / 2] ^= std::byte{1}; break;
      case Fault::repeat: send(way, record); break;
      case Fault::swap: held_ = std::move(record); return true;
      case Fault::drop: return true;
      case Fault::cut_off:
        send(way, std::span(record).first(record.size() - 1));
        ends_ = {};
        return false;
    }
    send(way, record);
    return true;
  }

  // Little enough for a socket to take at once; one that is closed is found by reading.
  void send(std::size_t way, std::span<const std::byte> bytes) {
    static_cast<void>(::send(ends_[1 - way].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  const Fault fault_;
  const std::size_t way_;  ///< 0: from the caller
  const std::size_t record_;
  FileDescriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  std::string endpoint_;
  std::array<FileDescriptor, 2> ends_;
  std::array<Bytes, 2> waiting_;
  std::array<std::size_t, 2> passed_{};
  Bytes held_;
  bool happened_ = false;
};

/// Says numbers once it is connected, and hears the other's, which come in turn or not at all.
struct Talker {
  Endpoint endpoint;
  std::optional<PeerId> peer;
  std::uint64_t said = 0;
  std::uint64_t heard = 0;

  void step() {
    endpoint.pump();
    for (const Event& event : std::exchange(endpoint.inbox, {})) {
      if (event.kind == Event::Kind::connected) peer = event.peer;
      if (event.kind == Event::Kind::message) REQUIRE(text_of(event) == text(++heard));
      if (event.kind == Event::Kind::lost) peer.reset();
    }
    if (peer && said < 2000) send(endpoint, *peer, text(++said));
  }
  static std::string text(std::uint64_t number) { return "the " + std::to_string(number) + "th of many messages"; }
};

void check_ends(const Keys& keys, Fault fault, std::size_t way, std::size_t record) {
  CAPTURE(static_cast<int>(fault), way, record);
  const TemporaryDirectory directory;
  Between between(fault, way, record);
  Talker a{{1, keys.fabric(NodeId(1), directory.path())}, {}}, b{{2, keys.fabric(NodeId(2), directory.path())}, {}};
  value_or_throw(a.endpoint.fabric->connect({NodeId(2), between.endpoint()}));
  drive({}, [&] {
    a.step();
    b.step();
    return between.over();
  });
  CHECK(between.happened());
}

}  // namespace

TEST_CASE("a bit that is flipped in any record, of the handshake or behind it, ends the connection") {
  const Keys keys;
  for (std::size_t way = 0; way < 2; ++way) {
    for (std::size_t record = 0; record < 12; ++record) check_ends(keys, Fault::flip, way, record);
  }
}

TEST_CASE("records that are repeated, swapped, dropped or cut off end the connection") {
  const Keys keys;
  for (std::size_t way = 0; way < 2; ++way) {
    for (const auto fault : {Fault::repeat, Fault::swap, Fault::drop, Fault::cut_off}) check_ends(keys, fault, way, 11);
  }
}
