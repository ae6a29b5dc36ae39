// `spindrift keys`: a group's authority, and the keys by which its nodes prove themselves.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/keys_path.hpp>
#include <spindrift/fabric/tls/authority.hpp>
#include <spindrift/fabric/tls/bundle.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

using namespace fabric::tls;
using Json = nlohmann::json;
using std::chrono::days;
using std::chrono::sys_seconds;

constexpr days authority_days{3650};

struct KeysOptions {
  std::string group;      ///< of show: or a directory
  std::string directory;  ///< of the group's keys; empty: the default one
  std::vector<std::uint32_t> nodes;
  std::vector<std::string> observers;
  std::vector<std::string> clients;
  std::vector<std::string> admins;
  std::string serial;
  unsigned days_valid = 365;
  bool json = false;
};

sys_seconds now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

/// The directory of a group's keys, as a path that another shell can use, too.
std::string directory_of(const KeysOptions& options) {
  if (options.directory.empty()) return group_keys_path(options.group);
  std::string path = std::filesystem::absolute(options.directory).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::vector<Identity> identities_of(const KeysOptions& options) {
  std::vector<Identity> identities;
  for (const std::uint32_t node : options.nodes)
    identities.push_back(value_or_throw(Identity::of_member(options.group, NodeId(node))));
  const auto add = [&](Role role, const std::vector<std::string>& names) {
    for (const std::string& name : names) identities.push_back(value_or_throw(Identity::of_role(options.group, role, name)));
  };
  add(Role::observer, options.observers);
  add(Role::client, options.clients);
  add(Role::admin, options.admins);
  for (auto at = identities.begin(); at != identities.end(); ++at) {
    if (std::find(identities.begin(), at, *at) == at) continue;
    throw Exception(Error(ErrorKind::bad_argument, at->uri() + " is named twice").fix("name each once"));
  }
  return identities;
}

/// At least one.
std::vector<Identity> named_identities(const KeysOptions& options) {
  std::vector<Identity> identities = identities_of(options);
  if (!identities.empty()) return identities;
  throw Exception(Error(ErrorKind::bad_argument, "nobody is named")
                      .fix("name them with --nodes 0,1,2 or with --observer, --client, --admin NAME"));
}

void require_group(const KeysOptions& options, const std::string& found) {
  if (found == options.group) return;
  throw Exception(Error(ErrorKind::bad_argument, fmt::format("these are the keys of the group {}", found))
                      .at(directory_of(options))
                      .fix("name that group, or the directory of the other's keys with --dir"));
}

Authority open_authority(const KeysOptions& options) {
  Authority authority = value_or_throw(Authority::open(directory_of(options)));
  require_group(options, authority.group());
  return authority;
}

void tell(const Authority& authority, const IssuedCertificate& issued) {
  fmt::print("{}: serial number {}, valid until {}, in {}\n", issued.identity.uri(), issued.serial,
             time_text(issued.validity.until), authority.bundle_directory(issued.identity));
}

/// How a bundle gets to its host. tar replaces files that nobody may write, which scp does not.
void tell_where_to_copy(const std::string& directory, const std::vector<std::string>& bundles) {
  fmt::print("Copy to each host the directory of its node, and no other, in the name of the user that runs it there:\n");
  for (const std::string& bundle : bundles)
    fmt::print("  tar -cC {0} {1} | ssh HOST 'mkdir -p {0} && tar -xpC {0}'\n", directory, bundle);
}

// ---- init, add, rotate, revoke

/// One way to issue certificates, and whether it is open: of several none is issued before all can be.
struct Issuing {
  Result<void> (Authority::*can)(const Identity&, const Validity&) const;
  Result<IssuedCertificate> (Authority::*make)(const Identity&, const Validity&);
};
constexpr Issuing by_adding{&Authority::can_add, &Authority::add};
constexpr Issuing by_rotating{&Authority::can_rotate, &Authority::rotate};

void issue(Authority& authority, const KeysOptions& options, const std::vector<Identity>& identities,
           const Validity& validity, const Issuing& issuing) {
  for (const Identity& identity : identities) value_or_throw((authority.*issuing.can)(identity, validity));
  std::vector<std::string> bundles;
  for (const Identity& identity : identities) {
    tell(authority, value_or_throw((authority.*issuing.make)(identity, validity)));
    bundles.push_back(bundle_name(identity));
  }
  if (!bundles.empty()) tell_where_to_copy(directory_of(options), bundles);
}

int init_keys(const KeysOptions& options) {
  const std::vector<Identity> identities = identities_of(options);
  const std::string directory = directory_of(options);
  const sys_seconds from = now();
  const Validity validity = valid_for(from, days(options.days_valid));
  const Validity of_authority = valid_for(from, authority_days);
  for (const Identity& identity : identities)
    value_or_throw(Authority::can_begin_with(directory, identity, validity, of_authority));
  Authority authority = value_or_throw(Authority::create(directory, options.group, of_authority));
  fmt::print("authority of {}, valid for {} days, in {}/{}: keep it off the members' hosts, and a copy in a safe place\n",
             options.group, authority_days.count(), directory, authority_directory);
  issue(authority, options, identities, validity, by_adding);
  return number(ExitCode::success);
}

int add_keys(const KeysOptions& options) {
  const std::vector<Identity> identities = named_identities(options);
  Authority authority = open_authority(options);
  issue(authority, options, identities, valid_for(now(), days(options.days_valid)), by_adding);
  return number(ExitCode::success);
}

int rotate_keys(const KeysOptions& options) {
  const std::vector<Identity> identities = named_identities(options);
  Authority authority = open_authority(options);
  const bool some_count = std::any_of(authority.issued().begin(), authority.issued().end(), [&](const auto& one) {
    const bool named = std::find(identities.begin(), identities.end(), one.identity) != identities.end();
    return named && !one.revoked && now() <= one.validity.until;
  });
  issue(authority, options, identities, valid_for(now(), days(options.days_valid)), by_rotating);
  if (!some_count) return number(ExitCode::success);
  fmt::print("The keys before stay good until they expire; spindrift keys revoke {} --serial SERIAL takes one back.\n",
             options.group);
  return number(ExitCode::success);
}

int revoke_keys(const KeysOptions& options) {
  const std::vector<Identity> identities = options.serial.empty() ? named_identities(options) : identities_of(options);
  Authority authority = open_authority(options);
  for (const Identity& identity : identities) value_or_throw(authority.can_revoke(identity));
  std::size_t count = 0;
  if (!options.serial.empty()) count += value_or_throw(authority.revoke(options.serial, now()));
  for (const Identity& identity : identities) count += value_or_throw(authority.revoke(identity, now()));
  const std::string directory = directory_of(options);
  fmt::print("revoked {} {}\n", count, count == 1 ? "certificate" : "certificates");
  fmt::print("Bundles in {} have the new list. Copy it to each other host of the group:\n", directory);
  fmt::print("  tar -cC {0}/{1} {2} | ssh HOST tar -xpC {0}/ID\n", directory, authority_directory, revoked_file);
  return number(ExitCode::success);
}

// ---- show

std::string state_of(const IssuedCertificate& certificate, const std::optional<Error>& problem) {
  if (certificate.revoked) return "revoked " + time_text(*certificate.revoked);
  if (now() < certificate.validity.from) return "not valid yet";
  if (now() > certificate.validity.until) return "expired";
  if (problem) return "unfit";
  return fmt::format("valid, {} days left", std::chrono::ceil<days>(certificate.validity.until - now()).count());
}

Json json_of(const IssuedCertificate& certificate, const std::optional<Error>& problem) {
  return {{"identity", certificate.identity.uri()},
          {"role", to_string(certificate.identity.role)},
          {"serial", certificate.serial},
          {"from", time_text(certificate.validity.from)},
          {"until", time_text(certificate.validity.until)},
          {"revoked", certificate.revoked ? Json(time_text(*certificate.revoked)) : Json()},
          {"state", state_of(certificate, problem)}};
}

/// A certificate, and what is wrong with the bundle that has it.
struct BundledCertificate {
  IssuedCertificate issued;
  std::optional<Error> problem;
};

/// The certificates of a directory that can be shown, and the first problem with any, or with the rest.
struct Shown {
  std::string group;
  std::vector<BundledCertificate> certificates;
  std::optional<Error> problem;
};

Shown shown_of_bundle(const std::string& directory) {
  const Bundle bundle = value_or_throw(read_bundle(directory));
  const Identity identity = value_or_throw(identity_in(bundle));
  const Validity validity = value_or_throw(validity_of(bundle.certificate()));
  IssuedCertificate issued{identity, serial_of(bundle.certificate()), validity, revoked_since(bundle)};
  std::optional<Error> problem;
  if (auto good = check_bundle(bundle, identity, now()); !good) problem = std::move(good).error();
  return {identity.group, {{std::move(issued), problem}}, problem};
}

/// The problem with the bundle that lies beside the authority, if it is the one with that certificate or cannot be read.
std::optional<Error> problem_beside(const std::string& directory, const IssuedCertificate& issued) {
  const std::string place = directory + "/" + bundle_name(issued.identity);
  if (issued.revoked || now() > issued.validity.until || !std::filesystem::exists(place + "/" + certificate_file))
    return std::nullopt;
  const auto bundle = read_bundle(place);
  if (!bundle) return bundle.error();
  if (serial_of(bundle.value().certificate()) != issued.serial) return std::nullopt;
  auto good = check_bundle(bundle.value(), issued.identity, now());
  return good ? std::nullopt : std::optional(std::move(good).error());
}

/// A group's name, or a directory: of its keys, of one bundle, or the authority's own.
Shown shown_of(const KeysOptions& options) {
  std::string directory = options.group;
  const bool named = directory.find('/') == std::string::npos && directory != "." && directory != "..";
  if (named) {
    value_or_throw(Identity::of_member(options.group, NodeId(0)));  // whether it is a group's name
    directory = directory_of(options);
  } else if (!options.directory.empty()) {
    throw Exception(Error(ErrorKind::bad_argument, "two directories are given, " + directory + " and that of --dir")
                        .fix("give one of them, or a group's name beside --dir"));
  }
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  if (std::filesystem::exists(directory + "/" + certificate_file)) return shown_of_bundle(directory);
  const std::filesystem::path path = std::filesystem::absolute(directory);
  if (path.filename() == authority_directory && !std::filesystem::exists(path / authority_directory))
    directory = path.parent_path().string();
  AuthorityIndex index = value_or_throw(read_index(directory));
  if (named) require_group(options, index.group);
  Shown shown{index.group, {}, std::nullopt};
  if (auto good = check_authority_key(directory); !good) shown.problem = std::move(good).error();
  for (IssuedCertificate& issued : index.issued) {
    std::optional<Error> problem = problem_beside(directory, issued);
    if (!shown.problem) shown.problem = problem;
    shown.certificates.push_back({std::move(issued), std::move(problem)});
  }
  return shown;
}

int show_keys(const KeysOptions& options) {
  const Shown shown = shown_of(options);
  if (options.json) {
    constexpr int version = 1;
    Json certificates = Json::array();
    for (const BundledCertificate& certificate : shown.certificates)
      certificates.push_back(json_of(certificate.issued, certificate.problem));
    print_document(versioned(version, {{"group", shown.group},
                                       {"certificates", certificates},
                                       {"problem", shown.problem ? tools::json_of(*shown.problem) : Json()}}));
  } else {
    using enum TextTable::Align;
    TextTable table({left, left, left, left, left});
    table.add({"identity", "serial number", "from", "until", "state"});
    for (const auto& [issued, problem] : shown.certificates) {
      table.add({issued.identity.uri(), issued.serial, time_text(issued.validity.from), time_text(issued.validity.until),
                 state_of(issued, problem)});
    }
    table.print();
  }
  if (shown.problem) throw Exception(*shown.problem);
  return number(ExitCode::success);
}

// ---- options

CLI::App* add_keys_part(CLI::App& parent, Work& chosen, const char* name, const char* description, const char* examples,
                        int (*run)(const KeysOptions&), const std::shared_ptr<KeysOptions>& options) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->footer(std::string("Examples:\n") + examples + "\n\n" + exit_codes_text());
  command->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
  return command;
}

