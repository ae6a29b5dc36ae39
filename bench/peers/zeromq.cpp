// ZeroMQ over Unix sockets: one XPUB socket that blocks instead of dropping, one SUB socket per subscriber.
// --place: a directory for the socket.
#include <cerrno>

#include <zmq.h>

#include <spindrift/core/result.hpp>

#include "peer.hpp"

using namespace spindrift;

namespace {

constexpr int poll_ms = 100;

/// Throws what the last call says.
int checked(int result, const char* what) {
  if (result < 0) throw Exception(Error(ErrorKind::resource, std::string(what) + ": " + zmq_strerror(zmq_errno())));
  return result;
}

void set(void* socket, int option, int value) {
  checked(zmq_setsockopt(socket, option, &value, sizeof value), "zmq_setsockopt");
}

void publish(peers::Scene& scene, void* socket, const std::string& address) {
  set(socket, ZMQ_XPUB_NODROP, 1);
  set(socket, ZMQ_XPUB_VERBOSE, 1);  // every subscriber is heard of, not only the first of the topic
  set(socket, ZMQ_SNDTIMEO, poll_ms);
  checked(zmq_bind(socket, address.c_str()), "zmq_bind");
  for (std::uint32_t subscriber = 1; subscriber < scene.options().members; ++subscriber) {
    char subscription[8];
    checked(zmq_recv(socket, subscription, sizeof subscription, 0), "zmq_recv");
  }
  scene.ready();
  while (!scene.stopped()) {
    zmq_msg_t message;
    checked(zmq_msg_init_size(&message, scene.options().bytes), "zmq_msg_init_size");
    scene.write({static_cast<std::byte*>(zmq_msg_data(&message)), scene.options().bytes});
    while (zmq_msg_send(&message, socket, 0) < 0) {
      if (zmq_errno() != EAGAIN) checked(-1, "zmq_msg_send");
    }
  }
  scene.sent_all();
}

void subscribe(peers::Scene& scene, void* socket, const std::string& address) {
  set(socket, ZMQ_RCVTIMEO, poll_ms);
  checked(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0), "zmq_setsockopt");
  checked(zmq_connect(socket, address.c_str()), "zmq_connect");
  scene.ready();
  zmq_msg_t message;
  zmq_msg_init(&message);
  while (!scene.over()) {
    if (zmq_msg_recv(&message, socket, 0) >= 0) {
      scene.on_delivery({static_cast<const std::byte*>(zmq_msg_data(&message)), zmq_msg_size(&message)});
    } else if (zmq_errno() != EAGAIN) {
      checked(-1, "zmq_msg_recv");
    }
  }
  zmq_msg_close(&message);
}

}  // namespace

int main(int argc, char** argv) {
  return peers::run_peer(argc, argv, false, [](peers::Scene& scene) {
    void* const context = zmq_ctx_new();
    void* const socket = zmq_socket(context, scene.sends() ? ZMQ_XPUB : ZMQ_SUB);
    set(socket, ZMQ_LINGER, 0);
    const std::string address = "ipc://" + scene.options().place + "/zeromq";
    scene.sends() ? publish(scene, socket, address) : subscribe(scene, socket, address);
    zmq_close(socket);
    zmq_ctx_term(context);
  });
}
