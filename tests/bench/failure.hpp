// Tests of benches share this: the error that a bench throws.
#pragma once

#include <catch2/catch.hpp>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// The error of work that must fail.
template <class Work>
Error error_of(Work work) {
  try {
    static_cast<void>(work());
  } catch (const Exception& failure) {
    return failure.error();
  }
  FAIL("nothing was thrown");
  return Error(ErrorKind::bad_argument, "unreachable");
}

}  // namespace spindrift::bench
