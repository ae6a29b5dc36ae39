// The answers of libfabric's verbs to the demands of a device on a provider, where there is an RDMA device: the ground of
// the refusal in kernel/ofi/device.cpp. If one of these fails with a newer libfabric, the refusal may go.
#include <catch2/catch.hpp>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstring>
#include <string>

#include <spindrift/fabric/ofi/library.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>

#include "../skip.hpp"

using namespace spindrift;
using namespace spindrift::fabric;

namespace {

constexpr int asked_modes = 0;
constexpr int verbs_modes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

/// The address of a port that is up; empty: there is none.
std::string rdma_address() {
  const auto ports = verbs_ports();
  if (!ports) return "";
  for (const VerbsPort& port : *ports) {
    for (const std::string& each : port.addresses) {
      if (port.active && each.find(':') == std::string::npos) return each;
    }
  }
  return "";
}

/// The answer of fi_getinfo: 0 or an error; FI_ENODATA says that nothing of the kind is offered.
int answer(const std::string& address, const char* provider, fi_ep_type type, int modes, std::uint64_t completion) {
  const ofi::LibfabricCalls& fi = *value_or_throw(ofi::library());
  const ofi::Info hints(fi.dupinfo(nullptr));
  hints->caps = FI_MSG | FI_RMA;
  hints->ep_attr->type = type;
  hints->domain_attr->mr_mode = modes;
  hints->tx_attr->op_flags = completion;
  hints->fabric_attr->prov_name = ::strdup(provider);
  hints->addr_format = FI_SOCKADDR_IN;
  fi_info* found = nullptr;
  const int failed = fi.getinfo(FI_VERSION(1, 17), address.c_str(), "7400", FI_SOURCE | FI_NUMERICHOST, hints.get(), &found);
  const ofi::Info owner(found);
  return -failed;
}

}  // namespace

TEST_CASE("libfabric's verbs offers neither acknowledged operations nor keys of the caller's") {
  const std::string at = rdma_address();
  if (at.empty()) return spindrift::test::skip("no RDMA device with an IPv4 address");
  // The endpoints are there, but not with what a device promises.
  CHECK(answer(at, "verbs", FI_EP_MSG, verbs_modes, 0) == 0);
  CHECK(answer(at, "verbs", FI_EP_MSG, verbs_modes, FI_DELIVERY_COMPLETE) == FI_ENODATA);
  CHECK(answer(at, "verbs", FI_EP_MSG, asked_modes, 0) == FI_ENODATA);
  CHECK(answer(at, "verbs;ofi_rxm", FI_EP_RDM, verbs_modes, FI_DELIVERY_COMPLETE) == 0);
  CHECK(answer(at, "verbs;ofi_rxm", FI_EP_RDM, asked_modes, FI_DELIVERY_COMPLETE) == FI_ENODATA);
}
