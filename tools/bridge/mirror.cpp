// Two passes that take on the one side and write on the other, and the thread that makes one of them again and again.
#include "mirror.hpp"

#include <chrono>
#include <cstdio>

#include <dds/ddsi/ddsi_serdata.h>
#include <fmt/format.h>

#include <spindrift/core/limits.hpp>
#include <spindrift/dds/portable_sample.hpp>

#include "bridge/cyclone_qos.hpp"
#include "escaped.hpp"

namespace spindrift::tools::bridge {
namespace {

using Clock = std::chrono::steady_clock;
using topics::DynamicParticipant;
using topics::DynamicSample;

/// Something may be missed by the bell: an end, or a fault.
constexpr std::chrono::seconds look_again_after(1);
constexpr std::chrono::seconds held_up_after(5);
constexpr std::uint64_t backlog_bytes_max = std::uint64_t{64} << 20;
constexpr std::size_t instances_max = 100'000;
constexpr std::size_t taken_at_once = 32;
/// So often in a row it takes: what waits is passed on when it ends, and what goes on coming is not.
constexpr std::size_t rounds_max = 2 * waiting_max / taken_at_once;

topics::DynamicReading reading_of(const topics::EndpointQos& qos, const std::string& mark) {
  topics::DynamicReading how{.from_last = qos.durability > 0, .mark = mark};
  if (qos.reliability > 0)
    how.held_max = waiting_max;
  else
    how.bytes_max = backlog_bytes_max;
  return how;
}

}  // namespace

void MirrorCounts::add(const MirrorCounts& other) {
  samples += other.samples;
  news += other.news;
  dropped += other.dropped;
}

MirrorCounts MirrorThread::counts() const { return {.samples = samples_, .news = news_, .dropped = dropped_}; }

std::optional<Error> MirrorThread::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void MirrorThread::begin() {
  thread_ = value_or_throw(start_thread([this] { run(); }));
}

void MirrorThread::end() {
  ending_ = true;
  DynamicParticipant::wake();
  if (thread_.joinable()) thread_.join();
}

void MirrorThread::run() {
  try {
    for (;;) {
      const std::uint64_t seen = DynamicParticipant::changes();
      const bool last = ending_;
      bool more = true;
      for (std::size_t round = 0; more && round < rounds_max; ++round) more = pass_();
      if (last) return;
      if (!more) DynamicParticipant::await_change(seen, Clock::now() + look_again_after);
    }
  } catch (const Exception& thrown) {
    const std::lock_guard lock(mutex_);
    failure_ = thrown.error();
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    failure_ = Error(ErrorKind::resource, "no memory is left for its samples").at("topic " + topic_).fix("raise ulimit -v");
  }
  DynamicParticipant::wake();
}

void MirrorThread::drop(const std::string& reason) {
  if (dropped_++ > 0) return;
  fmt::print(stderr, "spindrift: topic {}: a sample is not mirrored, and more may follow that are not told: {}\n",
             harmless(topic_), harmless(reason));
}

void MirrorThread::say_held_up(const char* whom) const {
  fmt::print(stderr, "spindrift: topic {}: {} has taken nothing for {} s, and the writers of the other side wait\n",
             harmless(topic_), whom, held_up_after.count());
}

template <class Try>
bool MirrorThread::until_taken(const char* whom, const Try& attempt) {
  const auto told_at = Clock::now() + held_up_after;
  bool told = false;
  if (gave_up_) return false;
  while (!attempt()) {
    if (ending_) {
      gave_up_ = true;
      return false;
    }
    if (!told && Clock::now() >= told_at) {
      told = true;
      say_held_up(whom);
    }
  }
  return true;
}

ToCyclone::ToCyclone(DynamicParticipant& participant, const CycloneSide& side, std::shared_ptr<const CycloneTopic> cyclone,
                     const topics::AnnouncedTopic& topic, const topics::EndpointQos& qos, bool own_history)
    : cyclone_(std::move(cyclone)),
      own_(participant.id()),
      keeps_(qos.durability > 0),
      writer_(dds_create_writer(side.participant(), cyclone_->get(), writer_qos(qos).get(), nullptr), "writer"),
      reader_(participant.read(topic, reading_of(qos, side.mark()))),
      own_history_(own_history),
      mirror_(topic.name, [this] { return pass(); }) {
  mirror_.begin();
}

MirrorCounts ToCyclone::counts() const {
  MirrorCounts all = mirror_.counts();
  all.dropped += reader_.lost();
  return all;
}

bool ToCyclone::pass() {
  for (const topics::DynamicRead& each : reader_.take()) {
    if (each.about.writer.process() == own_ && !own_history_) continue;
    pass(each);
  }
  own_history_ = false;
  return false;
}

void ToCyclone::pass(const topics::DynamicRead& read) {
  if (read.sample) {
    note_instance(read);
    write(OpaqueKind::sample, read.sample, read.about.source_timestamp);
  }
  // The last one that was handed out of an instance has its state.
  if (read.about.sample_rank > 0 || read.about.instance_state == topics::instance_alive) return;
  const auto instance = instances_.find(read.about.instance.words);
  const bool disposed = read.about.instance_state == topics::instance_disposed;
  // Cyclone DDS would keep no more for late joiners of an instance that has no writer.
  if (instance == instances_.end() || (keeps_ && !disposed)) return;
  write(disposed ? OpaqueKind::dispose : OpaqueKind::unregister, instance->second, read.about.source_timestamp);
  instances_.erase(instance);
}

void ToCyclone::note_instance(const topics::DynamicRead& read) {
  const topics::DynamicType& type = *read.sample->type();
  if (type.keys().empty() || instances_.contains(read.about.instance.words)) return;
  if (instances_.size() >= instances_max) return mirror_.drop("the end of more than 100000 instances cannot be passed on");
  const auto key = topics::portable_key(type, topics::portable_bytes(*read.sample)).value();
  instances_[read.about.instance.words] =
      std::make_shared<const DynamicSample>(topics::from_portable_key(read.sample->type(), key).value());
}

void ToCyclone::write(OpaqueKind kind, const std::shared_ptr<const DynamicSample>& sample, std::int64_t source_timestamp) {
  dds_return_t done = DDS_RETCODE_OK;
  const bool taken = mirror_.until_taken("a reader of Cyclone DDS", [&] {
    // Each call takes the data, also one that fails.
    done = dds_forwardcdr(writer_.get(), make_opaque_data(cyclone_->type(), kind, sample, source_timestamp));
    return done != DDS_RETCODE_TIMEOUT;
  });
  if (!taken) return mirror_.drop("the bridge ended before a reader of Cyclone DDS took it");
  if (done != DDS_RETCODE_OK) return mirror_.drop(std::string("Cyclone DDS does not write it: ") + dds_strretcode(done));
  kind == OpaqueKind::sample ? mirror_.count_sample() : mirror_.count_news();
}

FromCyclone::FromCyclone(DynamicParticipant& participant, const CycloneSide& side,
                         std::shared_ptr<const CycloneTopic> cyclone, const topics::AnnouncedTopic& topic,
                         const topics::EndpointQos& qos)
    : cyclone_(std::move(cyclone)),
      writer_(participant.write(topic, side.mark())),
      reader_(dds_create_reader(side.participant(), cyclone_->get(), reader_qos(qos).get(), ringing_listener()), "reader"),
      malformed_said_(cyclone_->malformed().total()),
      mirror_(topic.name, [this] { return pass(); }) {
  mirror_.begin();
}

MirrorCounts FromCyclone::counts() const {
  MirrorCounts all = mirror_.counts();
  dds_sample_lost_status_t status{};
  if (dds_get_sample_lost_status(reader_.get(), &status) == DDS_RETCODE_OK) all.dropped += status.total_count;
  return all;
}

bool FromCyclone::pass() {
  say_malformed();
  std::array<ddsi_serdata*, taken_at_once> taken{};
  std::array<dds_sample_info_t, taken_at_once> about{};
  const dds_return_t count = dds_takecdr(reader_.get(), taken.data(), taken_at_once, about.data(), DDS_ANY_STATE);
  if (count <= 0) return false;
  struct Unref {
    void operator()(ddsi_serdata* data) const { ddsi_serdata_unref(data); }
  };
  std::array<std::unique_ptr<ddsi_serdata, Unref>, taken_at_once> held;
  for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at) held[at].reset(taken[at]);
  for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at) pass(*held[at], about[at]);
  return true;
}

