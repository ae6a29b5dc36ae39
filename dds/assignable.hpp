// Which types of one name exchange samples without being the same: those that travel as CDR, where the fields of the one
// are the first ones of the other. So a program may append fields, and old and new ones run beside each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spindrift::topics {

/// Whether participants may have a topic with either of the types, by their descriptions: they are equal, or the fields of
/// one are the first of the other, with the same keys, and neither lies in place.
[[nodiscard]] bool assignable(const std::string& some, const std::string& other);

/// The first thing in which two types differ, in words: a field, counted from 1, the fields' number or the keys. Empty: what
/// is no description, or differs in something else.
[[nodiscard]] std::string first_difference(const std::string& here, const std::string& there);

/// The identities of the types with fewer fields whose samples can be read as this one: at each place, that of the type with
/// so many fields.
[[nodiscard]] std::vector<std::uint64_t> shorter_identities(const std::string& description);

}  // namespace spindrift::topics
