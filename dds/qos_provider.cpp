// Profiles of qualities: what sections and keys may be there, and whose they are.
#include <spindrift/dds/qos_provider.hpp>

#include <algorithm>
#include <cstring>
#include <map>

#include <spindrift/core/text_file.hpp>
#include <spindrift/dds/qos_profiles.hpp>
#include <spindrift/dds/sub.hpp>

namespace spindrift::topics {
namespace {

constexpr const char* section_prefix = "QOS/";

/// The kinds of entities, and the policies of each.
const std::map<std::string, std::set<std::string>>& kinds() {
  static const std::map<std::string, std::set<std::string>> all{
      {"participant", policy_names_of(dds::domain::qos::DomainParticipantQos())},
      {"topic", policy_names_of(dds::topic::qos::TopicQos())},
      {"publisher", policy_names_of(dds::pub::qos::PublisherQos())},
      {"subscriber", policy_names_of(dds::sub::qos::SubscriberQos())},
      {"datawriter", policy_names_of(dds::pub::qos::DataWriterQos())},
      {"datareader", policy_names_of(dds::sub::qos::DataReaderQos())}};
  return all;
}

std::string kinds_with(const std::string& policy) {
  std::string words;
  for (const auto& [kind, has] : kinds()) {
    if (has.contains(policy)) words += (words.empty() ? "" : ", ") + kind;
  }
  return words;
}

/// "sensors" and "datareader" of "QOS/sensors/datareader".
std::pair<std::string, std::string> parts_of(const std::string& section) {
  const std::string rest = section.substr(std::strlen(section_prefix));
  const auto slash = rest.find('/');
  return slash == std::string::npos ? std::pair(rest, std::string())
                                    : std::pair(rest.substr(0, slash), rest.substr(slash + 1));
}

}  // namespace

QosProfiles::QosProfiles(std::string_view text, std::string file) : file_(std::move(file)) {
  Problems problems;
  take(config::parse_ini(text, file_, problems), problems);
  for (const QosSection& each : sections_) check_section(each, problems);
  std::string words;
  for (const Error& each : problems) words += (words.empty() ? "" : "\n") + each.to_string();
  if (!words.empty()) throw dds::core::InvalidArgumentError(words);
}

Error QosProfiles::problem(unsigned line, std::string what, std::string fix) const {
  return Error(ErrorKind::bad_config, std::move(what)).at(config::place_of(file_, line)).fix(std::move(fix));
}

void QosProfiles::take(config::IniText ini, Problems& problems) {
  for (config::IniSection& each : ini.sections) {
    if (const QosSection* same = find(each.name))
      problems.push_back(problem(each.line,
                                 "section [" + each.name + "] is there already, on line " + std::to_string(same->line),
                                 "put their keys together"));
    else
      sections_.push_back({std::move(each.name), each.line});
  }
  for (config::IniEntry& each : ini.entries) {
    const auto section = std::ranges::find(sections_, each.section, &QosSection::name);
    if (section == sections_.end()) {
      problems.push_back(
          problem(each.line, "a key stands before the first section", "begin with a line such as [QOS/DEFAULT]"));
    } else if (std::ranges::find(section->entries, each.key, &config::IniEntry::key) != section->entries.end()) {
      problems.push_back(problem(each.line, "key " + each.key + " is there twice in its section", "keep one of them"));
    } else {
      section->entries.push_back(std::move(each));
    }
  }
}

QosProfiles QosProfiles::of_file(const std::string& path) {
  constexpr std::size_t bytes_max = std::size_t{1} << 20;
  const auto text = read_text_file(path, bytes_max, ErrorKind::bad_argument);
  if (!text) throw dds::core::InvalidArgumentError("a file of qualities: " + text.error().to_string());
  return {*text, path};
}

const QosSection* QosProfiles::find(const std::string& section) const {
  const auto found =
      std::find_if(sections_.begin(), sections_.end(), [&](const QosSection& each) { return each.name == section; });
  return found == sections_.end() ? nullptr : &*found;
}

std::string QosProfiles::names() const {
  std::string words;
  for (const QosSection& each : sections_) {
    if (parts_of(each.name).second.empty()) words += (words.empty() ? "" : ", ") + parts_of(each.name).first;
  }
  return words.empty() ? "none" : words;
}

std::string QosProfiles::base_of(const std::string& profile) const {
  const QosSection* section = find(section_prefix + profile);
  if (section == nullptr) return {};
  for (const config::IniEntry& each : section->entries) {
    if (each.key == "base") return each.value;
  }
  return {};
}

void QosProfiles::check_section(const QosSection& section, Problems& problems) const {
  const bool named = section.name.starts_with(section_prefix) && section.name.size() > std::strlen(section_prefix);
  const auto [profile, kind] = named ? parts_of(section.name) : std::pair<std::string, std::string>();
  if (profile.empty() || (!kind.empty() && !kinds().contains(kind))) {
    return problems.push_back(
        problem(section.line, "there is no section [" + section.name + "]",
                "name it [QOS/profile], or [QOS/profile/kind] with participant, topic, publisher, subscriber, datawriter or "
                "datareader as the kind"));
  }
  if (!kind.empty() && !has(profile))
    problems.push_back(problem(section.line, "profile " + profile + " has no section of its own",
                               "add [QOS/" + profile + "] before it; it may be empty"));
  for (const config::IniEntry& each : section.entries) {
    if (each.key == "base" && kind.empty())
      check_base(section, each, problems);
    else
      check_entry(each, kind, problems);
  }
}

void QosProfiles::check_base(const QosSection& section, const config::IniEntry& entry, Problems& problems) const {
  if (!has(entry.value))
    return problems.push_back(problem(entry.line, "there is no profile " + entry.value, "name one of: " + names()));
  std::string base = parts_of(section.name).first;
  for (std::size_t steps = 0; !base.empty(); ++steps) {
    if (steps > sections_.size())
      return problems.push_back(problem(entry.line, "the profile is based on itself", "remove a base of the circle"));
    base = base_of(base);
  }
}

void QosProfiles::check_entry(const config::IniEntry& entry, const std::string& kind, Problems& problems) const {
  const QosKey* key = find_qos_key(entry.key);
  if (key == nullptr) {
    const std::string near(nearest_qos_key(entry.key));
    return problems.push_back(
        problem(entry.line, "there is no key " + entry.key,
                near.empty() ? "take one of the table of docs/dds.md, \"Profiles\"" : "did you mean " + near + "?"));
  }
  const std::string policy(key->policy);
  if (!kind.empty() && !kinds().at(kind).contains(policy)) {
    problems.push_back(problem(entry.line, "a " + kind + " has no policy " + policy,
                               "put " + entry.key + " where these are: " + kinds_with(policy)));
  }
  AllQos unused;
  if (!key->set(unused, entry.value)) {
    problems.push_back(
        problem(entry.line, entry.key + " is no \"" + entry.value + "\"", "write " + std::string(key->values)));
  }
}

void QosProfiles::put(AllQos& qos, const std::string& profile, const std::string& kind,
                      const std::set<std::string>& has) const {
  if (const std::string base = base_of(profile); !base.empty()) put(qos, base, kind, has);
  for (const std::string& name : {section_prefix + profile, section_prefix + profile + "/" + kind}) {
    const QosSection* section = find(name);
    if (section == nullptr) continue;
    for (const config::IniEntry& each : section->entries) {
      const QosKey* key = find_qos_key(each.key);
      if (key != nullptr && has.contains(std::string(key->policy))) static_cast<void>(key->set(qos, each.value));
    }
  }
}

}  // namespace spindrift::topics

