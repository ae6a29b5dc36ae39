// One process per worker, and one that keeps the meta table. Gates keep the ways apart, and workers that are through with
// one sleep, or poll for the others where those need it.
#include <spindrift/bench/mesh.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/reached.hpp>
#include <spindrift/bench/seeker.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::bench {

namespace {

using kernel::PhysicalEvent;
using kernel::PhysicalQueuePair;

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t arrival_patience_ns = 20'000'000'000;

enum Way : std::size_t { looked_up, known, written, connected, ways };

/// What all processes see.
struct Meeting {
  kernel::MetaServer server;
  std::array<kernel::Metadata, mesh_workers_max> metadata;
  std::array<kernel::MemoryKeys, mesh_workers_max> memories;
  Gate opened;
  Gate told;
  std::array<Gate, ways> starts;
  std::array<Gate, ways> ends;
  std::array<SharedWord, ways> through;  ///< how many workers are
  std::array<std::array<SharedWord, mesh_workers_max>, ways> took_ns;
};

class Worker {
 public:
  Worker(const MeshRun& run, std::uint32_t rank, Meeting& meeting)
      : run_(run), rank_(rank), meeting_(meeting), words_(run.workers) {
    for (std::uint32_t i = 1; i < run.workers; ++i) others_.push_back((rank + i) % run.workers);
  }

  Result<void> work() {
    if (auto opened = open(); !opened) return opened;
    for (const Way way : {looked_up, known, written, connected}) {
      if (way == connected) seeker_.reset();  // its pool would take the calls that come
      start_ns_ = meeting_.starts[way].pass(run_.workers);
      if (auto done = go(way); !done) return done;
      meeting_.ends[way].pass_asleep(run_.workers);
    }
    return {};
  }

 private:
  static NodeId node_of(std::uint32_t rank) { return NodeId(rank + 1); }

  Result<void> open() {
    auto device =
        open_loopback_device(run_.provider, {.send_depth = 128, .receive_buffers = 16, .peers_max = 2 * run_.workers + 2});
    if (!device) return std::move(device).error();
    device_ = std::move(device).value();
    auto keys = device_->register_memory(std::as_writable_bytes(std::span(words_)), fabric::Access::write);
    if (!keys) return std::move(keys).error();
    meeting_.metadata[rank_] = device_->metadata();
    meeting_.memories[rank_] = *keys;
    meeting_.opened.pass_asleep(run_.workers + 1);
    meeting_.told.pass_asleep(run_.workers + 1);
    auto seeker =
        Seeker::start(*device_, meeting_.server, {.nodes_max = run_.workers, .pairs_max = 2 * run_.workers, .yields = true});
    if (!seeker) return std::move(seeker).error();
    seeker_ = std::move(seeker).value();
    return {};
  }

  Result<void> go(Way way) {
    switch (way) {
      case looked_up: return look_up_all();
      case known: return connect_known();
      case written: return write_to_all();
      case connected:
      case ways: break;
    }
    return connect_all();
  }

  void done(Way way) {
    meeting_.took_ns[way][rank_].value.store(nanoseconds_now() - start_ns_);
    meeting_.through[way].value.fetch_add(1, std::memory_order_acq_rel);
  }
  [[nodiscard]] bool all_done(Way way) const {
    return meeting_.through[way].value.load(std::memory_order_acquire) == run_.workers;
  }
  [[nodiscard]] bool late() const { return nanoseconds_now() - start_ns_ > arrival_patience_ns; }

  Result<void> look_up_all() {
    std::vector<NodeId> nodes;
    for (const std::uint32_t other : others_) nodes.push_back(node_of(other));
    if (auto found = seeker_->look_up_and_connect(nodes); !found) return found;
    done(looked_up);
    CHECK(seeker_->pairs() == others_.size());
    seeker_->close_all();
    return {};
  }

  Result<void> connect_known() {
    for (const std::uint32_t other : others_) {
      if (auto made = seeker_->connect(node_of(other), true); !made) return made;
    }
    done(known);
    CHECK(seeker_->pairs() == others_.size());
    seeker_->close_all();
    return {};
  }

