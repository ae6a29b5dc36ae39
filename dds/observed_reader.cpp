// An observer's thread, and what becomes of what it reads.
#include <spindrift/dds/observed_reader.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/settings.hpp>

namespace spindrift::topics {
namespace {

constexpr std::size_t messages_at_once = 1024;
/// A member shows within some milliseconds what is new of a type or writer, unless it is held up.
constexpr std::chrono::milliseconds shown_patience(500);
constexpr std::size_t strange_types_max = 64;
/// A member answers within some milliseconds, unless it is held up.
constexpr std::chrono::milliseconds feed_patience(500);
/// Between two looks for a member, or for the topic's subgroup, of a domain that has ended or begins.
constexpr int look_again_ms = 200;

FileDescriptor made_event() {
  FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw Exception(system_error("eventfd", errno));
  return event;
}

std::string subgroup_of(const ShownDomain& shown, const std::string& topic) {
  const auto found = shown.carriers.find(topic);
  return found == shown.carriers.end() ? topic_subgroup_name(topic) : found->second;
}

Error other_type(const std::string& topic, const std::string& why) {
  return Error(ErrorKind::refused, why)
      .at("topic " + topic)
      .fix("let all programs that use it be of one release, or give one of them another name for its topic");
}

/// Nobody is there who has the subgroup, which may change.
bool may_come(const Error& why) { return why.kind() == ErrorKind::timed_out || why.kind() == ErrorKind::bad_argument; }

}  // namespace

ObservedReader::ObservedReader(const Config& config, ObservedTopic topic, EndpointsWatch& watch)
    : config_(config),
      topic_(topic.facts.topic),
      strangers_(topic.strangers),
      watch_(watch),
      wakes_(made_event()),
      listeners_(monitor_) {
  types_.open(*topic.type);
  core_ = std::make_unique<ReaderCore>(std::move(topic.facts), topic.rules, std::make_shared<StatusBoard>(listeners_));
  core_->set_filter(std::move(topic.filter));
  {
    const std::lock_guard lock(monitor_.mutex);
    take_in(watch_.newest());
    if (failure_) throw Exception(*failure_);
  }
  watch_.tell(wakes_.get());
  auto thread = start_thread([this] { run(); });
  if (!thread) watch_.forget(wakes_.get());
  thread_ = value_or_throw(std::move(thread));
  std::unique_lock lock(monitor_.mutex);
  monitor_.changed.wait_for(lock, feed_patience, [&] { return feeding_.began || failure_; });
}

ObservedReader::~ObservedReader() {
  stops_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wakes_.get(), &one, sizeof one);
  ProcessBell::of_process().ring();
  thread_.join();
  watch_.forget(wakes_.get());
}

std::vector<ReadSample> ObservedReader::get(const SampleSelection& which, bool take) {
  const std::lock_guard lock(monitor_.mutex);
  core_->board().clear_data();
  std::vector<ReadSample> samples = core_->cache().get(which, take, wall_ns());
  if (samples.empty() && failure_) throw Exception(*failure_);
  return samples;
}

std::uint64_t ObservedReader::lost() const {
  const std::lock_guard lock(monitor_.mutex);
  return static_cast<std::uint64_t>(core_->statuses().lost.total_count()) + heard_.missed;
}

bool ObservedReader::more_may_be_lost() const {
  const std::lock_guard lock(monitor_.mutex);
  return heard_.silent_gone || !heard_.silent.empty();
}

std::string ObservedReader::waits_for() const {
  const std::lock_guard lock(monitor_.mutex);
  return feeding_.waits_for;
}

std::vector<EndpointFacts> ObservedReader::matched() const {
  const std::lock_guard lock(monitor_.mutex);
  std::vector<EndpointFacts> writers;
  for (const auto& [id, facts] : core_->matched()) writers.push_back(facts);
  return writers;
}

