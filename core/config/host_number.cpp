// Reading the number of a host's name.
#include <spindrift/core/config/host_number.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <limits.h>

#include <fmt/format.h>

#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::uint32_t node_id_max = 0xffff'fffe;

}  // namespace

bool is_host_number(const Key& key, std::string_view text) noexcept {
  return key.launched && key.type == KeyType::integer && trimmed(text) == "hostname";
}

Result<std::uint32_t> host_number(std::string_view host_name) {
  const std::string_view label = host_name.substr(0, host_name.find('.'));
  const std::size_t last = label.find_last_not_of(digits);
  const std::string_view number = label.substr(last == std::string_view::npos ? 0 : last + 1);
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  if (error != std::errc() || id > node_id_max) {
    return Error(ErrorKind::bad_config, fmt::format("the name of this host, {}, ends in no node id", in_quotes(host_name)))
        .fix("give the host a name like orders-3, or write the number out");
  }
  return id;
}

Result<std::string> own_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size()) != 0) return system_error("gethostname", errno);
  return std::string(name.data());
}

}  // namespace spindrift::config
