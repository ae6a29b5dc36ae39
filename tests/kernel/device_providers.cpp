// The devices that the suite is run with: libfabric's providers over loopback, and rdma-core where there is a device.
#include "device_conformance.hpp"

#include <iostream>
#include <optional>

#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

namespace conformance {
namespace {

constexpr Duration silence = std::chrono::seconds(40);  // no machine is that slow; tests make time go faster

Provider ofi(std::string connectionless, std::string connected, bool uses_connectionless) {
  Provider provider;
  provider.name = "ofi, of '" + connectionless + "' and '" + connected + "' the " +
                  (uses_connectionless ? "connectionless" : "connected") + " class";
  provider.connectionless = uses_connectionless;
  provider.acknowledges_messages = !uses_connectionless || connectionless != "tcp;ofi_rxm";
  provider.answer_max = silence;
  provider.make = [connectionless, connected](const DeviceSizes& sizes, const Clock& clock) {
    OfiDeviceOptions options;
    options.connectionless = connectionless;
    options.connected = connected;
    options.listen = "127.0.0.1:0";
    options.sizes = sizes;
    options.answer_max = silence;
    options.clock = &clock;
    return make_ofi_device(options);
  };
  return provider;
}

/// The connected class over rdma-core. Why it cannot be tried is said once.
std::optional<Provider> verbs() {
  const auto ports = fabric::verbs_ports();
  if (!ports) {
    std::cout << "the device over rdma-core is not tried here: " << ports.error().to_string() << std::endl;
    return std::nullopt;
  }
  for (const fabric::VerbsPort& port : *ports) {
    for (const std::string& address : port.addresses) {
      if (!port.active || address.find(':') != std::string::npos) continue;
      Provider provider;
      provider.name = "verbs, the connected class";
      provider.answers_by_itself = true;
      provider.address_at = 20;
      provider.port_at = 4;
      provider.port_bytes = 2;
      provider.answer_max = silence;
      provider.make = [address](const DeviceSizes& sizes, const Clock& clock) {
        VerbsDeviceOptions options;
        options.listen = address + ":0";
        options.sizes = sizes;
        options.answer_max = silence;
        options.clock = &clock;
        return make_verbs_device(options);
      };
      return provider;
    }
  }
  std::cout << "the device over rdma-core is not tried here: no active port has an IPv4 address" << std::endl;
  return std::nullopt;
}

}  // namespace

const std::vector<Provider>& providers() {
  static const std::vector<Provider> all = [] {
    std::vector<Provider> made = {ofi("tcp;ofi_rxm", "", true), ofi("net", "", true), ofi("", "tcp", false),
                                  ofi("tcp;ofi_rxm", "tcp", true), ofi("tcp;ofi_rxm", "tcp", false)};
    if (auto provider = verbs()) made.push_back(*std::move(provider));
    return made;
  }();
  return all;
}

}  // namespace conformance
