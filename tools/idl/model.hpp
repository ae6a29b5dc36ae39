// The declarations of IDL and ROS files: types of samples, and what they are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::idl {

/// A place in a file, counted from 1.
struct SourcePlace {
  std::string file;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  [[nodiscard]] std::string text() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column); }
};
/// Throws bad_input, with file, line and column.
[[noreturn]] void refuse(const SourcePlace& place, const std::string& cause, const std::string& fix);

enum class TypeForm : std::uint8_t { plain, text, sequence, map, array, optional, named };
struct IdlType;
using TypePointer = std::shared_ptr<const IdlType>;
struct IdlType {
  TypeForm form = TypeForm::plain;
  std::string name{};       ///< plain: as C++ has it, "std::int32_t"; named: with its modules, "sensors::Mode"
  TypePointer element{};    ///< of a sequence, a map, an array, an optional
  TypePointer key{};        ///< of a map
  std::uint64_t count = 0;  ///< of an array; the bound of a sequence, a map or a text, 0 if there is none
};

struct IdlField {
  std::string name;
  TypePointer type;
  bool key = false;
  std::string initial{};  ///< its @default, as C++ has it; empty: none
  /// The discriminators with which a member of a union is there, as C++ has them; of the default one that no other has.
  std::vector<std::string> labels{};
  bool is_default = false;
  SourcePlace place{};
};
struct IdlEnumerator {
  std::string name;
  std::int64_t value = 0;  ///< of a bitmask: the position
};

enum class DeclarationKind : std::uint8_t { structure, choice, enumeration, bitmask, alias, constant };
struct Declaration {
  DeclarationKind kind = DeclarationKind::structure;
  std::string scope{};  ///< its modules, "a::b"
  std::string name{};
  SourcePlace place{};
  TypePointer type{};   ///< of an alias or a constant; of an enum or a bitmask its integer; of a union what tells
  std::string value{};  ///< of a constant, as C++ has it; of a union a discriminator of no member, if there is one
  std::vector<IdlField> fields{};  ///< with those of a base, which come first; of a union its members
  std::vector<IdlEnumerator> enumerators{};
  [[nodiscard]] std::string full_name() const { return scope.empty() ? name : scope + "::" + name; }
};

/// All that one file declares; what it includes is declared by units of their own.
struct IdlUnit {
  std::string path;
  std::vector<std::string> includes{};  ///< paths of other units
};
struct Model {
  std::vector<IdlUnit> units;             ///< what is included comes before who includes it
  std::vector<Declaration> declarations;  ///< in the order of the files; `place.file` says of which
  std::vector<std::string> notes;         ///< what was left out, for people
  [[nodiscard]] const Declaration* find(const std::string& full_name) const;
};

/// Reads a file. Nothing: there is none.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Parses the files (.idl, .msg) with what they include. Throws bad_input, with the place: syntax, what is not known, and
/// what a sample cannot hold, such as wide texts.
[[nodiscard]] Model parse(const std::vector<std::string>& paths, const ReadFile& read);

/// A C++ header for a unit: plain aggregates, and classes for unions, with their keys and the names of their fields for
/// dds/.
[[nodiscard]] std::string header_of(const Model& model, const IdlUnit& unit);
/// "sensors.hpp" of "somewhere/sensors.idl", "std_msgs/msg/Header.hpp" of "somewhere/std_msgs/msg/Header.msg".
[[nodiscard]] std::string header_name(const std::string& path);
/// The package of a ROS file, by the directory that it is in: "std_msgs".
[[nodiscard]] std::string package_of(const std::string& path);
/// As C++ has it.
[[nodiscard]] std::string cpp_type(const IdlType& type);

// Bounds of what is read.
inline constexpr std::size_t file_bytes_max = std::size_t{16} << 20U;
inline constexpr std::size_t units_max = 1000;
inline constexpr std::size_t depth_max = 64;
inline constexpr std::size_t fields_max = 100;  ///< of a struct: what dds/ takes apart
inline constexpr std::uint64_t elements_max = std::uint64_t{1} << 28U;

}  // namespace spindrift::idl
