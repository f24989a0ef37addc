// SPDX-License-Identifier: Apache-2.0
// The one way to read an object of a document. Every key is declared where it is read, with its
// type, range and one sentence of documentation; keys that nobody read, missing keys and bad values
// are collected, and finish() throws them all at once. Reading goes on after an error with a
// value-initialised result, so that the next error is found too: do not use what was read before
// finish() has returned.
//
//   Link read_link(StrictObject& link) {
//     return {.from = link.required<std::string>({"from", "device that sends"}),
//             .rate = link.required<Bandwidth>({"rate", "capacity in this direction"},
//             above(Bandwidth{}))};
//   }
//   StrictObject root(document);
//   root.schema("weft.machine/1", "a machine");
//   auto links = root.required_list({"links", "directed links"}, read_link);
//   root.finish();
//
// Functions that read must not branch on values other than through one_of(), so that describe()
// sees every key.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "configs/reader/codec.hpp"
#include "configs/reader/document.hpp"
#include "configs/reader/schema.hpp"
#include "configs/reader/spot.hpp"

namespace weft::config {

class StrictObject;

/// A key and the sentence that documents it.
struct Field {
  std::string_view name;
  std::string_view doc;
};

/// How many items a list may have.
using ListSize = Range<std::size_t>;

/// One choice of one_of(): its name, a sentence, and what it reads.
struct Alternative {
  std::string_view name;
  std::string_view doc;
  std::function<void(StrictObject&)> read;
};

/// An item of a map of objects, under its name.
template <class T>
using Named = std::pair<std::string, T>;

class StrictObject {
 public:
  /// Reads the root object of a document, which must outlive this; a tolerant document turns unread
  /// keys into notes and takes null for absent.
  explicit StrictObject(const Document& document);
  StrictObject(const StrictObject&) = delete;
  StrictObject& operator=(const StrictObject&) = delete;
  ~StrictObject();

  /// Requires `"schema": name`; another schema throws at once, since every other error would follow
  /// from it.
  void schema(std::string_view name, std::string_view doc);

  /// Reads a value that must be there.
  template <class T>
  T required(Field field, const typename Codec<T>::RangeType& range = {}) {
    return optional_value<T>(field, range, true, std::nullopt).value_or(T{});
  }
  /// Reads a value that may be absent.
  template <class T>
  std::optional<T> optional(Field field, const typename Codec<T>::RangeType& range = {}) {
    return optional_value<T>(field, range, false, std::nullopt);
  }
  /// Reads a value that has a default.
  template <class T>
  T defaulted(Field field, const T& fallback, const typename Codec<T>::RangeType& range = {}) {
    return optional_value<T>(field, range, false, Codec<T>::write(fallback)).value_or(fallback);
  }

  /// Reads an object that must be there: read(StrictObject&) -> R.
  template <class Read>
  auto required_object(Field field, Read&& read) -> std::invoke_result_t<Read&, StrictObject&> {
    using R = std::invoke_result_t<Read&, StrictObject&>;
    return nested(field, true, read).value_or(R{});
  }
  /// Reads an object that may be absent.
  template <class Read>
  auto optional_object(Field field, Read&& read)
      -> std::optional<std::invoke_result_t<Read&, StrictObject&>> {
    return nested(field, false, read);
  }

  /// Reads an array of objects that must be there.
  template <class Read>
  auto required_list(Field field, Read&& read, const ListSize& size = {})
      -> std::vector<std::invoke_result_t<Read&, StrictObject&>> {
    return list(field, true, read, size);
  }
  /// Reads an array of objects; absent is empty.
  template <class Read>
  auto optional_list(Field field, Read&& read, const ListSize& size = {})
      -> std::vector<std::invoke_result_t<Read&, StrictObject&>> {
    return list(field, false, read, size);
  }

