// Whether observing suffices, and what an observer sees; and readers without their types on top of observed ones.
#include <spindrift/dds/domain_observer.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/dynamic_parts.hpp>
#include <spindrift/dds/endpoints_watch.hpp>
#include <spindrift/dds/observed_reader.hpp>
#include <spindrift/dds/settings.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::topics {
namespace {

/// A member that is in a view shows its domain within some milliseconds, unless it is held up.
constexpr std::uint64_t settles_within_ms = 2000;

constexpr std::string_view active = "active";  // as a MemberState is called in a status

/// Members of this host that live, by how long they have been in their state.
struct Members {
  bool young = false;   ///< one may show its domain yet
  bool active = false;  ///< one has been in a view for long
};

Members members_here(const Config& config) {
  const std::string directory = group_directory(config.runtime_directory(), config.group_name());
  Members members;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(directory) / status_directory, none)) {
    if (entry.path().extension() != status_suffix) continue;
    const auto status = group::read_status(entry.path().string());
    if (!status || !group::runs(*status)) continue;
    const bool young = group::wall_clock_ms() < status->state_since_ms + settles_within_ms;
    members.young = members.young || young;
    members.active = members.active || (!young && status->state == active);
  }
  return members;
}

class ObservedSource final : public DynamicSource {
 public:
  ObservedSource(std::shared_ptr<ObservedReader> reader, std::shared_ptr<ReaderBacklog> backlog)
      : reader_(std::move(reader)), backlog_(std::move(backlog)) {}

  std::vector<ReadSample> take() override {
    // All that counts is taken below; what comes meanwhile counts until the next call.
    backlog_->bytes = 0;
    return reader_->get({}, true);
  }
  std::uint64_t lost() const override { return reader_->lost() + backlog_->dropped; }
  bool more_may_be_lost() const override { return reader_->more_may_be_lost(); }
  std::string waits_for() const override { return reader_->waits_for(); }

 private:
  std::shared_ptr<ObservedReader> reader_;
  std::shared_ptr<ReaderBacklog> backlog_;
};

void check(const AnnouncedTopic& topic, const DynamicReading& how) {
  if (topic.type == nullptr) throw Exception(*topic.fault);
  if (!how.from_last && how.held_max == 0) return;
  const char* const what = "an observer reads what comes from now on: it is given no history, and holds up no writer";
  throw Exception(Error(ErrorKind::unsupported, what)
                      .at("topic " + topic.name)
                      .fix("read it as a participant (--as participant)"));
}

}  // namespace

DomainObserver::DomainObserver(std::uint32_t domain, const std::string& file, const std::vector<ConfigOverride>& overrides)
    : config_(DomainCore::config(domain, file, overrides)),
      here_alone_(file.empty() && contacts_of(config_).empty()),
      watch_(std::make_unique<EndpointsWatch>(config_)) {}

DomainObserver::~DomainObserver() = default;

bool DomainObserver::suffices() const {
  constexpr std::chrono::milliseconds between_looks(20);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(settles_within_ms);
  for (;;) {
    const std::uint64_t seen = ProcessBell::of_process().rung();
    if (watch_->newest()->by.process != 0) return true;
    const auto fault = watch_->fault();
    if (fault && fault->kind() == ErrorKind::unsupported) return false;
    if (fault) throw Exception(*fault);
    const Members members = members_here(config_);
    const auto now = std::chrono::steady_clock::now();
    if (!members.young || now >= until) return here_alone_ && !members.active;
    ProcessBell::of_process().wait(seen, std::min(until, now + between_looks));
  }
}

std::vector<AnnouncedTopic> DomainObserver::topics() const { return announced_topics(watch_->newest()->endpoints); }

std::size_t DomainObserver::participants() const {
  const auto shown = watch_->newest();
  return static_cast<std::size_t>(std::ranges::count_if(
      shown->endpoints, [](const auto& each) { return each.second.kind == EndpointKind::participant; }));
}

DynamicReader DomainObserver::read(const AnnouncedTopic& topic, const DynamicReading& how) const {
  check(topic, how);
  const auto qos = reader_qos(topic, how);
  const auto backlog = std::make_shared<ReaderBacklog>();
  ObservedTopic observed{.facts = {.kind = EndpointKind::reader, .topic = topic.name, .type = topic.description},
                         .type = &dynamic_type_support(*topic.type),
                         .rules = cache_rules(qos),
                         .filter = ReaderBacklog::filter(backlog, how.bytes_max)};
  observed.facts.qos = requested(qos, any_partition(), topic_qos(topic));
  return DynamicReader(std::make_unique<ObservedSource>(read(std::move(observed)), backlog));
}

std::shared_ptr<ObservedReader> DomainObserver::read(ObservedTopic topic) const {
  return std::make_shared<ObservedReader>(config_, std::move(topic), *watch_);
}

std::optional<Error> DomainObserver::failure() const { return watch_->fault(); }

}  // namespace spindrift::topics
