// A member in a process of its own that keeps a log. It sends numbered messages in the subgroup "orders" until one is
// refused, says so, and sends that one again and again until it is taken; then one more that it waits for until it is
// durable. It leaves at the end of its input. Without "send" it only receives. On standard output:
//
//   refused NUMBER TEXT     that message was, the first so many were not
//   taken NUMBER            that message is on its way now
//   durable NUMBER          the last one is on the disks of all members
//   given COUNT             so many messages, numbered from 0 on, each once and in order, had come when it had left
//   view COUNT NODES        with "views": a view of so many members, and who has failed before it
//
// While another process has a lock of the file that DISK_PEER_HELD names, if it names one, no durable write of this one
// ends: a disk that takes long.
//
//   disk_peer CONFIG [send] [views]
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/group/group.hpp>

namespace {

using namespace spindrift;

constexpr std::size_t message_bytes = 1000;

/// Counts what this member is given: numbers in order, or the test ends.
class Given {
 public:
  void on_delivery(std::span<const Delivery> batch) {
    for (const Delivery& each : batch) {
      std::uint64_t number = 0;
      std::memcpy(&number, each.payload.data(), sizeof number);
      const std::uint64_t expected = count_.load();
      if (number != expected || each.version != expected) throw std::runtime_error("given " + std::to_string(number));
      count_.store(expected + 1);
    }
  }
  [[nodiscard]] std::uint64_t count() const { return count_.load(); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

/// Nothing: it was sent. Another error than that of a full disk goes on.
std::optional<std::string> refusal(Subgroup& orders, std::uint64_t number) {
  std::string message(message_bytes, 'x');
  std::memcpy(message.data(), &number, sizeof number);
  try {
    orders.send(message);
    return std::nullopt;
  } catch (const Exception& why) {
    if (why.error().kind() != ErrorKind::disk_full) throw;
    return why.error().to_string();
  }
}

void say(const char* what, std::uint64_t number, const std::string& text = {}) {
  std::printf("%s %s %s\n", what, std::to_string(number).c_str(), text.c_str());
  std::fflush(stdout);
}

void send(Subgroup& orders) {
  std::uint64_t number = 0;
  std::optional<std::string> why;
  while (!(why = refusal(orders, number))) ++number;
  say("refused", number, *why);
  // Nothing tells a program that there is space again: it asks.
  while (refusal(orders, number)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  say("taken", number);
  if (refusal(orders, ++number)) throw std::runtime_error("refused again");
  orders.await_durable(number);
  say("durable", number);
}

void say_view(const NewView& news) {
  std::string failed;
  for (const Removal& removal : news.failed) failed += " " + std::to_string(removal.node.value());
  say("view", news.view.members.size(), failed);
}

/// Returns when nobody has a lock of the file.
void await_disk() {
  static const char* const path = std::getenv("DISK_PEER_HELD");
  if (path == nullptr) return;
  static const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  ::flock(file, LOCK_SH);
  ::flock(file, LOCK_UN);
}

}  // namespace

// In place of the library's.
extern "C" ssize_t pwritev2(int file, const iovec* parts, int count, off_t at, int flags) {
  if ((static_cast<unsigned>(flags) & static_cast<unsigned>(RWF_DSYNC)) != 0) await_disk();
  return ::syscall(SYS_pwritev2, file, parts, count, at, 0, flags);
}

int main(int count, char** arguments) {
  if (count < 2) return EXIT_FAILURE;
  const std::vector<std::string> words(arguments + 2, arguments + count);
  const auto is_said = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  try {
    GroupOptions options;
    if (is_said("views")) options.on_view = say_view;
    Group group(value_or_throw(Config::read(arguments[1])), options);
    Subgroup& orders = group.subgroup("orders");
    Given given;
    orders.on_delivery([&](std::span<const Delivery> batch) { given.on_delivery(batch); });
    if (is_said("send")) send(orders);
    while (std::getchar() != EOF) {
    }
    group.leave();
    say("given", given.count());
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
