// Taking names of fabrics apart.
#include <spindrift/fabric/fabric_name.hpp>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::fabric {

Result<FabricName> FabricName::parse(std::string_view text) {
  constexpr std::string_view shm_part = "shm+";
  const auto provider_after = [](std::string_view rest, std::string_view prefix) {
    return rest.starts_with(prefix) ? std::string(rest.substr(prefix.size())) : std::string();
  };
  if (text == "shm") return FabricName{.shm = true, .provider = {}};
  const bool shm = text.starts_with(shm_part);
  const std::string_view rest = shm ? text.substr(shm_part.size()) : text;
  if (rest == "tcp") return FabricName{shm, BetweenHosts::tcp, {}};
  if (rest == "verbs") return FabricName{shm, BetweenHosts::verbs, {}};
  if (auto provider = provider_after(rest, "ofi:"); !provider.empty())
    return FabricName{shm, BetweenHosts::ofi, std::move(provider)};
  if (auto provider = provider_after(rest, "vq:"); !provider.empty())
    return FabricName{shm, BetweenHosts::vq, std::move(provider)};
  return Error(ErrorKind::bad_argument, "\"" + std::string(text) + "\" is no fabric")
      .fix("choose shm, tcp, ofi:tcp, ofi:net, vq:tcp, vq:net or verbs, or one of the latter behind shm+");
}

std::string FabricName::between_hosts_name() const {
  switch (between_hosts) {
    case BetweenHosts::none: break;
    case BetweenHosts::tcp: return "tcp";
    case BetweenHosts::ofi: return "ofi:" + provider;
    case BetweenHosts::vq: return "vq:" + provider;
    case BetweenHosts::verbs: return "verbs";
  }
  return "";
}

bool FabricName::maps(const std::string& one, const std::string& other) const {
  return shm && (!mixed() || config::same_host(one, other).value_or(false));
}

}  // namespace spindrift::fabric
