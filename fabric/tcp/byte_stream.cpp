// A stream in the clear: the socket itself.
#include <spindrift/fabric/tcp/byte_stream.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <spindrift/fabric/tcp/socket.hpp>

namespace spindrift::fabric::tcp {
namespace {

class PlainStream final : public UnprovenStream {
 public:
  explicit PlainStream(FileDescriptor socket) : socket_(std::move(socket)) {
    // The kernel's count of the bytes behind those that were read saves a look, and keeps words whole.
    const int on = 1;
    tells_more_ = ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_INQ, &on, sizeof on) == 0;
  }

  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> to) override {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(to.data());
    message.msg_iovlen = to.size();
    if (tells_more_) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
    }
    const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    known_ = 0;
    if (count == 0) return Error(ErrorKind::member_lost, std::string(connection_ended));
    if (count < 0) return means_later(errno) ? Result<std::size_t>(0) : broken_connection("recvmsg", errno);
    const cmsghdr* const first = CMSG_FIRSTHDR(&message);
    if (first != nullptr && first->cmsg_level == IPPROTO_TCP && first->cmsg_type == TCP_CM_INQ) {
      int more = 0;
      std::memcpy(&more, CMSG_DATA(first), sizeof more);
      known_ = more > 0 ? static_cast<std::size_t>(more) : 0;
    }
    return static_cast<std::size_t>(count);
  }

  [[nodiscard]] std::size_t known() const noexcept override { return known_; }
  [[nodiscard]] bool holds_bytes() const noexcept override { return false; }

  [[nodiscard]] Result<std::size_t> write(std::span<const iovec> from) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from.data());
    message.msg_iovlen = from.size();
    const ssize_t count = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return static_cast<std::size_t>(count);
    return means_later(errno) ? Result<std::size_t>(0) : broken_connection("sendmsg", errno);
  }
  [[nodiscard]] Result<bool> flush() override { return true; }

  [[nodiscard]] int descriptor() const noexcept override { return socket_.get(); }

 private:
  const FileDescriptor socket_;
  bool tells_more_ = false;
  std::size_t known_ = 0;
};

}  // namespace

Error broken_connection(std::string_view call, int error) {
  return Error(ErrorKind::member_lost, std::string(connection_broke)).because(system_error(call, error));
}

std::unique_ptr<ByteStream> plain_stream(FileDescriptor socket) { return std::make_unique<PlainStream>(std::move(socket)); }

}  // namespace spindrift::fabric::tcp
