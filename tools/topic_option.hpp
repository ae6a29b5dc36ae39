// The options that all commands below `spindrift topic` have: the domain, and how its member is configured.
#pragma once

#include <string>

#include "topic_session.hpp"

namespace spindrift::tools {

/// --domain, --config, --id and --set.
void add_domain_options(CLI::App& command, TopicOptions& options);
/// --as, of commands that read; without it they are what their options say at first.
void add_as_option(CLI::App& command, TopicOptions& options);
/// --timeout; `waits` says for what.
void add_timeout_option(CLI::App& command, TopicOptions& options, const std::string& waits);

}  // namespace spindrift::tools
