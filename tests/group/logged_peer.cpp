// A member in a process of its own that keeps a log: sends numbered messages in the subgroup "orders", one after the other,
// until it is killed, and tells on standard output all that it is given and all that it is told of, a line each:
//
//   given VERSION TEXT      a message of the log, in its order
//   durable VERSION TEXT    the own message of that version is durable everywhere
//
//   logged_peer CONFIG NAME
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include <spindrift/group/group.hpp>

namespace {

/// Lines from two threads, each whole when it is there at all.
class Output {
 public:
  void say(const char* what, std::uint64_t version, std::string_view text) {
    const std::lock_guard lock(mutex_);
    std::printf("%s %s %.*s\n", what, std::to_string(version).c_str(), static_cast<int>(text.size()), text.data());
    std::fflush(stdout);
  }

 private:
  std::mutex mutex_;
};

/// The places of the own messages in the log.
class Versions {
 public:
  void note(std::string text, std::uint64_t version) {
    {
      const std::lock_guard lock(mutex_);
      versions_[std::move(text)] = version;
    }
    changed_.notify_all();
  }
  [[nodiscard]] std::uint64_t await(const std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return versions_.contains(text); });
    const std::uint64_t version = versions_[text];
    versions_.erase(text);
    return version;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::uint64_t> versions_;
};

}  // namespace

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 3) return EXIT_FAILURE;
  try {
    Output output;
    Versions versions;
    Group group(value_or_throw(Config::read(arguments[1])));
    Subgroup& orders = group.subgroup("orders");
    const std::string own = std::string(arguments[2]) + ".";
    orders.on_delivery([&](std::span<const Delivery> batch) {
      for (const Delivery& each : batch) {
        const std::string text(reinterpret_cast<const char*>(each.payload.data()), each.payload.size());
        output.say("given", each.version, text);
        if (text.starts_with(own)) versions.note(text, each.version);
      }
    });
    for (std::uint64_t number = 0;; ++number) {
      const std::string text = own + std::to_string(number);
      orders.send(text);
      const std::uint64_t version = versions.await(text);
      orders.await_durable(version);
      output.say("durable", version, text);
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
