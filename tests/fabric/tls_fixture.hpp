// A group's authority in a directory that goes away, and handshakes between two of its credentials in memory.
#pragma once

#include <catch2/catch.hpp>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <spindrift/fabric/tls/authority.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::tls::test {

inline std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}
/// The same for all of a run, so that what is said twice is equal.
inline std::chrono::sys_seconds started() {
  static const std::chrono::sys_seconds at = now();
  return at;
}
inline Validity this_year() { return valid_for(started(), std::chrono::days(365)); }
inline Validity last_year() { return {started() - std::chrono::days(365), started() - std::chrono::days(1)}; }
inline Validity next_year() { return {started() + std::chrono::days(1), started() + std::chrono::days(365)}; }

/// A directory of this process alone, removed at the end with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spindrift_tls_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

inline Identity member(std::uint32_t node, std::string_view group = "orders") {
  return value_or_throw(Identity::of_member(group, NodeId(node)));
}

/// An authority with keys for nodes 0 and 1.
struct TwoNodes {
  TemporaryDirectory directory;
  Authority authority;

  explicit TwoNodes(std::string_view group = "orders", const Validity& validity = this_year())
      : authority(value_or_throw(Authority::create(directory.path() + "/keys", group, this_year()))) {
    for (std::uint32_t node = 0; node < 2; ++node) value_or_throw(authority.add(member(node, group), validity));
  }
  [[nodiscard]] std::string bundle(std::uint32_t node) const {
    return authority.bundle_directory(member(node, authority.group()));
  }
  [[nodiscard]] std::shared_ptr<Credentials> credentials(std::uint32_t node) const {
    return value_or_throw(Credentials::load(bundle(node), authority.group(), NodeId(node)));
  }
};

inline void replace_file(const std::string& path, std::string_view text, std::filesystem::perms mode) {
  std::filesystem::remove(path);
  std::ofstream(path) << text;
  std::filesystem::permissions(path, mode);
}
inline std::string text_of(const std::string& path) {
  std::ifstream in(path);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Both ends of a connection whose bytes stay in memory.
struct Handshake {
  Owned<SSL> caller;
  Owned<SSL> called;
  int caller_outcome = -1;  ///< as SSL_do_handshake: 1 is success
  int called_outcome = -1;

  Handshake(Owned<SSL> one, Owned<SSL> other) : caller(std::move(one)), called(std::move(other)) {
    BIO* near = nullptr;
    BIO* far = nullptr;
    REQUIRE(BIO_new_bio_pair(&near, 0, &far, 0) == 1);
    SSL_set_bio(caller.get(), near, near);
    SSL_set_bio(called.get(), far, far);
    SSL_set_connect_state(caller.get());
    SSL_set_accept_state(called.get());
    int steps = 0;
    do {
      caller_outcome = SSL_do_handshake(caller.get());
      called_outcome = SSL_do_handshake(called.get());
    } while (!over() && ++steps < 20);
  }
  /// TLS 1.3's caller is done before it knows what the called one thinks of it.
  [[nodiscard]] bool over() const {
    return called_outcome == 1 || failed(*called, called_outcome) || failed(*caller, caller_outcome);
  }
  [[nodiscard]] bool succeeded() const { return caller_outcome == 1 && called_outcome == 1; }

  static bool failed(const SSL& session, int outcome) {
    const int error = SSL_get_error(&session, outcome);
    return outcome != 1 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
  }
};

inline Handshake shake(const Credentials& caller, const Credentials& called) {
  return {value_or_throw(caller.new_session()), value_or_throw(called.new_session())};
}

}  // namespace spindrift::fabric::tls::test
