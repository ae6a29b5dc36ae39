// Lists of revoked certificates as members hand them on. A list is signed by its authority, so it does not matter who
// brings it; which of two is newer, its number says.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/bundle.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {

using RevocationLists = std::vector<Owned<X509_CRL>>;

/// The lists in DER, one behind the other. Errors: bad_input.
[[nodiscard]] Result<RevocationLists> lists_in(std::span<const std::byte> bytes);
/// As `lists_in` reads them. Errors: resource.
[[nodiscard]] Result<std::vector<std::byte>> bytes_of(const RevocationLists& lists);
/// The same objects once more.
[[nodiscard]] RevocationLists shared(const RevocationLists& lists);

/// Those of the lists that the bundle's authorities, or those between them and its certificate, answer for. Others have no
/// effect here, and are left out: lists of authorities that the bundle does not know, and lists of a part or of changes.
/// Errors: refused, for a list that names such an authority and is not signed by it.
[[nodiscard]] Result<RevocationLists> lists_that_count(const RevocationLists& lists, const Bundle& bundle);

struct NewestLists {
  RevocationLists lists;
  bool any_newer = false;  ///< some are not of `base`
};
/// The newest list of both, of each authority of the bundle; other lists of `base` stay.
[[nodiscard]] NewestLists newest_of(const RevocationLists& base, const RevocationLists& others, const Bundle& bundle);

}  // namespace spindrift::fabric::tls
