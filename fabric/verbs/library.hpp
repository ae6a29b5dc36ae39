// rdma-core, loaded at run time: the functions that are no inline calls through an object, owners for its objects, and which
// GID rdma_cm takes for a connection.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/load_library.hpp>

namespace spindrift::fabric::verbs {

// The names of the calls here, and in their libraries.
#define SPINDRIFT_VERBS_CALLS(CALL)                    \
  CALL(get_device_list, ibv_get_device_list)           \
  CALL(free_device_list, ibv_free_device_list)         \
  CALL(get_device_name, ibv_get_device_name)           \
  CALL(open_device, ibv_open_device)                   \
  CALL(close_device, ibv_close_device)                 \
  CALL(query_device, ibv_query_device)                 \
  CALL(query_port, ibv_query_port)                     \
  CALL(query_gid_table, _ibv_query_gid_table)          \
  CALL(alloc_pd, ibv_alloc_pd)                         \
  CALL(dealloc_pd, ibv_dealloc_pd)                     \
  CALL(reg_mr, ibv_reg_mr)                             \
  CALL(dereg_mr, ibv_dereg_mr)                         \
  CALL(create_comp_channel, ibv_create_comp_channel)   \
  CALL(destroy_comp_channel, ibv_destroy_comp_channel) \
  CALL(create_cq, ibv_create_cq)                       \
  CALL(resize_cq, ibv_resize_cq)                       \
  CALL(destroy_cq, ibv_destroy_cq)                     \
  CALL(get_cq_event, ibv_get_cq_event)                 \
  CALL(ack_cq_events, ibv_ack_cq_events)               \
  CALL(create_qp, ibv_create_qp)                       \
  CALL(destroy_qp, ibv_destroy_qp)                     \
  CALL(wc_status_str, ibv_wc_status_str)
#define SPINDRIFT_RDMA_CM_CALLS(CALL)                     \
  CALL(create_event_channel, rdma_create_event_channel)   \
  CALL(destroy_event_channel, rdma_destroy_event_channel) \
  CALL(get_cm_event, rdma_get_cm_event)                   \
  CALL(ack_cm_event, rdma_ack_cm_event)                   \
  CALL(event_str, rdma_event_str)                         \
  CALL(create_id, rdma_create_id)                         \
  CALL(destroy_id, rdma_destroy_id)                       \
  CALL(set_option, rdma_set_option)                       \
  CALL(bind_addr, rdma_bind_addr)                         \
  CALL(listen, rdma_listen)                               \
  CALL(resolve_addr, rdma_resolve_addr)                   \
  CALL(resolve_route, rdma_resolve_route)                 \
  CALL(cm_create_qp, rdma_create_qp)                      \
  CALL(cm_destroy_qp, rdma_destroy_qp)                    \
  CALL(connect, rdma_connect)                             \
  CALL(accept, rdma_accept)                               \
  CALL(reject, rdma_reject)                               \
  CALL(disconnect, rdma_disconnect)

struct RdmaCoreCalls {
  SPINDRIFT_VERBS_CALLS(SPINDRIFT_CALL_FIELD)
  SPINDRIFT_RDMA_CM_CALLS(SPINDRIFT_CALL_FIELD)
  decltype(&::ibv_query_qp_data_in_order) query_qp_data_in_order = nullptr;  ///< null before rdma-core 42
};

/// Loads it once; it stays. Errors: unsupported.
[[nodiscard]] Result<const RdmaCoreCalls*> library();
/// After `library()` was good.
[[nodiscard]] const RdmaCoreCalls& loaded_library();

/// Gives an object of rdma-core back.
struct Return {
  void operator()(ibv_context* object) const noexcept { loaded_library().close_device(object); }
  void operator()(ibv_pd* object) const noexcept { loaded_library().dealloc_pd(object); }
  void operator()(ibv_mr* object) const noexcept { loaded_library().dereg_mr(object); }
  void operator()(ibv_mw* object) const noexcept { ibv_dealloc_mw(object); }
  void operator()(ibv_cq* object) const noexcept { loaded_library().destroy_cq(object); }
  void operator()(ibv_qp* object) const noexcept { loaded_library().destroy_qp(object); }
  void operator()(ibv_comp_channel* object) const noexcept { loaded_library().destroy_comp_channel(object); }
  void operator()(rdma_event_channel* object) const noexcept { loaded_library().destroy_event_channel(object); }
  void operator()(rdma_cm_id* object) const noexcept { loaded_library().destroy_id(object); }
  void operator()(ibv_device** object) const noexcept { loaded_library().free_device_list(object); }
};
template <class T>
using Handle = std::unique_ptr<T, Return>;

/// All that are set, of all ports of the device.
[[nodiscard]] std::vector<ibv_gid_entry> gids_of(ibv_context& context);
/// Whether it says nothing beyond the link that it is on (fe80::/10).
[[nodiscard]] bool within_the_link(const ibv_gid& gid) noexcept;

/// The port's entry that rdma_cm takes for an identity that is bound to a device; of two kinds that of RoCE v2.
[[nodiscard]] std::optional<ibv_gid_entry> gid_entry_in_use(rdma_cm_id& bound);
/// "10.0.0.1, index 3, RoCE v2: that of the node's address": for people, of an identity that is bound to a device.
[[nodiscard]] std::string gid_in_use(rdma_cm_id& bound);

}  // namespace spindrift::fabric::verbs
