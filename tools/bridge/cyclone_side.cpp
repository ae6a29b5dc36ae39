// The C functions by which Cyclone DDS tells of others.
#include "cyclone_side.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <dds/ddsrt/log.h>
#include <fmt/format.h>

#include <spindrift/dds/dynamic_participant.hpp>

#include "bridge/cyclone_qos.hpp"
#include "bridge/cyclone_type.hpp"
#include "escaped.hpp"

namespace spindrift::tools::bridge {
namespace {

constexpr std::size_t taken_at_once = 32;
constexpr std::chrono::seconds ask_again_after(5);

/// Places for as many as the reader lent before: a call for fewer fills them all.
using LoanedSamples = std::array<void*, taken_at_once>;

/// Whether it writes, or reads, what we do.
bool has_our_form(const dds_qos_t& qos) {
  std::uint32_t count = 0;
  dds_data_representation_id_t* forms = nullptr;
  if (!dds_qget_data_representation(&qos, &count, &forms) || count == 0) return true;
  const bool has = std::find(forms, forms + count, DDS_DATA_REPRESENTATION_XCDR1) != forms + count;
  dds_free(forms);
  return has;
}

/// Passes on what Cyclone DDS says, a few lines at a time: strangers' datagrams could have it say as much as they like.
class CycloneLog {
 public:
  static void take(void* self, const dds_log_data_t* said) { static_cast<CycloneLog*>(self)->say(*said); }

 private:
  void say(const dds_log_data_t& said) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now >= renewed_at_) {
      if (left_out_ > 0) fmt::print(stderr, "spindrift: Cyclone DDS said {} more lines, which are left out\n", left_out_);
      renewed_at_ = now + between_renewals;
      lines_ = left_out_ = 0;
    }
    if (lines_ == lines_max) {
      ++left_out_;
      return;
    }
    ++lines_;
    std::string_view text(said.message, said.size);
    while (text.ends_with('\n')) text.remove_suffix(1);
    fmt::print(stderr, "spindrift: Cyclone DDS: {}\n", harmless(std::string(text)));
  }

  static constexpr std::uint64_t lines_max = 20;
  static constexpr std::chrono::seconds between_renewals{10};
  std::mutex mutex_;
  std::chrono::steady_clock::time_point renewed_at_{};
  std::uint64_t lines_ = 0;
  std::uint64_t left_out_ = 0;
};

/// Before its first entity, which reads CYCLONEDDS_URI, and says what is wrong there.
dds_entity_t make_participant(std::uint32_t domain) {
  static CycloneLog log;
  dds_set_log_sink(CycloneLog::take, &log);
  return dds_create_participant(domain, nullptr, nullptr);
}

}  // namespace

CycloneEntity::CycloneEntity(dds_entity_t made, const std::string& what) : handle_(made) {
  if (made >= 0) return;
  throw Exception(Error(ErrorKind::resource, "Cyclone DDS makes no " + what + ": " + dds_strretcode(made))
                      .at("spindrift bridge")
                      .fix("see what its own log says, and whether CYCLONEDDS_URI names an interface that is there"));
}

const dds_listener_t* ringing_listener() {
  static dds_listener_t* const listener = [] {
    dds_listener_t* const made = dds_create_listener(nullptr);
    dds_lset_data_available(made, [](dds_entity_t, void*) { topics::DynamicParticipant::wake(); });
    return made;
  }();
  return listener;
}

CycloneSide::CycloneSide(std::uint32_t domain, std::set<std::string> wanted)
    : mark_("spindrift bridge, domain " + std::to_string(domain) + " of Cyclone DDS"),
      wanted_(std::move(wanted)),
      participant_(make_participant(domain), "participant of domain " + std::to_string(domain)),
      publications_(dds_create_reader(participant_.get(), DDS_BUILTIN_TOPIC_DCPSPUBLICATION, nullptr, ringing_listener()),
                    "reader of its built-in topics"),
      subscriptions_(dds_create_reader(participant_.get(), DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, nullptr, ringing_listener()),
                     "reader of its built-in topics") {
  dds_get_guid(participant_.get(), &own_);
}

bool CycloneSide::look() {
  const bool writers = look(publications_, true);
  const bool readers = look(subscriptions_, false);
  const bool described = ask_again();
  return writers || readers || described;
}

