// Nothing is thrown beyond this function.
#include "run_program.hpp"

#include <fcntl.h>

#include <csignal>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "exit_code.hpp"

namespace spindrift::tools {
namespace {

/// A program that is started without standard input, output or error must not take a file of its own for one of them.
void occupy_standard_descriptors() {
  int lowest = 0;
  while (lowest <= 2 && (lowest = ::open("/dev/null", O_RDWR)) >= 0) {
    if (lowest > 2) ::close(lowest);
  }
}

}  // namespace

int run_program(CLI::App& app, const Work& chosen, int argument_count, char** arguments) {
  occupy_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of a write, not this member's death
  try {
    app.parse(argument_count, arguments);
    return chosen();
  } catch (const CLI::Success& help) {  // --help and --version
    return app.exit(help);
  } catch (const CLI::ParseError& mistake) {
    app.exit(mistake);
    return number(ExitCode::usage);
  } catch (const Exception& failure) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), failure.what());
    return number(exit_code_of(failure.error().kind()));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), failure.what());
    return number(ExitCode::failure);
  }
}

}  // namespace spindrift::tools
