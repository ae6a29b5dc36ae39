// Takes the time before and after the calls that are about links and regions; data passes without a look at the clock.
#include <spindrift/bench/watched_fabric.hpp>

#include <sys/resource.h>

#include <ctime>

#include <algorithm>
#include <utility>

#include <spindrift/bench/processes.hpp>

namespace spindrift::bench {

namespace {

using fabric::Access;
using fabric::Address;
using fabric::Event;
using fabric::Operation;
using fabric::PeerId;
using fabric::Region;
using fabric::RegionKey;

std::uint64_t cpu_ns(clockid_t clock) noexcept {
  timespec used{};
  ::clock_gettime(clock, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

std::uint64_t thread_waits() noexcept {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return static_cast<std::uint64_t>(used.ru_nvcsw);
}

ConnectingLog::Instant instant_now() noexcept { return {nanoseconds_now(), thread_cpu_ns(), thread_waits()}; }

void add_since(const ConnectingLog::Instant& start, ConnectingLog::Spent& spent) noexcept {
  const ConnectingLog::Instant now = instant_now();
  spent.ns += now.at_ns - start.at_ns;
  spent.cpu_ns += now.cpu_ns - start.cpu_ns;
  spent.waits += now.waits - start.waits;
}

/// Adds the time of its life to what was spent.
class Timed {
 public:
  explicit Timed(ConnectingLog::Spent& spent) : spent_(spent), start_(instant_now()) {}
  ~Timed() { add_since(start_, spent_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  ConnectingLog::Spent& spent_;
  const ConnectingLog::Instant start_;
};

void note_first(ConnectingLog::Instant& noted) noexcept {
  if (noted.at_ns == 0) noted = instant_now();
}

class WatchedFabric final : public fabric::Fabric {
 public:
  WatchedFabric(std::unique_ptr<Fabric> inner, ConnectingLog& log) : inner_(std::move(inner)), log_(log) {}

  [[nodiscard]] const fabric::Traits& traits() const noexcept override { return inner_->traits(); }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) override {
    note_first(log_.carved);
    const Timed timed(log_.regions);
    return inner_->allocate(bytes, name);
  }
  void release(RegionKey region) override {
    const Timed timed(log_.regions);
    inner_->release(region);
  }
  [[nodiscard]] Result<void> listen(const Address& self) override {
    const Timed timed(log_.open);
    return inner_->listen(self);
  }
  [[nodiscard]] Result<void> connect(const Address& peer) override {
    const Timed timed(log_.links);
    return inner_->connect(peer);
  }
  void disconnect(PeerId peer) override {
    const Timed timed(log_.links);
    inner_->disconnect(peer);
  }
  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) override {
    const Timed timed(log_.regions);
    return inner_->expose(peer, region, access);
  }
  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) override {
    const Timed timed(log_.regions);
    return inner_->map(peer, region);
  }
  void unmap(PeerId peer, RegionKey region) override {
    const Timed timed(log_.regions);
    inner_->unmap(peer, region);
  }
  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override { return inner_->post(operations); }
  [[nodiscard]] std::uint64_t unsent_bytes(PeerId peer) const noexcept override { return inner_->unsent_bytes(peer); }
  [[nodiscard]] bool starved(PeerId peer) override { return inner_->starved(peer); }
  [[nodiscard]] Result<std::vector<NodeId>> present() const override { return inner_->present(); }
  [[nodiscard]] std::size_t poll(std::span<Event> events) override;
  void notify() noexcept override { inner_->notify(); }
  void prepare_sleep() noexcept override { inner_->prepare_sleep(); }
  void sleep(Time deadline) noexcept override { inner_->sleep(deadline); }
  void cancel_sleep() noexcept override { inner_->cancel_sleep(); }
  void wake() noexcept override { inner_->wake(); }

 private:
  std::unique_ptr<Fabric> inner_;
  ConnectingLog& log_;
};

std::size_t WatchedFabric::poll(std::span<Event> events) {
  const ConnectingLog::Instant start = instant_now();
  const std::size_t count = inner_->poll(events);
  bool links = false;
  bool regions = false;
  for (const Event& event : events.first(count)) {
    links |= event.kind == Event::Kind::connected || event.kind == Event::Kind::lost;
    regions |= event.kind == Event::Kind::exposed;
    if (event.kind == Event::Kind::connected) note_first(log_.connected);
    if (event.kind == Event::Kind::lost) note_first(log_.lost);
    if (event.kind == Event::Kind::connected) log_.last_connected_at_ns = nanoseconds_now();
    if (event.kind == Event::Kind::exposed) log_.exposed_at_ns = nanoseconds_now();
  }
  if (links || regions) add_since(start, links ? log_.links : log_.regions);
  return count;
}

}  // namespace

std::uint64_t thread_cpu_ns() noexcept { return cpu_ns(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t process_cpu_ns() noexcept { return cpu_ns(CLOCK_PROCESS_CPUTIME_ID); }

std::unique_ptr<fabric::Fabric> watch_connecting(std::unique_ptr<fabric::Fabric> inner, ConnectingLog& log) {
  return std::make_unique<WatchedFabric>(std::move(inner), log);
}

}  // namespace spindrift::bench
