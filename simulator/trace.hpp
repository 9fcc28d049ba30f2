// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TraceReader: reads a recorded trace of handle requests row by row.
//
// A trace is a text file. Its first line is `time_ns,key,bytes,build_ns,lease_ns`; every other line is one request:
//   time_ns   when the handle was asked for; never less than on the line before
//   key       any text without commas, not empty
//   bytes     what a handle built now would hold
//   build_ns  what building it now would take
//   lease_ns  how long the lease lasts, counted from time_ns
// Numbers are plain decimal, 0 to 9223372036854775807. Nothing is guessed: a line that is not of this form is an error
// that names the file, the line and the value.
//
// Invariant: memory stays at one buffer of fixed size, however long the file is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <larder/error.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace larder::simulator {

/// A trace cannot be read; the message names the file, and the line where one is at fault.
class BadTrace : public Error {
 public:
  using Error::Error;
};

inline constexpr std::string_view trace_header = "time_ns,key,bytes,build_ns,lease_ns";

/// One request of a trace.
struct TraceRow {
  std::chrono::nanoseconds time{0};
  std::string key;
  std::size_t bytes = 0;
  std::chrono::nanoseconds build{0};
  std::chrono::nanoseconds lease{0};

  /// When the lease ends; the reader has checked that the sum fits.
  [[nodiscard]] std::chrono::nanoseconds lease_end() const noexcept { return time + lease; }
};

/// Text from a file or a command line as it may stand in a one-line message: cut when long, control characters escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Reads the rows of one trace file in order. For one thread at a time.
class TraceReader {
 public:
  /// Opens the file and reads its header.
  ///
  /// @throws BadTrace when the file cannot be read, is empty, or has another header
  explicit TraceReader(std::string path);

  /// Reads the next request into `row`; false at the end of the file.
  ///
  /// @throws BadTrace
  [[nodiscard]] bool next(TraceRow& row);

  /// How much of the file was read, up to a buffer ahead of the rows.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  /// @throws BadTrace naming the file and the line that next() read last
  [[noreturn]] void reject(const std::string& fault) const;

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  [[nodiscard]] std::optional<std::string_view> next_line();
  [[nodiscard]] std::int64_t number(std::string_view field, std::string_view text) const;

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // buffer_[begin_, end_) is read from the file and not yet handed out
  std::size_t end_ = 0;
  std::uint64_t bytes_read_ = 0;
  bool at_end_of_file_ = false;
  std::uint64_t line_ = 0;
  std::int64_t last_time_ = 0;
};

/// All rows of a trace file, for what needs to know the future; memory in proportion to the rows.
///
/// @throws BadTrace
[[nodiscard]] std::vector<TraceRow> read_trace(const std::string& path);

}  // namespace larder::simulator
