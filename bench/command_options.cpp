// The options that commands share.
#include <spindrift/bench/command_options.hpp>

#include <map>

#include <fmt/format.h>

namespace spindrift::bench {

void Command::add_common() {
  app_.add_option("--json", options_.json,
                  "Write one JSON object per figure to this file; -: to standard output, without the table")
      ->type_name("FILE|-");
  if (options_.repeats > 0) number("--repeat", options_.repeats, "Measurements per figure", 1, 1000);
}

Command& Command::seconds(const std::string& meaning) {
  number("--seconds", options_.seconds, meaning.c_str(), 0.001, 3600);
  return *this;
}

Command& Command::settings() {
  app_.add_option("--set", options_.settings, "A configuration value for all members")->type_name("SECTION/key=value");
  return *this;
}

Command& Command::network() {
  app_.add_option("--fabric", options_.fabric, "The fabric of all members, at addresses on loopback")->type_name("NAME");
  app_.add_option("--security", options_.security, "Keys are made for the run where it is tls")
      ->check(CLI::IsMember({"tls", "none"}));
  return *this;
}

Command& Command::networks() {
  app_.add_option("--beside", options_.beside, "The fabric of a second group, by turns with the first: the limit")
      ->type_name("NAME");
  return network();
}

Command& Command::senders(std::vector<Senders>& senders) {
  const std::map<std::string, Senders> names{{"one", Senders::one}, {"half", Senders::half}, {"all", Senders::all}};
  const auto take = [names, &senders](const std::vector<std::string>& words) {
    senders.clear();
    for (const std::string& word : words) senders.push_back(names.at(word));
  };
  app_.add_option_function<std::vector<std::string>>("--senders", take, "Who sends (default one,all)")
      ->delimiter(',')
      ->check(CLI::IsMember({"one", "half", "all"}));
  return *this;
}

void add_provider_option(Command& command, std::string& provider) {
  command->add_option("--provider", provider, "libfabric's provider of connectionless queue pairs")
      ->check(CLI::IsMember({"tcp;ofi_rxm", "net"}))
      ->capture_default_str();
}

std::vector<ConfigOverride> BenchOptions::overrides() const { return parse_settings(settings); }

std::vector<ConfigOverride> BenchOptions::settings_for(const GroupNetwork& network) const {
  std::vector<ConfigOverride> all = network.settings();
  for (const ConfigOverride& setting : overrides()) all.push_back(setting);
  return all;
}

std::optional<GroupNetwork> BenchOptions::network_beside(std::uint32_t members) const {
  if (beside.empty()) return std::nullopt;
  return GroupNetwork::make(beside, "", members);
}

void BenchOptions::describe_networks(Parameters& parameters) const {
  for (const auto& [name, value] : {std::pair("fabric", fabric), {"security", security}, {"beside", beside}}) {
    if (!value.empty()) parameters.emplace_back(name, value);
  }
}

std::vector<ConfigOverride> parse_settings(const std::vector<std::string>& settings) {
  std::vector<ConfigOverride> overrides;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) {
      throw Exception(
          Error(ErrorKind::bad_argument, fmt::format("--set {}: no '='", setting)).fix("write SECTION/key=value"));
    }
    const std::string name = setting.substr(0, equals);
    for (const char* const own : {"DERECHO/local_id", "SPINDRIFT/group_name", "SPINDRIFT/runtime_directory"}) {
      if (name == own) throw Exception(Error(ErrorKind::bad_argument, "--set " + name + ": a bench gives that itself"));
    }
    overrides.push_back({name, setting.substr(equals + 1), "--set"});
  }
  return overrides;
}

void report_repeated(FigureReport& report, std::uint32_t repeats, Figure figure, const std::function<double()>& measure) {
  for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) figure.values.push_back(measure());
  report.add(figure);
}

}  // namespace spindrift::bench
