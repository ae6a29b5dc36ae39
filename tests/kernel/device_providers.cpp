// The devices that the suite is run with: libfabric's providers over loopback.
#include "device_conformance.hpp"

#include <spindrift/kernel/ofi/ofi_device.hpp>

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

}  // namespace

const std::vector<Provider>& providers() {
  static const std::vector<Provider> all = {ofi("tcp;ofi_rxm", "", true), ofi("net", "", true), ofi("", "tcp", false),
                                            ofi("tcp;ofi_rxm", "tcp", true), ofi("tcp;ofi_rxm", "tcp", false)};
  return all;
}

}  // namespace conformance