  /// Reads an object of objects with free names, in the order of the file.
  template <class Read>
  auto required_map(Field field, Read&& read)
      -> std::vector<Named<std::invoke_result_t<Read&, StrictObject&>>> {
    return map(field, true, read);
  }
  /// Reads an object of objects with free names; absent is empty.
  template <class Read>
  auto optional_map(Field field, Read&& read)
      -> std::vector<Named<std::invoke_result_t<Read&, StrictObject&>>> {
    return map(field, false, read);
  }

  /// Reads any value as it stands; nullptr if it is absent.
  const Value* any(Field field, bool is_required = false);

  /// Reads the name of an alternative and then what that alternative declares, from this same
  /// object.
  void one_of(Field field, const std::vector<Alternative>& alternatives);

  /// Requires that exactly one of these keys is present (they are read as optional ones, before or
  /// after).
  void exactly_one(std::initializer_list<std::string_view> keys);

  /// Returns whether the object has the key, whatever it holds; does not count as reading it.
  bool has(std::string_view key) const;
  /// Returns place and pointer of a key, or of this object if it has no such key.
  Origin origin(std::string_view key) const;
  Origin origin() const;
  /// Records an error at a key, at this object, or at a place kept from before.
  void error(std::string_view key, std::string message, std::string hint = {});
  void error(std::string message, std::string hint = {});
  void error(const Origin& origin, std::string message, std::string hint = {});
  /// Returns whether this reading has met no error so far.
  bool good() const;

  /// Returns whether there is no document and keys are only being declared.
  bool describing() const { return description_ != nullptr; }

  /// Ends the reading of the whole document: reports unread keys, then throws ConfigErrors if there
  /// was any error.
  void finish();
  /// Returns what a tolerant reading ignored, sorted by place; complete after finish().
  const std::vector<ConfigError>& notes() const;
  /// Returns every parameter {value, source} that was read.
  const std::vector<SourcedUse>& sources() const;
  /// Returns the reading that collects errors, for codecs.
  Reading& reading() const { return *reading_; }

 private:
  template <class Read>
  friend auto read_object(const Spot& spot, Read&& read)
      -> std::optional<std::invoke_result_t<Read&, StrictObject&>>;
  template <class Read>
  friend TypeDescription describe(Read&& read);

  explicit StrictObject(const Spot& spot);
  explicit StrictObject(TypeDescription& description);

  // Finds a key and marks it as read; records an error if it is required and missing.
  const Member* take(Field field, bool is_required);
  void declare(Field field, bool is_required, std::optional<Value> fallback, TypeDescription type);
  void check_size(const Spot& spot, const ListSize& size) const;
  static TypeDescription describe_list(const ListSize& size, TypeDescription element);
  // Reports the keys that nobody read.
  void close();

  template <class T>
  std::optional<T> optional_value(Field field, const typename Codec<T>::RangeType& range,
                                  bool is_required, std::optional<Value> fallback);
  template <class Read>
  auto nested(Field field, bool is_required, Read& read)
      -> std::optional<std::invoke_result_t<Read&, StrictObject&>>;
  template <class Read>
  auto list(Field field, bool is_required, Read& read, const ListSize& size)
      -> std::vector<std::invoke_result_t<Read&, StrictObject&>>;
  template <class Read>
  auto map(Field field, bool is_required, Read& read)
      -> std::vector<Named<std::invoke_result_t<Read&, StrictObject&>>>;

  std::unique_ptr<Reading> own_reading_;
  std::optional<Spot> own_root_;
  Reading* reading_ = nullptr;
  // Null while describing, and if the document's root is no object: then nothing is read.
  const Spot* spot_ = nullptr;
  TypeDescription* description_ = nullptr;
  std::string when_;
  std::vector<std::string> known_;
  std::vector<bool> was_read_;
};

/// Reads the object at a spot with read(StrictObject&) and reports its unread keys; nothing if it
/// is no object.
template <class Read>
auto read_object(const Spot& spot, Read&& read)
    -> std::optional<std::invoke_result_t<Read&, StrictObject&>>;

/// Returns the keys that read(StrictObject&) declares.
template <class Read>
TypeDescription describe(Read&& read);

}  // namespace weft::config

#include "configs/reader/strict_object_read.hpp"  // IWYU pragma: export
