// A way between an observer and a member that a test can cut, or hold up.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>

namespace spindrift {

/// Hands on what comes to a port of loopback, at the same port of another address, in a thread of its own.
class Relay {
 public:
  explicit Relay(const fabric::connected::SocketAddress& to) : to_(to) {
    sockaddr_in at{};
    std::memcpy(&at, &to.storage, sizeof at);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    at.sin_addr.s_addr = htonl(0x7fc80000U | (pid & 0xffffU));  // 127.200.…
    host_ = "127.200." + std::to_string(pid >> 8U & 0xffU) + "." + std::to_string(pid & 0xffU);
    listening_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    REQUIRE(::setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    REQUIRE(::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listening_.get(), 16) == 0);
    REQUIRE(::pipe2(orders_.data(), O_CLOEXEC) == 0);
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    order('e');
    thread_.join();
    for (const int end : orders_) ::close(end);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  /// Ends the connections that there are.
  void cut() { order('c'); }
  /// Hands on nothing of those, and makes no new ones.
  void stand_still() { order('s'); }
  /// Makes new ones.
  void go_on() { order('g'); }

 private:
  using Pair = std::array<FileDescriptor, 2>;

  // Returns when it is obeyed.
  void order(char what) {
    done_ = false;
    REQUIRE(::write(orders_[1], &what, 1) == 1);
    done_.wait(false);
  }

  void run() {
    while (true) {
      std::vector<pollfd> waits{{orders_[0], POLLIN, 0}, {still_ ? -1 : listening_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        for (const FileDescriptor& end : pair) waits.push_back({still_ ? -1 : end.get(), POLLIN, 0});
      }
      if (::poll(waits.data(), waits.size(), -1) < 0) continue;
      if (waits[0].revents != 0 && !obey()) return;
      if (waits[0].revents != 0) continue;
      for (std::size_t i = 2; i < waits.size(); ++i) {
        if (waits[i].revents != 0 && !hand_on(pairs_[i / 2 - 1], i % 2)) pairs_[i / 2 - 1] = {};
      }
      std::erase_if(pairs_, [](const Pair& pair) { return !pair[0]; });
      if (waits[1].revents != 0) connect();
    }
  }

  bool obey() {
    char what = 0;
    const bool any = ::read(orders_[0], &what, 1) == 1;
    if (what == 'c' || what == 'g') pairs_.clear();
    if (what == 's') still_ = true;
    if (what == 'g') still_ = false;
    done_ = true;
    done_.notify_one();
    return any && what != 'e';
  }

  static bool hand_on(Pair& pair, std::size_t from) {
    std::array<std::byte, 65536> buffer;
    const ssize_t came = ::recv(pair[from].get(), buffer.data(), buffer.size(), 0);
    return came > 0 && ::send(pair[1 - from].get(), buffer.data(), static_cast<std::size_t>(came), MSG_NOSIGNAL) == came;
  }

  void connect() {
    Pair pair{FileDescriptor(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
              FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    if (pair[0] && ::connect(pair[1].get(), reinterpret_cast<const sockaddr*>(&to_.storage), to_.bytes) == 0)
      pairs_.push_back(std::move(pair));
  }

  const fabric::connected::SocketAddress to_;
  std::string host_;
  FileDescriptor listening_;
  std::array<int, 2> orders_{};
  std::atomic<bool> done_{false};
  std::vector<Pair> pairs_;  // the thread's, as is what follows
  bool still_ = false;
  std::thread thread_;
};

}  // namespace spindrift
