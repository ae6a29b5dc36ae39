// Values by precedence: flag, environment, file, default. A value of the file is checked even where a stronger one hides it.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/config/ini.hpp>
#include <spindrift/core/config/host_number.hpp>
#include <spindrift/core/config/launcher.hpp>
#include <spindrift/core/config/load.hpp>
#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

using Name = std::pair<std::string, std::string>;  // section, key

/// A value that somebody wrote, before anything stronger is known.
struct Given {
  std::string text;
  std::string origin;
  unsigned line = 1;        ///< where the key stands
  unsigned value_line = 1;  ///< where the value starts
};

class ValueLoader {
 public:
  ValueLoader(const Sources& sources, std::vector<Error>& problems) : sources_(sources), problems_(problems) {
    profiles_.insert(std::string(default_profile));
  }

  Loaded load() {
    loaded_.name = sources_.name;
    take_file();
    take_flags();
    for (const Key& key : keys()) {
      if (key.section != profile_section) choose(key, std::string(key.section));
    }
    for (const std::string& profile : profiles_in_order()) {
      for (const Key& key : keys()) {
        if (key.section == profile_section) choose(key, profile);
      }
    }
    note_environment();
    return std::move(loaded_);
  }

 private:
  void problem(Error error, std::string place) {
    std::string fix = error.fix();
    problems_.push_back(Error(error.kind(), error.message()).at(std::move(place)).fix(std::move(fix)));
  }

  void take_file() {
    const IniText text = parse_ini(sources_.text, sources_.name, problems_);
    std::set<std::string> unknown;
    for (const IniSection& section : text.sections) {
      if (section.name.starts_with(profile_prefix) && known_section(section.name)) profiles_.insert(section.name);
      if (known_section(section.name) || !unknown.insert(section.name).second) continue;
      problem(Error(ErrorKind::bad_config, fmt::format("there is no section [{}]", section.name))
                  .fix(suggest_section(section.name)),
              place_of(sources_.name, section.line));
    }
    for (const IniEntry& entry : text.entries) {
      if (!unknown.contains(entry.section)) take_entry(entry);
    }
  }

  void take_entry(const IniEntry& entry) {
    const std::string place = place_of(sources_.name, entry.line);
    if (entry.section.empty()) {
      return problem(Error(ErrorKind::bad_config, fmt::format("{} stands before any section", in_quotes(entry.key)))
                         .fix(suggest_key("", entry.key)),
                     place);
    }
    const Key* const key = find_key(entry.section, entry.key);
    if (key == nullptr) {
      return problem(
          Error(ErrorKind::bad_config, fmt::format("there is no key {} in [{}]", in_quotes(entry.key), entry.section))
              .fix(suggest_key(entry.section, entry.key)),
          place);
    }
    const auto [first, fresh] =
        file_.emplace(Name(entry.section, entry.key), Given{entry.value, place, entry.line, entry.value_line});
    if (!fresh) {
      return problem(Error(ErrorKind::bad_config, fmt::format("[{}] {} is given twice, first on line {}", entry.section,
                                                              entry.key, first->second.line))
                         .fix("remove one of the two"),
                     place);
    }
    if (auto value = canonical_value(*key, entry.value); !value) {
      refused_.insert(first->first);
      file_.erase(first);
      problem(std::move(value).error(), place);
    }
  }

  void take_flags() {
    if (sources_.flags == nullptr) return;
    for (const ConfigOverride& flag : *sources_.flags) {
      const std::string place = flag.flag.starts_with('-') ? "flag " + flag.flag : flag.flag;
      const auto slash = flag.name.rfind('/');
      const std::string section = slash == std::string::npos ? std::string() : flag.name.substr(0, slash);
      const std::string name = slash == std::string::npos ? flag.name : flag.name.substr(slash + 1);
      const Key* const key = find_key(section, name);
      if (key == nullptr) {
        problem(Error(ErrorKind::bad_config, fmt::format("there is no key {}", in_quotes(flag.name)))
                    .fix(section.empty()          ? "write SECTION/key=value: SPINDRIFT/poll=spin"
                         : known_section(section) ? suggest_key(section, name)
                                                  : suggest_section(section)),
                place);
        continue;
      }
      if (key->section == profile_section) profiles_.insert(section);
      if (auto value = canonical_value(*key, flag.value); !value) {
        refused_.insert(Name(section, name));
        problem(std::move(value).error(), fmt::format("{} {}", place, flag.name));
        continue;
      }
      flags_.insert_or_assign(Name(section, name), Given{flag.value, place, 1, 1});
    }
  }