  Result<void> write_to_all() {
    for (const std::uint32_t other : others_) {
      kernel::MemoryKeys place = meeting_.memories[other];
      place.remote_base += rank_ * sizeof(std::uint64_t);
      if (auto wrote = seeker_->connect_and_write(node_of(other), place, rank_ + 1); !wrote) return wrote;
    }
    done(written);
    while (!all_done(written) || !all_arrived()) {
      if (auto moved = seeker_->progress(); !moved) return moved;
      if (late()) return Error(ErrorKind::timed_out, "what another worker wrote does not arrive");
    }
    return {};
  }
  [[nodiscard]] bool all_arrived() {
    return std::all_of(others_.begin(), others_.end(), [&](std::uint32_t other) {
      return std::atomic_ref(words_[other]).load(std::memory_order_acquire) == other + 1;
    });
  }

  // Of each two workers the one of the lower rank calls.
  Result<void> connect_all() {
    std::vector<std::unique_ptr<PhysicalQueuePair>> calls;
    std::vector<std::unique_ptr<PhysicalQueuePair>> accepted;
    for (std::uint32_t other = rank_ + 1; other < run_.workers; ++other) {
      auto call = device_->connect(meeting_.metadata[other], rank_);
      if (!call) return std::move(call).error();
      calls.push_back(std::move(call).value());
    }
    std::size_t standing = 0;
    bool told = false;
    while (!all_done(connected)) {
      if (auto call = device_->accepted(); call.queue_pair != nullptr) accepted.push_back(std::move(call.queue_pair));
      for (const auto& call : calls) {
        std::array<PhysicalEvent, 1> event;
        if (call->poll(event) == 0) continue;
        if (event[0].kind != PhysicalEvent::Kind::connected)
          return Error(ErrorKind::member_lost, "a connection broke: " + event[0].reason);
        ++standing;
      }
      if (!told && standing == calls.size() && accepted.size() == rank_) {
        told = true;
        done(connected);
      }
      if (late()) return Error(ErrorKind::timed_out, "a worker does not accept");
      ::sched_yield();
    }
    return {};
  }

  const MeshRun& run_;
  const std::uint32_t rank_;
  Meeting& meeting_;
  std::vector<std::uint64_t> words_;  // by rank, what it wrote here; outlives its registration
  std::vector<std::uint32_t> others_;
  std::unique_ptr<kernel::Device> device_;
  std::unique_ptr<Seeker> seeker_;
  std::uint64_t start_ns_ = 0;
};

Result<void> keep_table(const MeshRun& run, Meeting& meeting) {
  meeting.opened.pass_asleep(run.workers + 1);
  TableKeeper keeper;
  if (auto started = keeper.start(run.provider, run.workers, run.workers); !started) return started;
  for (std::uint32_t rank = 0; rank < run.workers; ++rank) {
    auto told =
        keeper.tell(NodeId(rank + 1), meeting.metadata[rank], meeting.memories[rank], run.workers * sizeof(std::uint64_t));
    if (!told) return told;
  }
  meeting.server = keeper.server();
  meeting.told.pass_asleep(run.workers + 1);
  while (meeting.through[written].value.load(std::memory_order_acquire) < run.workers) {
    keeper.poll();
    ::sched_yield();
  }
  return {};
}

std::uint64_t last_of(const Meeting& meeting, Way way, std::uint32_t workers) {
  std::uint64_t last = 0;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    last = std::max(last, meeting.took_ns[way][rank].value.load(std::memory_order_acquire));
  return last;
}

}  // namespace

Result<MeshTimes> measure_mesh(const MeshRun& run) {
  CHECK(run.workers >= 2 && run.workers <= mesh_workers_max);
  auto memory = SharedMemory::make(sizeof(Meeting));
  if (!memory) return std::move(memory).error();
  Meeting& meeting = memory->make_objects<Meeting>(0, 1)[0];
  auto ran = run_processes(run.workers + 1, patience, [&](std::uint32_t position) {
    value_or_throw(position == run.workers ? keep_table(run, meeting) : Worker(run, position, meeting).work());
  });
  if (!ran) return std::move(ran).error();
  return MeshTimes{last_of(meeting, looked_up, run.workers), last_of(meeting, known, run.workers),
                   last_of(meeting, written, run.workers), last_of(meeting, connected, run.workers)};
}

}  // namespace spindrift::bench