bool CycloneSide::look(const CycloneEntity& reader, bool writes) {
  bool any = false;
  for (;;) {
    LoanedSamples samples{};
    std::array<dds_sample_info_t, taken_at_once> about{};
    const dds_return_t count = dds_read_mask(reader.get(), samples.data(), about.data(), samples.size(), samples.size(),
                                             DDS_NOT_READ_SAMPLE_STATE | DDS_ANY_VIEW_STATE | DDS_ANY_INSTANCE_STATE);
    if (count <= 0) return any;
    std::vector<dds_instance_handle_t> gone;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at) {
      const bool alive = about[at].valid_data && about[at].instance_state == DDS_IST_ALIVE;
      if (!alive) gone.push_back(about[at].instance_handle);
      any = (alive ? note(*static_cast<dds_builtintopic_endpoint_t*>(samples[at]), about[at].instance_handle, writes)
                   : endpoints_.erase(about[at].instance_handle) > 0) ||
            any;
    }
    dds_return_loan(reader.get(), samples.data(), count);
    for (const dds_instance_handle_t each : gone) forget(reader, each);
  }
}

bool CycloneSide::note(dds_builtintopic_endpoint_t& told, dds_instance_handle_t handle, bool writes) {
  const bool own = std::memcmp(&told.participant_key, &own_, sizeof own_) == 0;
  if (own || !wanted_.contains(told.topic_name)) return false;
  endpoints_[handle] = described(told, writes);
  return true;
}

void CycloneSide::forget(const CycloneEntity& reader, dds_instance_handle_t handle) {
  LoanedSamples samples{};
  std::array<dds_sample_info_t, taken_at_once> about{};
  const dds_return_t count =
      dds_take_instance(reader.get(), samples.data(), about.data(), samples.size(), samples.size(), handle);
  if (count > 0) dds_return_loan(reader.get(), samples.data(), count);
}

bool CycloneSide::ask_again() {
  const auto now = std::chrono::steady_clock::now();
  if (now < ask_at_) return false;
  ask_at_ = now + ask_again_after;
  bool any = false;
  for (auto& [handle, endpoint] : endpoints_) {
    if (!endpoint.fault || endpoint.fault->kind() != ErrorKind::timed_out) continue;
    const CycloneEntity& reader = endpoint.writes ? publications_ : subscriptions_;
    LoanedSamples samples{};
    std::array<dds_sample_info_t, taken_at_once> about{};
    const dds_return_t count =
        dds_read_instance(reader.get(), samples.data(), about.data(), samples.size(), samples.size(), handle);
    if (count <= 0) continue;
    auto& told = *static_cast<dds_builtintopic_endpoint_t*>(samples.front());
    if (about.front().valid_data) endpoint = described(told, endpoint.writes);
    any = true;
    dds_return_loan(reader.get(), samples.data(), count);
  }
  return any;
}

CycloneEndpoint CycloneSide::described(dds_builtintopic_endpoint_t& told, bool writes) const {
  CycloneEndpoint made{.writes = writes, .topic = told.topic_name, .type_name = told.type_name, .qos = qos_of(*told.qos)};
  const dds_typeinfo_t* info = nullptr;
  if (!has_our_form(*told.qos)) {
    made.fault = Error(ErrorKind::unsupported, "its samples have the form XCDR2 alone")
                     .fix("let its type be @final, or give its endpoint the data representation XCDR1");
  } else if (dds_builtintopic_get_endpoint_type_info(&told, &info) == DDS_RETCODE_OK && info != nullptr) {
    auto type = type_of(participant_.get(), *info);
    if (type)
      made.type = std::move(type).value();
    else
      made.fault = type.error();
  }
  return made;
}

CycloneTopic::CycloneTopic(const CycloneSide& side, const std::string& name, const std::string& type_name,
                           const std::shared_ptr<const topics::DynamicType>& type)
    : type_name_(type_name), described_(type), type_(make_opaque_type(type_name, type, malformed_)) {
  // It may give another pointer back, of an equal type that was there; ours are equal to none.
  topic_ = CycloneEntity(dds_create_topic_sertype(side.participant(), name.c_str(), &type_, nullptr, nullptr, nullptr),
                         "topic " + name);
}

}  // namespace spindrift::tools::bridge