  /// The strongest value of one key in one section.
  void choose(const Key& key, const std::string& section) {
    Value value;
    value.key = &key;
    value.section = section;
    const Name name(section, key.name);
    const std::string variable = environment_variable(section, key.name);
    variables_.insert(variable);
    if (const auto flag = flags_.find(name); flag != flags_.end()) {
      set(value, OriginRank::flag, flag->second);
    } else if (const std::string* const text = from_environment(variable); text != nullptr) {
      set(value, OriginRank::environment, Given{*text, "environment " + variable, 1, 1});
    } else if (const auto in_file = file_.find(name); in_file != file_.end()) {
      set(value, OriginRank::file, in_file->second);
    } else {
      value.unusable = refused_.contains(name);
      set_default(value);
    }
    if (value.rank != OriginRank::standard && !key.used) {
      loaded_.notes.push_back(fmt::format("{}: [{}] {} is accepted, but not used by this version ({})", value.origin,
                                          section, key.name, key.documentation));
    }
    loaded_.values.push_back(std::move(value));
  }

  void set(Value& value, OriginRank rank, const Given& given) {
    auto text = canonical_value(*value.key, given.text);
    if (!text) {
      return give_up(value, std::move(text).error(), given);  // of the environment: the others have been checked
    }
    value.origin = given.origin;
    if (value.key->launched && is_launched(text.value())) {
      text = from_launcher(*value.key, text.value());
      if (!text) return give_up(value, std::move(text).error(), given);
      value.origin += " by " + launch_->value().launcher;
    } else if (is_host_number(*value.key, text.value())) {
      text = from_host_name(*value.key);
      if (!text) return give_up(value, std::move(text).error(), given);
      value.origin += " by the name of this host";
    }
    value.text = std::move(text).value();
    value.rank = rank;
    value.line = given.value_line;
  }

  void give_up(Value& value, Error error, const Given& given) {
    problem(std::move(error), given.origin);
    value.unusable = true;
    set_default(value);
  }

  /// The launcher's word for a key, in canonical form.
  Result<std::string> from_launcher(const Key& key, std::string_view text) {
    static const Config::Environment none;
    if (!launch_) launch_ = find_launch(sources_.environment == nullptr ? none : *sources_.environment);
    if (!*launch_) return launch_->error();
    auto said = launched_value(key.type, text, launch_->value());
    return said ? canonical_value(key, said.value()) : said;
  }

  /// The number of this host's name, in canonical form.
  static Result<std::string> from_host_name(const Key& key) {
    SPINDRIFT_TRY_ASSIGN(const std::string name, own_host_name());
    SPINDRIFT_TRY_ASSIGN(const std::uint32_t number, host_number(name));
    return canonical_value(key, std::to_string(number));
  }

  /// A profile's key that is set nowhere has the value of the default profile, which comes first.
  void set_default(Value& value) {
    if (value.section != default_profile && value.key->section == profile_section) {
      const Value* const common = loaded_.find(default_profile, value.key->name);
      if (common != nullptr && common->rank != OriginRank::standard) {
        value.text = common->text;
        value.origin = fmt::format("{} in [{}]", common->origin, default_profile);
        return;
      }
    }
    if (value.key->default_text.empty()) return;
    auto text = canonical_value(*value.key, value.key->default_text);
    CHECK(text.ok());
    value.text = std::move(text).value();
  }

  const std::string* from_environment(const std::string& variable) const {
    if (sources_.environment == nullptr) return nullptr;
    const auto found = sources_.environment->find(variable);
    return found == sources_.environment->end() ? nullptr : &found->second;
  }

  void note_environment() {
    if (sources_.environment == nullptr) return;
    for (const auto& [variable, value] : *sources_.environment) {
      if (!variable.starts_with("SPINDRIFT_") || variables_.contains(variable)) continue;
      loaded_.notes.push_back(
          fmt::format("environment {}: no key of this configuration has this variable", in_quotes(variable)));
    }
  }

  std::vector<std::string> profiles_in_order() const {
    std::vector<std::string> order = {std::string(default_profile)};
    for (const std::string& profile : profiles_) {
      if (profile != default_profile) order.push_back(profile);
    }
    return order;
  }

  const Sources& sources_;
  std::vector<Error>& problems_;
  Loaded loaded_;
  std::map<Name, Given> file_;
  std::map<Name, Given> flags_;
  std::set<Name> refused_;                // of file and flags
  std::set<std::string> profiles_;        // sections
  std::set<std::string> variables_;       // that set a key
  std::optional<Result<Launch>> launch_;  // asked for when a value wants it
};

}  // namespace

const Value* Loaded::find(std::string_view section, std::string_view key) const {
  for (const Value& value : values) {
    if (value.section == section && value.key->name == key) return &value;
  }
  return nullptr;
}

Loaded load_values(const Sources& sources, std::vector<Error>& problems) { return ValueLoader(sources, problems).load(); }

}  // namespace spindrift::config
