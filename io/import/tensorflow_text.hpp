// SPDX-License-Identifier: Apache-2.0
// Protocol buffers' text form ("node { name: \"a\" op: \"Const\" }"), as far as GraphDef and RunMetadata need it: the
// light library has no reader for it. Comments, both kinds of brackets and quotes, C escapes, joined strings, lists in
// square brackets and separators are understood; fields of no interest are skipped. Errors are UserErrors with their
// place. Nesting is limited; cost is linear in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "io/import/proto/tensorflow.pb.h"

namespace stretto::io {

// Beyond these a file is refused before it fills the memory.
inline constexpr int kMostTfNodes = 1'000'000;
inline constexpr int kMostTfRecords = 4'000'000;  // of one device in the text form, of all in the binary form

// The text as a stream of fields. A handler takes the field's value with exactly one of the readers, or returns false
// to have it skipped.
class TextReader {
 public:
  using Handler = std::function<bool(std::string_view field)>;

  TextReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  // All fields up to the end of the text.
  void document(const Handler& handler);
  // The value of a field is a message.
  void message(const Handler& handler);
  void string(const std::function<void(std::string)>& take);
  void integer(const std::function<void(std::int64_t)>& take);
  void boolean(const std::function<void(bool)>& take);
  // An element type: a number, or its name (DT_FLOAT).
  void data_type(const std::function<void(std::int32_t)>& take);

  // An error at the place that was reached.
  [[noreturn]] void refuse(std::string message) const { fail(at_, std::move(message)); }

 private:
  [[noreturn]] void fail(std::size_t offset, std::string message, std::string hint = "") const;
  void skip_space();
  char peek();
  bool accept(char c);
  void fields(const Handler& handler, char closing);
  std::string_view word();
  std::string quoted();
  void values(const std::function<void()>& one);
  void skip_value();

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

void parse_text(std::string_view text, const std::string& path, tf::GraphDef& graph);
void parse_text(std::string_view text, const std::string& path, tf::StepStats& stats);
void parse_text(std::string_view text, const std::string& path, tf::RunMetadata& metadata);

// The first field's name of a text that looks like the text form, else "". Never throws.
std::string_view first_text_field(std::string_view text);

}  // namespace stretto::io
