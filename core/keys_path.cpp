// Fills in what a pattern for keys leaves open.
#include <spindrift/core/keys_path.hpp>

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace spindrift {
namespace {

/// $HOME, as the shell has it, else what the system knows of the user.
std::string home() {
  if (const char* const said = std::getenv("HOME"); said != nullptr && *said == '/') return said;
  const passwd* const user = ::getpwuid(::geteuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "/";
}

void replace_all(std::string& text, std::string_view mark, std::string_view by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
}

std::string filled(std::string_view pattern, std::string_view group) {
  std::string path(pattern);
  if (path.starts_with("~/")) path.replace(0, 1, home());
  replace_all(path, "<group>", group);
  return path;
}

}  // namespace

std::string keys_path(std::string_view pattern, std::string_view group, NodeId node) {
  std::string path = filled(pattern, group);
  replace_all(path, "<id>", std::to_string(node.value()));
  return path;
}

std::string group_keys_path(std::string_view group) {
  constexpr std::string_view of_the_node = "/<id>";
  static_assert(keys_path_default.ends_with(of_the_node));
  return filled(keys_path_default.substr(0, keys_path_default.size() - of_the_node.size()), group);
}

}  // namespace spindrift
