// Spindrift: a group in a logged subgroup of which each client is a member. A write is a message; it is done when it is on
// the disks of all members. --place: a directory for journals; with ":tcp" behind it members are connected by TCP on
// loopback, in the clear, as the servers of others are, instead of by shared memory.
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/group_network.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/group/group.hpp>

#include "writes.hpp"

using namespace spindrift;

namespace {

/// [SUBGROUP/DEFAULT]: rings of 1 MiB, 1024 messages on their way, of up to 10 KiB.
constexpr Profile default_profile{1 << 20, 1024, 10240};

class SpindriftWriter {
 public:
  SpindriftWriter(peers::WriteScene& scene, Config config)
      : scene_(scene), self_(NodeId(scene.self())), group_(std::move(config)) {}

  void run() {
    Subgroup& subgroup = group_.subgroup(bench::subgroup_name);
    group_.on_failure([this](const Error& failure) {
      const std::lock_guard lock(mutex_);
      failure_ = failure;
      changed_.notify_one();
    });
    subgroup.on_durable([this](std::uint64_t version) { on_durable(version); });
    subgroup.on_delivery([this](std::span<const Delivery> batch) { on_delivery(batch); });
    scene_.ready();
    while (await_turn()) subgroup.send(scene_.payload());
    group_.leave();
  }

 private:
  /// The next write has begun; false: all are done.
  bool await_turn() {
    std::unique_lock lock(mutex_);
    // Nobody tells of the end of the run.
    const auto look_again_after = std::chrono::milliseconds(10);
    const auto come = [&] { return failure_ || scene_.wants_more() || (scene_.stopped() && scene_.on_their_way() == 0); };
    while (!changed_.wait_for(lock, look_again_after, come)) {
    }
    if (failure_) throw Exception(*failure_);
    if (!scene_.wants_more()) return false;
    sent_.push_back(scene_.begin());
    return true;
  }

  void on_delivery(std::span<const Delivery> batch) {
    const std::lock_guard lock(mutex_);
    for (const Delivery& delivery : batch) {
      if (delivery.sender != self_) continue;
      delivered_.push_back({delivery.version, sent_.front()});
      sent_.pop_front();
    }
    end_durable();
  }
  void on_durable(std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    durable_ = version;
    end_durable();
  }
  void end_durable() {
    bool any = false;
    for (; !delivered_.empty() && delivered_.front().version < durable_; delivered_.pop_front()) {
      scene_.end(delivered_.front().number);
      any = true;
    }
    if (any) changed_.notify_one();
  }

  struct DeliveredWrite {
    std::uint64_t version;
    std::uint64_t number;
  };

  peers::WriteScene& scene_;  // behind the mutex, as are the next five
  const NodeId self_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::uint64_t> sent_;  // numbers
  std::deque<DeliveredWrite> delivered_;
  std::uint64_t durable_ = 0;
  std::optional<Error> failure_;
  Group group_;
};

/// The value behind --place.
std::string place_of(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--place") return argv[i + 1];
  }
  return ".";
}

}  // namespace

int main(int argc, char** argv) {
  const auto directory = bench::PrivateDirectory::make();
  std::string journals = place_of(argc, argv);
  const bool tcp = journals.ends_with(":tcp");
  if (tcp) journals.resize(journals.size() - 4);
  journals += fmt::format("/{}", ::getpid());  // a group of its own for each run, for a log would be delivered first
  constexpr std::uint32_t clients_max = 16;
  const auto network = tcp ? bench::GroupNetwork::make("tcp", "none", clients_max) : bench::GroupNetwork();
  return peers::run_writes(argc, argv, [&](peers::WriteScene& scene) {
    bench::log_errors_only();
    bench::GroupShape shape{scene.options().clients, scene.options().clients, default_profile, network.settings(), 1, 1};
    shape.settings.push_back({"PERS/file_path", journals, "--place"});
    SpindriftWriter(scene, bench::member_config(shape, directory.path(), NodeId(scene.self()))).run();
  });
}
