// The model while files are read: what is declared so far, and how names are found.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "value.hpp"

namespace spindrift::idl {

class ModelBuilder {
 public:
  ModelBuilder(const std::vector<std::string>& paths, const ReadFile& read) : given_(paths), read_(read) {}

  /// Reads the file, if that was not done. `place`: who names it. Throws bad_input: it is not there, too large, or is
  /// being read, as one that includes itself.
  void add(const std::string& path, const SourcePlace& place);
  /// The same of the first of the paths that is there; returns it. `what`: "type std_msgs/Header".
  std::string add_one_of(const std::vector<std::string>& paths, const std::string& what, const SourcePlace& place);
  [[nodiscard]] const std::vector<std::string>& given() const noexcept { return given_; }
  void note(const SourcePlace& place, const std::string& words) { model_.notes.push_back(place.text() + ": " + words); }

  /// Throws bad_input: the name is taken, or C++'s own.
  void declare(Declaration declaration);
  void define_value(const std::string& full_name, ConstantValue value) { values_[full_name] = std::move(value); }
  void enter_module(const std::string& full_name, const SourcePlace& place);

  /// The meaning of a name in a scope: in it, or around it. Throws bad_input.
  [[nodiscard]] const Declaration& type_named(const std::string& scope, const std::string& name,
                                              const SourcePlace& place) const;
  [[nodiscard]] ConstantValue value_named(const std::string& scope, const std::string& name, const SourcePlace& place) const;
  /// The type behind aliases and bitmasks.
  [[nodiscard]] const IdlType& resolved(const IdlType& type) const;
  /// Throws bad_input: the keys of maps are numbers without a fraction, bools, enums and texts.
  void require_map_key(const IdlType& type, const SourcePlace& place) const;
  /// Throws bad_input: what tells the members of a union apart is an integer, a bool, a char or an enum.
  void require_discriminator(const IdlType& type, const SourcePlace& place) const;
  /// The first discriminator of that type that is not used, as C++ has it; empty: all are, of an enum all enumerators.
  [[nodiscard]] std::string free_label(const IdlType& type, const std::set<WideInteger>& used) const;
  /// Throws bad_input: keys hold no sequences, maps, optionals and unions.
  void require_key(const IdlType& type, const SourcePlace& place) const;
  /// Adds a field to a struct. Throws bad_input: its name is taken, or there are too many.
  static void add_field(Declaration& to, IdlField field);

  [[nodiscard]] Model take() { return std::move(model_); }

 private:
  template <class Known>
  [[nodiscard]] static const Known* find(const std::map<std::string, Known>& all, std::string scope,
                                         const std::string& name);

  const std::vector<std::string> given_;
  const ReadFile& read_;
  Model model_;
  std::set<std::string> reading_;
  std::set<std::string> read_whole_;
  std::map<std::string, std::size_t> types_;
  std::map<std::string, ConstantValue> values_;
  std::set<std::string> modules_;
};

/// Adds what the text of a file declares.
void parse_idl(ModelBuilder& to, const std::string& text, IdlUnit& unit);
void parse_ros(ModelBuilder& to, const std::string& text, IdlUnit& unit);

/// Whether C++ has the word for itself.
[[nodiscard]] bool is_cpp_word(const std::string& name);

}  // namespace spindrift::idl
