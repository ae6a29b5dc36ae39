// `spindrift bridge`: its options.
#include <memory>

#include <CLI/CLI.hpp>

#include "bridge_command.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "topic_option.hpp"

namespace spindrift::tools {
namespace {

constexpr std::uint32_t cyclone_domain_max = 230;  // the ports of higher ones are beyond 65535

const char* const bridge_help =
    R"(Mirrors topics between a domain and one of Cyclone DDS, until a signal ends it: programs of Cyclone DDS and ROS 2 read
and write topics of Spindrift as they are. A topic begins as soon as either side has it; types, and qualities that both
have, come from the side that has it first. Samples are passed on as they are, with their times; what the bridge wrote itself
does not come back. Writers of a RELIABLE topic wait when the other side is full; of others samples are dropped, and counted.
What is kept for late joiners of a TRANSIENT or PERSISTENT topic the bridge gives to readers of Cyclone DDS that ask for
TRANSIENT_LOCAL. Interfaces and peers of Cyclone DDS are those of its own configuration, CYCLONEDDS_URI.

Nobody proves who he is in a domain of Cyclone DDS: whoever reaches it reads, and writes, what is mirrored.

Examples:
  spindrift bridge readings
  spindrift bridge rt/chatter --cyclone-domain 42 --direction from-cyclone)";

}  // namespace

void add_bridge_command(CLI::App& app, Work& chosen, int (*run)(const BridgeOptions&)) {
  const auto options = std::make_shared<BridgeOptions>();
  CLI::App& command =
      *add_command(app, chosen, {"bridge", "Mirror topics to and from a domain of Cyclone DDS", bridge_help}, options, run);
  command.add_option("topics", options->topics, "The topics' names, the same on both sides")->type_name("TOPIC")->required();
  command.add_option("--cyclone-domain", options->cyclone_domain, "The domain of Cyclone DDS, 0 where none is given")
      ->type_name("N")
      ->check(number_from(0U, cyclone_domain_max));
  command.add_option("--direction", options->direction, "to-cyclone, from-cyclone, or both where none is given")
      ->type_name("WAY")
      ->check(CLI::IsMember({"both", "to-cyclone", "from-cyclone"}), "");
  add_json_option(command, *options, "Print one JSON object per line");
  add_domain_options(command, *options);
}

}  // namespace spindrift::tools
