// A full disk for one process.
#pragma once

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>

namespace spindrift {

/// No file of this process grows beyond that, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit_) == 0);
    const rlimit lower{bytes, limit_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &lower) == 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int);
};

}  // namespace spindrift