std::uint32_t ObservedReader::status_changes() const {
  const std::lock_guard lock(monitor_.mutex);
  return core_->board().changed() & StatusBit::data;
}

void ObservedReader::run() {
  std::optional<Error> failure;
  try {
    while (!stops_) {
      if (read_on()) wait();
    }
    return;
  } catch (const Exception& thrown) {
    failure = thrown.error();
  } catch (const std::bad_alloc&) {
    failure = out_of_memory();
  }
  const std::lock_guard lock(monitor_.mutex);
  fail(*failure);
}

void ObservedReader::fail(const Error& why) {
  failure_ = why;
  core_->on_closed(why.to_string());
  monitor_.changed.notify_all();
  ProcessBell::of_process().ring();
}

bool ObservedReader::read_on() {
  const auto shown = watch_.newest();  // ahead of what is read: see drop_gone
  {
    const std::lock_guard lock(monitor_.mutex);
    take_in(shown);
    if (failure_) throw Exception(*failure_);
  }
  std::size_t messages = 0;
  std::string waits_for;
  try {
    if (!observer_) {
      const ObserverHandlers handlers{.on_message = [this](const Delivery& each) { on_message(each); },
                                      .on_gap = [this](const Gap&) { on_gap(); }};
      observer_.emplace(config_, subgroup_of(*shown, topic_), handlers);
    }
    messages = observer_->poll(messages_at_once);
    waits_for = observer_->waits_for();
  } catch (const Exception& thrown) {
    if (!may_come(thrown.error())) throw;
    observer_.reset();
    waits_for = thrown.error().message();
  }
  const std::lock_guard lock(monitor_.mutex);
  // Something newer was taken in while that was read: it is for the next time, and what is older knows less.
  if (messages < messages_at_once && heard_.shown == shown) drop_gone(*shown);
  core_->tell();
  if (feeding_.waits_for != waits_for) {
    feeding_.waits_for = std::move(waits_for);
    ProcessBell::of_process().ring();
  }
  if (!feeding_.began && observer_ && observer_->source()) {
    feeding_.began = true;
    monitor_.changed.notify_all();
  }
  return messages == 0;
}

void ObservedReader::wait() {
  pollfd wakes{.fd = wakes_.get(), .events = POLLIN, .revents = 0};
  if (observer_) {
    static_cast<void>(observer_->wait(wakes_.get()));
  } else {
    static_cast<void>(::poll(&wakes, 1, look_again_ms));
  }
  std::uint64_t times = 0;
  [[maybe_unused]] const auto taken = ::read(wakes_.get(), &times, sizeof times);
}

void ObservedReader::on_message(const Delivery& delivery) {
  const auto message = parse_sample(delivery.payload, delivery.sender.value());
  // Members' own messages travel there, too, and what is none of them members tell in their logs.
  if (!message || message->header.topic != digest_of_topic(topic_)) return;
  await_type(message->header.type);
  if (strangers_ == Strangers::awaited) await_writer(message->header.writer);
  const std::lock_guard lock(monitor_.mutex);
  apply(*message, delivery.view);
}

// How many messages it is says little: they may be of others. A writer's next one tells by its number.
void ObservedReader::on_gap() {
  const std::lock_guard lock(monitor_.mutex);
  for (const auto& [id, writer] : heard_.writers) heard_.silent.insert(id);
  if (heard_.writers.empty()) heard_.silent_gone = true;
}

ObservedReader::Writer& ObservedReader::known(const SampleEnvelope& header, ViewId view) {
  const auto [writer, fresh] = heard_.writers.try_emplace(header.writer);
  if (!fresh) return writer->second;
  writer->second.since = view;
  if (strangers_ == Strangers::awaited) return writer->second;
  EndpointFacts facts = core_->facts();  // of the qualities that this reader asks for
  facts.id = header.writer;
  facts.kind = EndpointKind::writer;
  core_->on_writer(facts);
  return writer->second;
}

