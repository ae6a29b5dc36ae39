// Loading rdma-core; what is missing is told with what to do about it.
#include <spindrift/fabric/verbs/library.hpp>

#include <string>

#include <spindrift/fabric/load_library.hpp>

namespace spindrift::fabric::verbs {
namespace {

Error not_there(const std::string& reason) {
  return Error(ErrorKind::unsupported, "rdma-core cannot be loaded: " + reason)
      .fix("install it (Debian: apt-get install librdmacm1 ibverbs-providers), or use [SPINDRIFT] fabric = ofi:tcp");
}

Result<Library> load() {
  Library library;
  LoadedLibrary verbs("libibverbs.so.1");
  verbs.find(library.get_device_list, "ibv_get_device_list")
      .find(library.free_device_list, "ibv_free_device_list")
      .find(library.get_device_name, "ibv_get_device_name")
      .find(library.open_device, "ibv_open_device")
      .find(library.close_device, "ibv_close_device")
      .find(library.query_device, "ibv_query_device")
      .find(library.query_port, "ibv_query_port")
      .find(library.query_gid_table, "_ibv_query_gid_table")
      .find(library.alloc_pd, "ibv_alloc_pd")
      .find(library.dealloc_pd, "ibv_dealloc_pd")
      .find(library.reg_mr, "ibv_reg_mr")
      .find(library.dereg_mr, "ibv_dereg_mr")
      .find(library.create_comp_channel, "ibv_create_comp_channel")
      .find(library.destroy_comp_channel, "ibv_destroy_comp_channel")
      .find(library.create_cq, "ibv_create_cq")
      .find(library.resize_cq, "ibv_resize_cq")
      .find(library.destroy_cq, "ibv_destroy_cq")
      .find(library.get_cq_event, "ibv_get_cq_event")
      .find(library.ack_cq_events, "ibv_ack_cq_events")
      .find(library.create_qp, "ibv_create_qp")
      .find(library.destroy_qp, "ibv_destroy_qp")
      .find(library.wc_status_str, "ibv_wc_status_str");
  verbs.find_if_there(library.query_qp_data_in_order, "ibv_query_qp_data_in_order");
  if (!verbs.error().empty()) return not_there(verbs.error());
  LoadedLibrary manager("librdmacm.so.1");
  manager.find(library.create_event_channel, "rdma_create_event_channel")
      .find(library.destroy_event_channel, "rdma_destroy_event_channel")
      .find(library.get_cm_event, "rdma_get_cm_event")
      .find(library.ack_cm_event, "rdma_ack_cm_event")
      .find(library.event_str, "rdma_event_str")
      .find(library.create_id, "rdma_create_id")
      .find(library.destroy_id, "rdma_destroy_id")
      .find(library.set_option, "rdma_set_option")
      .find(library.bind_addr, "rdma_bind_addr")
      .find(library.listen, "rdma_listen")
      .find(library.resolve_addr, "rdma_resolve_addr")
      .find(library.resolve_route, "rdma_resolve_route")
      .find(library.cm_create_qp, "rdma_create_qp")
      .find(library.cm_destroy_qp, "rdma_destroy_qp")
      .find(library.connect, "rdma_connect")
      .find(library.accept, "rdma_accept")
      .find(library.reject, "rdma_reject")
      .find(library.disconnect, "rdma_disconnect");
  if (!manager.error().empty()) return not_there(manager.error());
  return library;
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> loaded = load();
  if (!loaded) return loaded.error();
  return &loaded.value();
}

const Library& loaded_library() {
  static const Library& loaded = *library().value();
  return loaded;
}

}  // namespace spindrift::fabric::verbs