namespace dds::core {
namespace {

std::string path_of(const std::string& uri) {
  constexpr std::string_view scheme = "file://";
  if (uri.starts_with(scheme)) return uri.substr(scheme.size());
  if (uri.find("://") != std::string::npos)
    throw UnsupportedError(uri + ": profiles are read from files; fix: name one as file:///path");
  return uri;
}

}  // namespace

QosProvider::QosProvider(const std::string& uri, const std::string& profile)
    : profiles_(
          std::make_shared<const spindrift::topics::QosProfiles>(spindrift::topics::QosProfiles::of_file(path_of(uri)))),
      profile_(profile) {
  static_cast<void>(participant_qos());  // the profile is there
}

template <class Qos>
Qos QosProvider::made(Qos qos, const char* kind, const std::string& profile) const {
  const std::string& asked = profile.empty() ? profile_ : profile;
  if (asked.empty() && !profiles_->has("DEFAULT")) return qos;
  const std::string name = asked.empty() ? "DEFAULT" : asked;
  if (!profiles_->has(name))
    throw InvalidArgumentError("there is no profile " + name + "; fix: name one of: " + profiles_->names());
  spindrift::topics::AllQos all = qos;
  profiles_->put(all, name, kind, spindrift::topics::policy_names_of(qos));
  return all;
}

domain::qos::DomainParticipantQos QosProvider::participant_qos(const std::string& profile) const {
  return made(domain::qos::DomainParticipantQos(), "participant", profile);
}
topic::qos::TopicQos QosProvider::topic_qos(const std::string& profile) const {
  return made(topic::qos::TopicQos(), "topic", profile);
}
pub::qos::PublisherQos QosProvider::publisher_qos(const std::string& profile) const {
  return made(pub::qos::PublisherQos(), "publisher", profile);
}
sub::qos::SubscriberQos QosProvider::subscriber_qos(const std::string& profile) const {
  return made(sub::qos::SubscriberQos(), "subscriber", profile);
}
pub::qos::DataWriterQos QosProvider::datawriter_qos(const std::string& profile) const {
  return made(pub::qos::DataWriterQos(), "datawriter", profile);
}
sub::qos::DataReaderQos QosProvider::datareader_qos(const std::string& profile) const {
  return made(spindrift::topics::omg_reader_qos(), "datareader", profile);
}

}  // namespace dds::core
