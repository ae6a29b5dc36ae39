// The files of tools/web that browsers are given, as they were when this program was built.
#pragma once

#include <span>
#include <string_view>

namespace spindrift::tools {

struct PageFile {
  std::string_view path;  ///< "/page.js"
  std::string_view type;
  std::string_view text;
};

[[nodiscard]] std::span<const PageFile> page_files() noexcept;

}  // namespace spindrift::tools
