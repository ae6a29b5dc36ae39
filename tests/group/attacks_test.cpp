// A group over TCP with keys under attack, at the port of one of its members: nobody falls out and messages go on. The
// hidden test measures instead of judging, and prints a line of JSON for each attack: test_group '[attacks]'.
#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <numeric>

#include "group_fixture.hpp"

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tcp/frame.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

using namespace spindrift;
using fabric::tls::Credentials;

namespace {

constexpr unsigned members = 3;
constexpr std::uint32_t absent = 3;  ///< of the roster, and not there
const std::string extra = "founders = 0, 1, 2\njoin_timeout_ms = 20000\n";

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

std::string nth_source(std::size_t n) {
  return "127.250." + std::to_string(n / 250 % 250) + "." + std::to_string(n % 250 + 1);
}

/// A connection that does not block, from that address; empty if there is none to be had now.
FileDescriptor call(const sockaddr_in& to, const std::string& source) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  const sockaddr_in from = address_of(source, 0);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) return {};
  const int done = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return done == 0 || errno == EINPROGRESS ? std::move(socket) : FileDescriptor();
}

/// One attack goes on until it is ended: a step is some calls.
class Attack {
 public:
  virtual ~Attack() = default;
  virtual void step() = 0;
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }

 protected:
  std::size_t calls_ = 0;
};

/// Says the same to all that it can call, and holds the connections.
class HeldCalls final : public Attack {
 public:
  HeldCalls(const sockaddr_in& to, std::string word) : to_(to), word_(std::move(word)) {}
  void step() override {
    FileDescriptor socket = call(to_, nth_source(calls_ % 2500));
    if (socket && !word_.empty()) static_cast<void>(::send(socket.get(), word_.data(), word_.size(), MSG_NOSIGNAL));
    ++calls_;
    held_.push_back(std::move(socket));
    if (held_.size() > held_max) held_.pop_front();
  }

 private:
  static constexpr std::size_t held_max = 300;
  const sockaddr_in to_;
  const std::string word_;
  std::deque<FileDescriptor> held_;
};

/// Proves itself with a key, says what it has to say as a node, and leaves, or changes keys for as long as it is let.
class Sessions final : public Attack {
 public:
  enum class Then { leave, change_keys };
  Sessions(const sockaddr_in& to, std::shared_ptr<Credentials> key, std::size_t sources, Then then)
      : to_(to), key_(std::move(key)), sources_(sources), then_(then) {}

  void step() override {
    for (Session& each : sessions_) {
      if (!each.session) begin(each);
      if (each.session) advance(each);
    }
  }

 private:
  struct Session {
    FileDescriptor socket;
    fabric::tls::Owned<SSL> session;
    bool greeted = false;
  };

  void begin(Session& each) {
    each = Session{call(to_, nth_source(calls_++ % sources_)), nullptr};
    if (!each.socket) return;
    each.session = value_or_throw(key_->new_session());
    SSL_set_fd(each.session.get(), each.socket.get());
    SSL_set_connect_state(each.session.get());
  }
  void advance(Session& each) {
    SSL& session = *each.session;
    const int done = each.greeted ? 1 : SSL_do_handshake(&session);
    const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(&session, done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE || (why == SSL_ERROR_SYSCALL && errno == ENOTCONN)) return;
    if (done != 1) return each.session.reset();
    if (!each.greeted) greet(session);
    each.greeted = true;
    if (then_ == Then::change_keys) {
      for (int i = 0; i < 20; ++i) {
        static_cast<void>(SSL_key_update(&session, SSL_KEY_UPDATE_REQUESTED));
        if (SSL_do_handshake(&session) != 1) return each.session.reset();
      }
      return;
    }
    std::array<char, 256> answer;
    const int came = SSL_read(&session, answer.data(), static_cast<int>(answer.size()));
    if (came > 0 || SSL_get_error(&session, came) != SSL_ERROR_WANT_READ) each.session.reset();
  }
  void greet(SSL& session) {
    const std::uint64_t start = 1'000'000 + calls_;
    const auto greeting = fabric::connected::encode(fabric::connected::Greeting{NodeId(absent), start, 1, start, 0});
    const auto alive = fabric::connected::encode(fabric::connected::Kind::alive, 0);
    const auto header = fabric::tcp::encode(
        fabric::tcp::FrameHeader{fabric::tcp::FramePurpose::message, static_cast<std::uint32_t>(alive.size()), 0, 0});
    static_cast<void>(SSL_write(&session, greeting.data(), static_cast<int>(greeting.size())));
    static_cast<void>(SSL_write(&session, header.data(), static_cast<int>(header.size())));
    static_cast<void>(SSL_write(&session, alive.data(), static_cast<int>(alive.size())));
  }

