// The certificates that an authority has issued: the file issued.json beside its key, from which revocations and `spindrift
// keys show` come.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/certificate.hpp>
#include <spindrift/fabric/tls/identity.hpp>

namespace spindrift::fabric::tls {

struct IssuedCertificate {
  Identity identity;
  std::string serial;  ///< in hexadecimal digits, as serial_of has it
  Validity validity;
  std::optional<std::chrono::sys_seconds> revoked;  ///< when, if it is
};

struct AuthorityIndex {
  std::string group;
  std::uint64_t lists = 0;  ///< how many lists of revoked certificates were made
  std::vector<IssuedCertificate> issued;  ///< in the order in which they were

  /// Errors: bad_input.
  [[nodiscard]] static Result<AuthorityIndex> parse(std::string_view json);
  [[nodiscard]] std::string to_json() const;
};

}  // namespace spindrift::fabric::tls
