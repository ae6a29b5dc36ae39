// rdma-core, loaded at run time: the functions that are no inline calls through an object, and owners for its objects.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

#include <spindrift/core/result.hpp>

namespace spindrift::fabric::verbs {

struct Library {
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  decltype(&::ibv_query_port) query_port = nullptr;
  decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&::ibv_reg_mr) reg_mr = nullptr;
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_resize_cq) resize_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_wc_status_str) wc_status_str = nullptr;
  decltype(&::ibv_query_qp_data_in_order) query_qp_data_in_order = nullptr;  ///< null before rdma-core 42

  decltype(&::rdma_create_event_channel) create_event_channel = nullptr;
  decltype(&::rdma_destroy_event_channel) destroy_event_channel = nullptr;
  decltype(&::rdma_get_cm_event) get_cm_event = nullptr;
  decltype(&::rdma_ack_cm_event) ack_cm_event = nullptr;
  decltype(&::rdma_event_str) event_str = nullptr;
  decltype(&::rdma_create_id) create_id = nullptr;
  decltype(&::rdma_destroy_id) destroy_id = nullptr;
  decltype(&::rdma_set_option) set_option = nullptr;
  decltype(&::rdma_bind_addr) bind_addr = nullptr;
  decltype(&::rdma_listen) listen = nullptr;
  decltype(&::rdma_resolve_addr) resolve_addr = nullptr;
  decltype(&::rdma_resolve_route) resolve_route = nullptr;
  decltype(&::rdma_create_qp) cm_create_qp = nullptr;
  decltype(&::rdma_destroy_qp) cm_destroy_qp = nullptr;
  decltype(&::rdma_connect) connect = nullptr;
  decltype(&::rdma_accept) accept = nullptr;
  decltype(&::rdma_reject) reject = nullptr;
  decltype(&::rdma_disconnect) disconnect = nullptr;
};

/// Loads it once; it stays. Errors: unsupported.
[[nodiscard]] Result<const Library*> library();
/// After `library()` was good.
[[nodiscard]] const Library& loaded_library();

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

}  // namespace spindrift::fabric::verbs
