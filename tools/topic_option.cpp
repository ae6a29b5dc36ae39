// Options that say which domain, and how long to wait.
#include "topic_option.hpp"

#include <CLI/CLI.hpp>

#include "number_option.hpp"

namespace spindrift::tools {
namespace {

constexpr std::uint32_t domain_max = 232;
constexpr std::uint64_t timeout_ms_max = 86'400'000;

}  // namespace

void add_domain_options(CLI::App& command, TopicOptions& options) {
  auto* const domain = command.add_option("--domain", options.domain, "The domain, 0 where none is given")
                           ->type_name("N")
                           ->check(number_from(0U, domain_max));
  command.add_option("--config", options.config, "Configuration file of the domain's group, the same for all")
      ->type_name("FILE")
      ->check(named_file, "")
      ->excludes(domain);
  command.add_option("--id", options.id, "This process's node id; short for --set DERECHO/local_id=N")
      ->type_name("N")
      ->check(number_from(0U, node_id_max));
  add_set_option(command, options);
}

void add_as_option(CLI::App& command, TopicOptions& options) {
  const std::string what =
      options.as == "auto" ? ", or auto, where none is given: an observer where that suffices" : ", where none is given";
  command.add_option("--as", options.as, "Be an observer, for whom nobody waits, or a participant" + what)
      ->type_name("WHO")
      ->check(CLI::IsMember({"auto", "observer", "participant"}));
}

void add_timeout_option(CLI::App& command, TopicOptions& options, const std::string& waits) {
  command.add_option("--timeout", options.timeout_ms, waits)
      ->type_name("MS")
      ->check(number_from(std::uint64_t{0}, timeout_ms_max));
}

}  // namespace spindrift::tools
