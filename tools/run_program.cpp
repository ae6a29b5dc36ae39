// Nothing is thrown beyond this function.
#include "run_program.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>

#include "exit_code.hpp"
#include "output.hpp"

namespace spindrift::tools {
namespace {

/// A program that is started without standard input, output or error must not take a file of its own for one of them. What
/// it writes there fails, and is not lost without a word.
void occupy_standard_descriptors() {
  int lowest = 0;
  while (lowest <= 2 && (lowest = ::open("/dev/null", O_RDONLY)) >= 0) {
    if (lowest > 2) ::close(lowest);
  }
}

/// An exception for want of memory would end a thread of the library without a word.
[[noreturn]] void on_no_memory() {
  constexpr std::string_view text =
      "spindrift: this process gets no more memory; fix: raise the limit of address space (ulimit -v), or the memory of the "
      "container or the machine\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  std::_Exit(number(ExitCode::resource));
}

/// A stack that is too small is met by no error but a signal.
void require_stack() {
  constexpr rlim_t least = 256U << 10U;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= least) return;
  throw Exception(
      Error(ErrorKind::resource, "a stack of " + std::to_string(stack.rlim_cur >> 10U) + " KiB (ulimit -s) is too small")
          .fix("raise it to " + std::to_string(least >> 10U) + " KiB or more: ulimit -s"));
}

/// The parser names the options that a command lacks, and not the command that it does not know.
void require_known_command(CLI::App& app, std::span<char* const> arguments) {
  CLI::App* at = &app;
  std::string path = app.get_name();
  for (const std::string word : arguments.subspan(std::min<std::size_t>(1, arguments.size()))) {
    const bool names_commands = !at->get_subcommands([](const CLI::App*) { return true; }).empty();
    if (word.empty() || word.front() == '-' || !names_commands) return;
    const auto named = at->get_subcommands([&word](const CLI::App* each) { return each->check_name(word); });
    if (named.empty()) {
      throw Exception(Error(ErrorKind::bad_argument, "there is no command \"" + path + " " + word + "\"")
                          .fix("see `" + path + " --help`"));
    }
    at = named.front();
    path += " " + word;
  }
}

/// The parser's word for a mistake. It asks for what is missing before it looks at what it does not know, and names the
/// words that are left over from the last to the first.
Error usage_error(const CLI::App& app, const CLI::ParseError& mistake) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (auto named = at->get_subcommands(); !named.empty(); named = at->get_subcommands()) {
    at = named.front();
    path += " " + at->get_name();
  }
  std::string left;
  std::string message = mistake.what();
  for (const std::string& word : app.remaining(true)) {
    if (word.size() > 1 && word.front() == '-')
      return Error(ErrorKind::bad_argument, path + " has no option " + word).fix("see `" + path + " --help`");
    left += " " + word;
  }
  if (!left.empty()) message = path + " does not take:" + left;
  return Error(ErrorKind::bad_argument, message).fix("see `" + path + " --help`");
}

/// Does the work that the command line chooses.
int parse_and_work(CLI::App& app, const Work& chosen, int argument_count, char** arguments) {
  require_stack();
  require_known_command(app, {arguments, static_cast<std::size_t>(argument_count)});
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& help) {  // --help and --version
    std::ostringstream text;
    const int code = app.exit(help, text, text);
    std::fputs(text.str().c_str(), stdout);
    return code;
  } catch (const CLI::ParseError& mistake) {
    throw Exception(usage_error(app, mistake));
  }
  return chosen();
}

}  // namespace

int run_program(CLI::App& app, const Work& chosen, int argument_count, char** arguments) {
  occupy_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of a write, not this member's death
  std::set_new_handler(on_no_memory);
  try {
    const int code = parse_and_work(app, chosen, argument_count, arguments);
    value_or_throw(flush_output());
    return code;
  } catch (const Exception& failure) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), failure.what());
    return number(exit_code_of(failure.error().kind()));
  } catch (const std::system_error& failure) {
    const std::string text = std::ferror(stdout) == 0 ? failure.what() : output_error(failure.code().value()).to_string();
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), text.c_str());
    return number(ExitCode::resource);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), failure.what());
    return number(ExitCode::failure);
  }
}

}  // namespace spindrift::tools
