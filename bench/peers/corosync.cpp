// Corosync's closed process groups in agreed order: every member in the network namespace of its daemon, one thread that
// sends as fast as flow control lets it and dispatches what comes. --place: the name of the namespaces without their number.
#include <poll.h>
#include <sys/uio.h>

#include <cstring>

#include <corosync/cpg.h>

#include <spindrift/core/result.hpp>

#include "peer.hpp"

using namespace spindrift;

namespace {

constexpr int poll_ms = 100;

struct CorosyncMember {
  peers::Scene& scene;
  std::size_t present = 0;  ///< members of the group
};

void check(cs_error_t result, const char* what) {
  if (result != CS_OK) throw Exception(Error(ErrorKind::resource, std::string(what) + ": " + cs_strerror(result)));
}

CorosyncMember& member_of(cpg_handle_t handle) {
  void* context = nullptr;
  check(cpg_context_get(handle, &context), "cpg_context_get");
  return *static_cast<CorosyncMember*>(context);
}

void on_message(cpg_handle_t handle, const cpg_name*, std::uint32_t, std::uint32_t, void* message, std::size_t bytes) {
  member_of(handle).scene.on_delivery({static_cast<const std::byte*>(message), bytes});
}

void on_members(cpg_handle_t handle, const cpg_name*, const cpg_address*, std::size_t count, const cpg_address*, std::size_t,
                const cpg_address*, std::size_t) {
  member_of(handle).present = count;
}

void dispatch(cpg_handle_t handle, int file, int timeout_ms) {
  pollfd waiting{file, POLLIN, 0};
  if (::poll(&waiting, 1, timeout_ms) > 0) check(cpg_dispatch(handle, CS_DISPATCH_ALL), "cpg_dispatch");
}

/// Whether flow control let the message through.
bool send(cpg_handle_t handle, std::span<const std::byte> message) {
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  const cs_error_t result = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &part, 1);
  if (result == CS_ERR_TRY_AGAIN) return false;
  check(result, "cpg_mcast_joined");
  return true;
}

void run_member(peers::Scene& scene) {
  peers::enter_network(scene.options().place + std::to_string(scene.self()));
  CorosyncMember member{scene};
  cpg_model_v1_data_t model{};
  model.model = CPG_MODEL_V1;
  model.cpg_deliver_fn = on_message;
  model.cpg_confchg_fn = on_members;
  cpg_handle_t handle = 0;
  check(cpg_model_initialize(&handle, CPG_MODEL_V1, reinterpret_cast<cpg_model_data_t*>(&model), &member),
        "cpg_model_initialize");
  cpg_name name{};
  std::strcpy(name.value, "bench");
  name.length = static_cast<std::uint32_t>(std::strlen(name.value));
  check(cpg_join(handle, &name), "cpg_join");
  int file = -1;
  check(cpg_fd_get(handle, &file), "cpg_fd_get");
  while (member.present < scene.options().members) dispatch(handle, file, poll_ms);
  scene.ready();

  if (scene.sends()) {
    while (!scene.stopped()) {
      const auto message = scene.next_message();
      while (!send(handle, message)) dispatch(handle, file, 1);
      dispatch(handle, file, 0);
    }
    scene.sent_all();
  }
  while (!scene.over()) dispatch(handle, file, poll_ms);
  cpg_finalize(handle);
}

}  // namespace

int main(int argc, char** argv) { return peers::run_peer(argc, argv, true, run_member); }