  const sockaddr_in to_;
  const std::shared_ptr<Credentials> key_;
  const std::size_t sources_;
  const Then then_;
  std::array<Session, 8> sessions_;
};

/// A group all of whose members send all the time, and an attacker who yields to them as another host would.
class Scene {
 public:
  Scene() : on_pipe_(::signal(SIGPIPE, SIG_IGN)) {
    for (unsigned node = 0; node < members; ++node)
      joining([this, node] {
        auto group = std::make_unique<Group>(fixture_.config(node, members + 1, extra));
        const std::lock_guard lock(mutex_);
        groups_.push_back(std::move(group));
      });
    for (std::thread& each : threads_) each.join();
    threads_.clear();
    for (auto& group : groups_) {
      group->subgroup("orders").on_delivery([this](auto batch) {
        delivered_ += batch.size();
        delivered_.notify_all();
      });
      group->subgroup("ticks").on_delivery([](auto) {});
    }
    for (auto& group : groups_)
      joining([this, &group] {
        const std::string message(1024, 'm');
        while (!ending_) group->subgroup("orders").send(message);
      });
  }
  ~Scene() {
    ending_ = true;
    for (std::thread& each : threads_) each.join();
    leave_all(groups_);
    ::signal(SIGPIPE, on_pipe_);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] sockaddr_in victim() const {
    const std::string endpoint = fixture_.config(0, members + 1, extra).address_of(NodeId(0));
    const auto colon = endpoint.rfind(':');
    return ::address_of(endpoint.substr(0, colon), static_cast<std::uint16_t>(std::stoul(endpoint.substr(colon + 1))));
  }
  [[nodiscard]] std::shared_ptr<Credentials> key_of_absent(const GroupFixture& of) const {
    return value_or_throw(Credentials::load(of.directory() + "/keys/" + std::to_string(absent), "test", NodeId(absent)));
  }
  [[nodiscard]] const GroupFixture& fixture() const { return fixture_; }

  /// Deliveries per second, at all members together.
  [[nodiscard]] double rate(Duration time) const {
    const std::uint64_t before = delivered_;
    const Time begun = SystemClock().now();
    std::this_thread::sleep_for(time);
    return static_cast<double>(delivered_ - before) / std::chrono::duration<double>(SystemClock().now() - begun).count();
  }
  /// So many more deliveries have been made, at all members together.
  void await_deliveries(std::uint64_t more) const {
    const std::uint64_t wanted = delivered_ + more;
    for (std::uint64_t now = delivered_; now < wanted; now = delivered_) delivered_.wait(now);
  }
  [[nodiscard]] bool whole() const {
    return std::all_of(groups_.begin(), groups_.end(),
                       [](const auto& each) { return each->view().members.size() == members; });
  }

 private:
  template <class Run>
  void joining(Run run) {
    threads_.emplace_back(std::move(run));
  }

  const GroupFixture fixture_{"tcp"};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::thread> threads_;
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<bool> ending_{false};
  void (*const on_pipe_)(int);
};

struct Measured {
  double rate = 0;            ///< during the attack
  double calls = 0;           ///< of the attacker, per second
  double attacker_cores = 0;  ///< that the attacker itself took of this host
};

/// Goes on with an attack from its beginning to its end, behind everything else that this host has to do.
class Attacker {
 public:
  explicit Attacker(Attack& attack) : attack_(attack), thread_([this] { run(); }) {}
  ~Attacker() { end(); }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;