void add_directory_argument(CLI::App& command, KeysOptions& options) {
  const auto no_empty_one = [](const std::string& text) { return text.empty() ? "it names no directory" : std::string(); };
  command.add_option("--dir", options.directory, "Directory of the group's keys; default: ~/.spindrift/GROUP")
      ->type_name("DIRECTORY")
      ->check(CLI::Validator(no_empty_one, "", ""));
}

void add_group_arguments(CLI::App& command, KeysOptions& options) {
  command.add_option("group", options.group, "Name of the group, as [SPINDRIFT] group_name")->type_name("GROUP")->required();
  add_directory_argument(command, options);
}

void add_identity_arguments(CLI::App& command, KeysOptions& options) {
  // Each takes one word, so that the group's name may follow it.
  command.add_option("--nodes", options.nodes, "Node ids of members: 0,1,2")
      ->type_name("IDS")
      ->delimiter(',')
      ->check(number_from(0U, std::numeric_limits<std::uint32_t>::max()).description(""))
      ->allow_extra_args(false);
  const auto add_names = [&](const char* option, std::vector<std::string>& names, const char* whose) {
    command.add_option(option, names, std::string("Name of ") + whose + "; may be repeated")
        ->type_name("NAME")
        ->allow_extra_args(false);
  };
  add_names("--observer", options.observers, "somebody who only looks");
  add_names("--client", options.clients, "a client");
  add_names("--admin", options.admins, "an administrator");
}

