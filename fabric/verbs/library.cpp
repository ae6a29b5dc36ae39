// Loading rdma-core; what is missing is told with what to do about it.
#include <spindrift/fabric/verbs/library.hpp>

#include <string>

namespace spindrift::fabric::verbs {
namespace {

Error not_there(const std::string& reason) {
  return Error(ErrorKind::unsupported, "rdma-core cannot be loaded: " + reason)
      .fix("install it (Debian: apt-get install librdmacm1 ibverbs-providers), or use [SPINDRIFT] fabric = ofi:tcp");
}

Result<RdmaCoreCalls> load() {
  RdmaCoreCalls table;
  {
    LoadedLibrary loaded("libibverbs.so.1");
    SPINDRIFT_VERBS_CALLS(SPINDRIFT_FIND_CALL)
    loaded.find_if_there(table.query_qp_data_in_order, "ibv_query_qp_data_in_order");
    if (!loaded.error().empty()) return not_there(loaded.error());
  }
  LoadedLibrary loaded("librdmacm.so.1");
  SPINDRIFT_RDMA_CM_CALLS(SPINDRIFT_FIND_CALL)
  if (!loaded.error().empty()) return not_there(loaded.error());
  return table;
}

}  // namespace

Result<const RdmaCoreCalls*> library() {
  static const Result<RdmaCoreCalls> loaded = load();
  if (!loaded) return loaded.error();
  return &loaded.value();
}

const RdmaCoreCalls& loaded_library() {
  static const RdmaCoreCalls& loaded = *library().value();
  return loaded;
}

}  // namespace spindrift::fabric::verbs
