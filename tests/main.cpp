// The main function of every test executable, compiled once: Catch2's, but that neither tests which skip themselves pass nor
// a name that no test has.
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <iostream>

#include "skip.hpp"

namespace {

std::size_t test_cases = 0;
std::size_t skipped_test_cases = 0;
bool skips = false;  ///< the test case that runs

struct Counter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseEnded(const Catch::TestCaseStats&) override {
    ++test_cases;
    skipped_test_cases += skips ? 1 : 0;
    skips = false;
  }
};
CATCH_REGISTER_LISTENER(Counter)

}  // namespace

void spindrift::test::skip(const std::string& reason) {
  skips = true;
  std::cout << "\nskipped: " << Catch::getResultCapture().getCurrentTestName() << ": " << reason << std::endl;
}

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int wrong = session.applyCommandLine(argc, argv); wrong != 0) return wrong;
  // ctest runs tests by their names: a name that none has must not pass.
  session.configData().warnings = Catch::WarnAbout::What(session.configData().warnings | Catch::WarnAbout::NoTests);
  const int failed = session.run();
  // Catch2 returns how many assertions failed: it may be as many as mean "skipped".
  if (failed != 0) return failed == spindrift::test::skipped_exit_code ? 1 : failed;
  if (skipped_test_cases > 0) std::cout << skipped_test_cases << " of " << test_cases << " test cases skipped\n";
  return skipped_test_cases > 0 && skipped_test_cases == test_cases ? spindrift::test::skipped_exit_code : 0;
}

#if defined(__has_feature)
#define SPINDRIFT_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SPINDRIFT_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SPINDRIFT_HAS_FEATURE(address_sanitizer)
// libfabric 1.17 forgets a call whose handshake is under way when the endpoint that was called goes: 376 bytes, and nobody
// else can free them. Each endpoint of its net provider forgets a description of itself, some 600 bytes.
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so.1\n"; }  // NOLINT
#endif
#if defined(__SANITIZE_THREAD__) || SPINDRIFT_HAS_FEATURE(thread_sanitizer)
// libfabric 1.17 takes a descriptor out of its epoll set after it has closed it, when another thread may have that number.
// It is not instrumented: all that is seen of it are its calls of the system's library. And gcc 12's own runtime takes what
// is mapped right behind a new thread's stack, as counters may be, for that thread's storage, and its start for a write.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT
  return "race:libfabric.so.1\nrace:__tsan_tls_initialization\n";
}
#endif
