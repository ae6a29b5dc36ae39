// Somebody between two members changes, repeats, swaps, drops or cuts off what they say: their connection ends, and what
// came before is what was said.
#include "tcp_members.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

enum class Fault { flip, flip_type, flip_version, flip_length, repeat, swap, drop, cut_off, freeze };

/// Passes records of TLS on between one caller and node 2, and does something to one of them. Frozen, it passes nothing more
/// on either way, and closes nothing.
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
    if (happened_ && fault_ == Fault::freeze) return false;
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
      case Fault::flip_type: record[0] ^= std::byte{1}; break;
      case Fault::flip_version: record[2] ^= std::byte{1}; break;
      case Fault::flip_length: record[4] ^= std::byte{1}; break;
      case Fault::freeze: return true;
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

TEST_CASE("a header of a record that is changed ends the connection, be it the type, the version or the length") {
  const Keys keys;
  for (std::size_t way = 0; way < 2; ++way) {
    for (const auto fault : {Fault::flip_type, Fault::flip_version, Fault::flip_length}) {
      for (const std::size_t record : {6U, 11U}) check_ends(keys, fault, way, record);
    }
  }
}

TEST_CASE("records that are repeated, swapped, dropped or cut off end the connection") {
  const Keys keys;
  for (std::size_t way = 0; way < 2; ++way) {
    for (const auto fault : {Fault::repeat, Fault::swap, Fault::drop, Fault::cut_off}) check_ends(keys, fault, way, 11);
  }
}

namespace {

/// Node 2 writes to a mirror at node 1, each word once and with a value of its own.
class Mirrored {
 public:
  Mirrored(const Keys& keys, const std::string& endpoint_of_b)
      : a_(1, keys.fabric(NodeId(1), directory_.path())),
        b_(2, keys.fabric(NodeId(2), directory_.path())),
        words_(bytes / 8) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = value_of(i);
    value_or_throw(a_.fabric->connect({NodeId(2), endpoint_of_b}));
  }

  void step() {
    a_.pump();
    b_.pump();
    for (const Event& event : std::exchange(a_.inbox, {})) {
      if (event.kind != Event::Kind::connected || !mirror_.memory.empty()) continue;
      mirror_ = value_or_throw(a_.fabric->allocate(bytes, "mirror"));
      value_or_throw(a_.fabric->expose(event.peer, mirror_.key, Access::write));
    }
    for (const Event& event : std::exchange(b_.inbox, {})) {
      if (event.kind == Event::Kind::exposed) key_ = event.region, peer_ = event.peer;
      if (event.kind == Event::Kind::lost) peer_.reset();
    }
    if (peer_ && written_ < bytes) write();
  }
  /// Each word is as it was, or right; how many are right.
  [[nodiscard]] std::size_t right_words() const {
    std::size_t right = 0;
    for (std::size_t i = 0; i < mirror_.memory.size() / 8; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, mirror_.memory.data() + 8 * i, sizeof word);
      if (word == 0) continue;
      if (word != value_of(i)) throw std::runtime_error("word " + std::to_string(i) + " is neither what it was nor right");
      ++right;
    }
    return right;
  }

 private:
  static constexpr std::size_t bytes = std::size_t{2} << 20U;
  static constexpr std::size_t piece_bytes = 40'008;
  static std::uint64_t value_of(std::size_t i) { return (i + 1) * 0x9e37'79b9'7f4a'7c15U; }

  void write() {
    Operation operation;
    operation.peer = *peer_;
    operation.region = key_;
    operation.offset = written_;
    operation.bytes = std::min(piece_bytes, bytes - written_);
    operation.local = reinterpret_cast<std::byte*>(words_.data()) + written_;
    if (b_.fabric->post({&operation, 1})) written_ += operation.bytes;
  }

  TemporaryDirectory directory_;
  Endpoint a_;
  Endpoint b_;
  std::vector<std::uint64_t> words_;
  Region mirror_;
  RegionKey key_{};
  std::optional<PeerId> peer_;
  std::size_t written_ = 0;
};

}  // namespace

TEST_CASE("a mirror whose writes somebody tampers with holds what was written, or what it held before") {
  const Keys keys;
  std::size_t right = 0;
  for (const auto fault :
       {Fault::flip, Fault::flip_type, Fault::flip_length, Fault::repeat, Fault::swap, Fault::drop, Fault::cut_off}) {
    for (const std::size_t record : {12U, 40U, 41U}) {
      CAPTURE(static_cast<int>(fault), record);
      Between between(fault, 1, record);
      Mirrored mirrored(keys, between.endpoint());
      drive({}, [&] {
        mirrored.step();
        return between.over();
      });
      CHECK(between.happened());
      for (int i = 0; i < 10; ++i) mirrored.step();
      right += mirrored.right_words();
    }
  }
  CHECK(right > 0);
}

TEST_CASE("a connection on which nothing comes any more, though nobody closed it, is lost after the time of silence") {
  const Keys keys;
  const TemporaryDirectory directory;
  constexpr auto silence_max = std::chrono::seconds(1);
  const auto member = [&](std::uint32_t node) {
    return Endpoint(node, value_or_throw(make_tcp({.self = NodeId(node),
                                                   .runtime_directory = directory.path(),
                                                   .group_name = group_of_keys,
                                                   .credentials = keys.of(NodeId(node)),
                                                   .silence_max = silence_max})));
  };
  Between between(Fault::freeze, 0, 11);
  Talker a{member(1), {}}, b{member(2), {}};
  value_or_throw(a.endpoint.fabric->connect({NodeId(2), between.endpoint()}));
  const auto step = [&] {
    a.step();
    b.step();
    static_cast<void>(between.over());
  };
  drive({}, [&] {
    step();
    return between.happened();
  });
  REQUIRE((a.peer && b.peer));
  const Time frozen = now();
  drive({}, [&] {
    step();
    return !a.peer && !b.peer;
  });
  CHECK(now() - frozen > silence_max / 2);
  CHECK(now() - frozen < silence_max * 3 * (hang / std::chrono::seconds(60)));
}
