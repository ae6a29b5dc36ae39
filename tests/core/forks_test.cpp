// Descriptors that a process keeps from the children that it forks.
#include <catch2/catch.hpp>

#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift {
namespace {

/// The exit code of a child that is forked here.
template <class Ask>
int in_a_child(const Ask& ask) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(ask());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_pipe(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) == 0 && S_ISFIFO(about.st_mode);
}

bool is_nothing(int descriptor) {
  struct stat about {};
  struct stat nothing {};
  return ::fstat(descriptor, &about) == 0 && ::stat("/dev/null", &nothing) == 0 && about.st_rdev == nothing.st_rdev &&
         (::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0;
}

struct Ends {
  Ends() {
    int both[2];
    REQUIRE(::pipe2(both, O_CLOEXEC) == 0);
    read = FileDescriptor(both[0]);
    write = FileDescriptor(both[1]);
  }
  FileDescriptor read;
  FileDescriptor write;
};

}  // namespace

TEST_CASE("a child has nothing in place of a descriptor that is kept from it, and the parent has it still") {
  Ends ends;
  ends.write.keep_from_children();
  const FileDescriptor moved = std::move(ends.write);
  CHECK(in_a_child([&] { return is_nothing(moved.get()) && is_pipe(ends.read.get()) ? 0 : 1; }) == 0);
  CHECK(is_pipe(moved.get()));
}

TEST_CASE("the other end hears that a process has closed its own, though a child lives on") {
  Ends ends;
  ends.write.keep_from_children();
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  ends.write.reset();
  char byte = 0;
  CHECK(::read(ends.read.get(), &byte, 1) == 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a number that is used again is no more kept from children") {
  Ends ends;
  ends.write.keep_from_children();
  const int number = ends.write.get();
  ends.write.reset();
  const FileDescriptor again(::fcntl(ends.read.get(), F_DUPFD_CLOEXEC, number));
  REQUIRE(again.get() == number);
  CHECK(in_a_child([&] { return is_pipe(number) ? 0 : 1; }) == 0);
}

TEST_CASE("each child counts as another process, and so does its own child") {
  const Ends ends;
  FileDescriptor kept(::fcntl(ends.read.get(), F_DUPFD_CLOEXEC, 0));
  kept.keep_from_children();
  const std::uint32_t here = process_generation();
  const auto next = [here](std::uint32_t by) { return process_generation() == here + by; };
  CHECK(in_a_child([&] { return next(1) && in_a_child([&] { return next(2) ? 0 : 1; }) == 0 ? 0 : 1; }) == 0);
  CHECK(process_generation() == here);
}

}  // namespace spindrift