void add_days_argument(CLI::App& command, KeysOptions& options) {
  command.add_option("--days", options.days_valid, "How long the new certificates hold; default: 365")
      ->type_name("N")
      ->check(number_from(1U, 36500U));
}

}  // namespace

void add_keys_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* keys = app.add_subcommand("keys", "Make the keys by which a group's nodes prove themselves, and take them back");
  keys->require_subcommand(1);
  const auto add = [&](const char* name, const char* description, const char* examples, int (*run)(const KeysOptions&)) {
    return add_keys_part(*keys, chosen, name, description, examples, run, options);
  };

  CLI::App* init = add("init", "Make an authority for a group, and keys for its nodes",
                       "  spindrift keys init orders --nodes 0,1,2\n  spindrift keys init orders --dir /root/orders",
                       init_keys);
  CLI::App* added = add("add", "Make keys for more nodes, or for others than members",
                        "  spindrift keys add orders --nodes 3\n  spindrift keys add orders --observer dashboard", add_keys);
  CLI::App* rotate = add("rotate", "Make new keys for nodes that have some; the old ones stay good until they expire",
                         "  spindrift keys rotate orders --nodes 1", rotate_keys);
  CLI::App* revoke = add("revoke", "Take keys back: members refuse them from the next look at the list on",
                         "  spindrift keys revoke orders --nodes 1\n  spindrift keys revoke orders --serial 5F1C…",
                         revoke_keys);
  for (CLI::App* command : {init, added, rotate, revoke}) {
    add_group_arguments(*command, *options);
    add_identity_arguments(*command, *options);
  }
  for (CLI::App* command : {init, added, rotate}) add_days_argument(*command, *options);
  revoke->add_option("--serial", options->serial, "Serial number of one certificate, as show prints it")
      ->type_name("SERIAL");

  CLI::App* show = add("show", "Print what an authority has issued, or whose a node's directory is and whether it is good",
                       "  spindrift keys show orders\n  spindrift keys show ~/.spindrift/orders/1 --json", show_keys);
  show->add_option("group", options->group, "Name of a group; or, with a slash in it, a directory of keys or one bundle")
      ->type_name("GROUP|DIRECTORY")
      ->required();
  add_directory_argument(*show, *options);
  show->add_flag("--json", options->json, "Print JSON");
}

}  // namespace spindrift::tools
