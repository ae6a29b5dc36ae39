// An observer under measurement.
#include <sched.h>

#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/traffic_arena.hpp>
#include <spindrift/group/observer.hpp>

namespace spindrift::bench {

namespace {

/// Observes the first stream, and in the end accounts for each of its messages: it got it, or was told that it missed it.
class TrafficWatcher {
 public:
  TrafficWatcher(const TrafficArena& arena, std::uint32_t number)
      : arena_(arena),
        standing_(number >= arena.run.watchers.reading),
        got_(arena.watched[number]),
        observer_(member_config(arena.shape, arena.directory, NodeId(0)), numbered_subgroup(0), handlers()) {}

  void run() {
    while (!observer_.source()) read();
    arena_.started().pass_asleep(arena_.processes());
    while (!standing_ && arena_.stop.value.load(std::memory_order_relaxed) == 0) read();
    arena_.silent().pass_asleep(arena_.processes());
    while (accounted_ < arena_.sent(0)) read();
    arena_.ended().pass_asleep(arena_.processes());
  }

 private:
  ObserverHandlers handlers() {
    return {[this](const Delivery& message) {
              ++accounted_;
              got_.value.fetch_add(1, std::memory_order_relaxed);
              keep(read_lines(message.payload));
            },
            [this](const Gap& gap) { accounted_ += gap.messages.value_or(0); }};
  }
  void read() {
    if (observer_.poll() == 0) static_cast<void>(observer_.wait(-1, std::chrono::milliseconds(10)));
  }

  const TrafficArena& arena_;
  const bool standing_;
  SharedWord& got_;
  std::uint64_t accounted_ = 0;
  Observer observer_;  // calls the handlers
};

}  // namespace

void run_watcher(const TrafficArena& arena, std::uint32_t number) {
  name_thread("watcher");
  const sched_param none{};
  if (arena.run.watchers.idle_class) ::sched_setscheduler(0, SCHED_IDLE, &none);
  TrafficWatcher(arena, number).run();
}

}  // namespace spindrift::bench