void FromCyclone::pass(const ddsi_serdata& data, const dds_sample_info_t& about) {
  const auto& sample = sample_of(&data);
  const auto give = [&](const auto& attempt, bool is_sample) {
    try {
      if (!mirror_.until_taken("a participant of Spindrift", attempt))
        return mirror_.drop("the bridge ended before participants took it");
      is_sample ? mirror_.count_sample() : mirror_.count_news();
    } catch (const Exception& thrown) {
      if (thrown.error().kind() != ErrorKind::bad_argument) throw;
      mirror_.drop(thrown.what());  // larger than the topic's messages
    }
  };
  if (about.valid_data) give([&] { return writer_.write(*sample, about.source_timestamp); }, true);
  const bool ended = about.sample_rank == 0 && about.instance_state != DDS_IST_ALIVE;
  if (!ended || cyclone_->described()->keys().empty()) return;
  if (about.instance_state == DDS_IST_NOT_ALIVE_DISPOSED)
    give([&] { return writer_.dispose(*sample); }, false);
  else
    give([&] { return writer_.unregister(*sample); }, false);
}

void FromCyclone::say_malformed() {
  const std::uint64_t total = cyclone_->malformed().total();
  if (total == malformed_said_ || (Clock::now() < say_at_ && !mirror_.ending())) return;
  say_at_ = Clock::now() + look_again_after;
  fmt::print(stderr, "spindrift: topic {}: dropped {} samples of Cyclone DDS that are none of its type, so far: {}\n",
             harmless(mirror_.topic()), total, harmless(cyclone_->malformed().last()));
  malformed_said_ = total;
}

}  // namespace spindrift::tools::bridge