void ObservedReader::apply(const SampleMessage& message, ViewId view) {
  const SampleEnvelope& header = message.header;
  Writer& writer = known(header, view);
  if (header.sequence <= writer.last) return;  // another member feeds the observer, of an unordered subgroup
  if (writer.last != 0) heard_.missed += header.sequence - writer.last - 1;
  writer.last = header.sequence;
  heard_.silent.erase(header.writer);
  if (static_cast<SampleKind>(header.kind) == SampleKind::gone) {
    heard_.ended.insert(header.writer);
    heard_.writers.erase(header.writer);
    return core_->on_writer_gone(header.writer, false);
  }
  if (!core_->wants(header.writer)) {
    if (strangers_ == Strangers::awaited && !writer.shown) ++heard_.missed;  // it may be one that this reader matches
    return;
  }
  auto data = types_.decode(header.type, message.bytes);
  if (!data) {
    log::warn(log::Room::dds, "a sample cannot be read, and counts as lost",
              {{"type", types_.name()}, {"writer_of_node", header.writer.node}, {"reason", data.error().to_string()}});
    return core_->on_malformed();
  }
  const bool has_sample = static_cast<SampleKind>(header.kind) == SampleKind::data;
  core_->on_sample(header, has_sample ? std::move(data).value() : nullptr, wall_ns());
}

// The writer of a longer type may write before its topic is shown.
void ObservedReader::await_type(std::uint64_t identity) {
  {
    const std::lock_guard lock(monitor_.mutex);
    if (types_.reads(identity) || strange_.size() >= strange_types_max || !strange_.insert(identity).second) return;
  }
  await_shown([&] { return types_.reads(identity); });
}

// A writer is waited for once: afterwards it is known, shown or not.
void ObservedReader::await_writer(const EndpointId& writer) {
  await_shown([&] { return heard_.writers.contains(writer) || heard_.ended.contains(writer); });
}

// Nobody waits for this thread.
void ObservedReader::await_shown(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + shown_patience;
  for (;;) {
    const std::uint64_t rung = ProcessBell::of_process().rung();
    {
      const std::lock_guard lock(monitor_.mutex);
      if (holds()) return;
      take_in(watch_.newest());
      if (holds()) return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (stops_ || now >= until) return;
    ProcessBell::of_process().wait(rung, until);
  }
}

void ObservedReader::take_in(std::shared_ptr<const ShownDomain> shown) {
  if (shown == heard_.shown) return;
  heard_.shown = std::move(shown);
  for (const auto& [id, facts] : heard_.shown->endpoints) {
    if (facts.topic != topic_) continue;
    if (facts.kind == EndpointKind::topic) {
      types_.learn(facts.type);
      if (const auto why = type_refusal(core_->facts(), facts); why && !failure_)
        return fail(other_type(topic_, *why));
    }
    if (facts.kind != EndpointKind::writer || heard_.ended.contains(id)) continue;
    const auto [writer, fresh] = heard_.writers.try_emplace(id);
    if (fresh) writer->second.since = heard_.shown->view;
    if (writer->second.shown == facts) continue;
    writer->second.shown = facts;
    core_->on_writer(facts);
  }
  std::erase_if(heard_.ended, [&](const EndpointId& each) { return !heard_.shown->endpoints.contains(each); });
}

void ObservedReader::drop_gone(const ShownDomain& shown) {
  for (auto each = heard_.writers.begin(); each != heard_.writers.end();) {
    const auto& [id, writer] = *each;
    // The members of a view know all that was said of endpoints in those before.
    const bool told = writer.shown || shown.view > writer.since || shown.by.process == 0;
    if (!told || shown.endpoints.contains(id)) {
      ++each;
      continue;
    }
    if (heard_.silent.erase(id) > 0) heard_.silent_gone = true;
    core_->on_writer_gone(id, true);
    each = heard_.writers.erase(each);
  }
}

}  // namespace spindrift::topics
