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
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include <spindrift/core/config/nearest.hpp>

#include "error_output.hpp"
#include "exit_code.hpp"
#include "output.hpp"

namespace spindrift::tools {
namespace {

/// A program that is started without standard input, output or error must not take a file of its own for one of them. What
/// it writes there fails, and is not lost without a word; what it reads there fails, and is no empty input.
void occupy_standard_descriptors() {
  if (::fcntl(STDIN_FILENO, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_WRONLY));  // the lowest that is free
  int lowest = 0;
  while (lowest <= 2 && (lowest = ::open("/dev/null", O_RDONLY)) >= 0) {
    if (lowest > 2) ::close(lowest);
  }
}

/// An exception for want of memory would end a thread of the library without a word.
template <ErrorForm form>
[[noreturn]] void on_no_memory() {
  const std::string_view text = no_memory_line(form);
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

std::string help_of(const std::string& path) { return "see `" + path + " --help`"; }

/// The step to take against a word that is none of the known ones, where it looks like one of them; else empty.
std::string near_fix(std::string_view word, const std::vector<std::string>& known, const std::string& path) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::string_view near = config::nearest(word, words);
  return near.empty() ? "" : "did you mean `" + std::string(near) + "`? otherwise " + help_of(path);
}

/// The names of a command's commands that help shows.
std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    names.push_back(each->get_name());
  return names;
}

/// The step to take where one of its commands is missing.
std::string command_fix(const CLI::App& app, const std::string& path) {
  std::string names;
  for (const std::string& name : commands_of(app)) names += (names.empty() ? "" : ", ") + name;
  return "give one of " + names + "; " + help_of(path);
}

/// Those of its options, as one writes them.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
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
      const std::string near = near_fix(word, commands_of(*at), path);
      throw Exception(Error(ErrorKind::bad_argument, "there is no command \"" + path + " " + word + "\"")
                          .fix(near.empty() ? command_fix(*at, path) : near));
    }
    at = named.front();
    path += " " + word;
  }
}

/// The parser says of an option that is given too often how many values it would have taken. Empty: there is none.
std::string given_too_often(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const bool once = option->get_expected_max() == 1 && option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
    if (once && option->results().size() > 1) return option->get_name(false, false);
  }
  return {};
}

/// A value as help names it: "NEW", "--config FILE". The parser adds what values are checked by.
std::string word_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string value = type.substr(0, type.find(':'));
  return option.get_positional() ? value : "--" + option.get_lnames().front() + " " + value;
}

/// The command with all that it cannot do without.
std::string shortest_line(const CLI::App& app, const std::string& path) {
  std::string line = path;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_required()) line += " " + word_of(*option) + (option->get_expected_max() > 1 ? "…" : "");
  }
  return line;
}

/// A sentence of help within another one.
std::string continued(std::string text) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool is_word = text.size() > 1 && is_lower(text[1]);
  if (is_word && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

/// The parser names what is missing by a name of its own, and says neither what it is nor which commands there are.
std::optional<Error> missing_in(const CLI::App& app, const std::string& path) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string what = word_of(*option) + " (" + continued(option->get_description()) + ")";
    return Error(ErrorKind::bad_argument, path + " is given no " + what)
        .fix("write " + shortest_line(app, path) + "; " + help_of(path));
  }
  if (app.get_require_subcommand_min() == 0 || !app.get_subcommands().empty()) return std::nullopt;
  return Error(ErrorKind::bad_argument, path + " is given no command").fix(command_fix(app, path));
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
    if (word.size() > 1 && word.front() == '-') {
      const std::string near = near_fix(word, options_of(*at), path);
      return Error(ErrorKind::bad_argument, path + " has no option " + word).fix(near.empty() ? help_of(path) : near);
    }
    left += " " + word;
  }
  const std::string twice = given_too_often(*at);
  if (left.empty() && twice.empty() && mistake.get_name() == "RequiredError") {
    if (auto missing = missing_in(*at, path)) return *std::move(missing);
  }
  if (!twice.empty()) message = twice + " is given more than once";
  if (!left.empty()) message = path + " does not take:" + left;
  return Error(ErrorKind::bad_argument, message).fix(help_of(path));
}

/// Tells the error, and returns its code.
int end_with(ErrorForm form, const CLI::App& app, const Error& error) {
  if (is_reader_gone(error)) return number(ExitCode::success);
  std::fputs(error_line(form, app.get_name(), error).c_str(), stderr);
  return number(exit_code_of(error.kind()));
}

/// Does the work that the command line chooses.
int parse_and_work(CLI::App& app, const Work& chosen, std::span<char* const> arguments) {
  require_stack();
  require_known_command(app, arguments);
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
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

int run_program(CLI::App& app, const Work& chosen, int argument_count, char** argument_values) {
  const std::span<char* const> arguments(argument_values, static_cast<std::size_t>(argument_count));
  const ErrorForm form = error_form_of(arguments);
  occupy_standard_descriptors();
  // A reader that goes away, and a file that may not grow (ulimit -f), are errors of a write, not this member's death.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  const bool json = form == ErrorForm::json;
  std::set_new_handler(json ? on_no_memory<ErrorForm::json> : on_no_memory<ErrorForm::text>);
  try {
    const int code = parse_and_work(app, chosen, arguments);
    value_or_throw(flush_output());
    return code;
  } catch (const Exception& failure) {
    return end_with(form, app, failure.error());
  } catch (const std::system_error& failure) {
    return end_with(form, app, std::ferror(stdout) == 0 ? Error(ErrorKind::resource, failure.what())
                                                        : output_error(failure.code().value()));
  } catch (const std::exception& failure) {
    std::fputs(failure_line(form, app.get_name(), failure.what()).c_str(), stderr);
    return number(ExitCode::failure);
  }
}

}  // namespace spindrift::tools