  void end() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// Seconds of a core that it took. After `end`.
  [[nodiscard]] double busy() const { return busy_; }

 private:
  void run() {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
    while (!ending_) attack_.step();
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    busy_ = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
            static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  }

  Attack& attack_;
  std::atomic<bool> ending_{false};
  double busy_ = 0;
  std::thread thread_;  // the last: it uses the others
};

Measured measure(const Scene& scene, Attack& attack, Duration time) {
  Attacker attacker(attack);
  const double seconds = std::chrono::duration<double>(time).count();
  Measured measured;
  measured.rate = scene.rate(time);
  attacker.end();
  measured.calls = static_cast<double>(attack.calls()) / seconds;
  measured.attacker_cores = attacker.busy() / seconds;
  return measured;
}

struct NamedAttack {
  const char* name;
  std::function<std::unique_ptr<Attack>()> make;
};

std::vector<NamedAttack> attacks_on(const Scene& scene, const GroupFixture& others) {
  const sockaddr_in to = scene.victim();
  const auto sessions = [to](std::shared_ptr<Credentials> key, std::size_t sources, Sessions::Then then) {
    return [=]() -> std::unique_ptr<Attack> { return std::make_unique<Sessions>(to, key, sources, then); };
  };
  const auto held = [to](std::string word) {
    return [=]() -> std::unique_ptr<Attack> { return std::make_unique<HeldCalls>(to, word); };
  };
  const auto good = scene.key_of_absent(scene.fixture()), foreign = scene.key_of_absent(others);
  return {{"connections that say nothing", held("")},
          {"connections that say one byte", held("\x16")},
          {"connections that say noise", held(std::string(2000, 'n'))},
          {"handshakes with a key of another authority", sessions(foreign, 40, Sessions::Then::leave)},
          {"joins with a good key, from one address", sessions(good, 1, Sessions::Then::leave)},
          {"joins with a good key, from forty addresses", sessions(good, 40, Sessions::Then::leave)},
          {"changes of keys with a good key", sessions(good, 40, Sessions::Then::change_keys)}};
}

}  // namespace

TEST_CASE(
    "a group over TCP loses nobody to strangers who flood a member's port, with a key or without, and goes on delivering") {
  const GroupFixture others("tcp");
  const Scene scene;
  for (const NamedAttack& each : attacks_on(scene, others)) {
    CAPTURE(each.name);
    const auto attack = each.make();
    Attacker attacker(*attack);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));  // for as long as that everything is under attack
    scene.await_deliveries(100);
    attacker.end();
    CHECK(attack->calls() > 0);
    CHECK(scene.whole());
  }
}

TEST_CASE("rates of a group over TCP under attack, as JSON", "[.][attacks]") {
  const char* const wanted = std::getenv("SPINDRIFT_ATTACK_SECONDS");
  const auto time = std::chrono::seconds(wanted == nullptr ? 5 : std::max(1, std::atoi(wanted)));
  const GroupFixture others("tcp");
  const Scene scene;
  static_cast<void>(scene.rate(time));
  for (const NamedAttack& each : attacks_on(scene, others)) {
    const double before = scene.rate(time);
    const auto attack = each.make();
    const Measured under = measure(scene, *attack, time);
    const double after = scene.rate(time), untouched = (before + after) / 2;
    // Another host's attacker takes nothing of this one but what its packets cost.
    const double left = 1 - under.attacker_cores / std::max(1U, std::thread::hardware_concurrency());
    const double ratio = under.rate / untouched;
    std::printf(
        "{\"attack\": \"%s\", \"calls_per_second\": %.0f, \"attacker_cores\": %.3f, \"deliveries_per_second\": %.0f, "
        "\"untouched\": %.0f, \"ratio\": %.3f, \"ratio_of_what_the_attacker_left\": %.3f}\n",
        each.name, under.calls, under.attacker_cores, under.rate, untouched, ratio, ratio / left);
    std::fflush(stdout);
    CHECK(scene.whole());
  }
}
