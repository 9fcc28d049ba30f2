// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the subcommands report: files that appear whole or not at all, statistics, sizes and a progress bar.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <larder/stats.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace larder::cli {

/// A path that can be written, as far as can be told before any work is done.
class OutputPath {
 public:
  /// @param option  that named the path, for messages
  /// @throws BadArguments when the path cannot be written
  OutputPath(const std::string& option, std::string path);

 private:
  friend class OutputFile;

  std::string path_;
  bool in_place_ = false;  // a device or pipe, which a rename would replace
};

/// A file that appears whole or not at all: the text goes beside the path, commit() renames it.
///
/// A device or pipe is written to directly. What was not committed is removed.
class OutputFile {
 public:
  /// @throws std::runtime_error when the file cannot be made
  explicit OutputFile(const OutputPath& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// @throws std::runtime_error; the path is then as it was before
  void write(std::string_view text);
  /// @throws std::runtime_error; the path is then as it was before
  void commit();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  [[noreturn]] void fail(int error) const;

  OutputPath path_;
  std::string written_;  // where the text is before commit()
  std::unique_ptr<std::FILE, CloseFile> file_;
};

/// A JSON file, written whole or not at all.
class JsonFile {
 public:
  /// @param path  nullopt for none: write() then does nothing
  /// @throws BadArguments when the path cannot be written
  explicit JsonFile(const std::optional<std::string>& path);

  /// @throws std::runtime_error; the path is then as it was before
  void write(const nlohmann::ordered_json& value) const;

 private:
  std::optional<OutputPath> path_;
};

/// Every counter of a cache; evictions as an object by cause.
[[nodiscard]] nlohmann::ordered_json to_json(const Stats& stats);

/// A limit as it stands in JSON: null when unlimited.
[[nodiscard]] nlohmann::ordered_json limit_to_json(std::size_t limit);

/// A limit, a size or a time as it is shown to people: "64" or "unlimited", "12.5 MiB", "3.1 ms".
[[nodiscard]] std::string limit_in_words(std::size_t limit);
[[nodiscard]] std::string size_in_words(std::uint64_t bytes);
[[nodiscard]] std::string time_in_words(std::chrono::nanoseconds time);

/// Shows how far a run is: one line that is redrawn on a terminal, a line for each call elsewhere.
class Progress {
 public:
  explicit Progress(std::uint64_t total);
  /// Ends the redrawn line, so that what follows, an error too, starts on its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The heading of plain lines.
  void heading(const std::string& text) const;
  /// @param line  complete, for plain output; none when empty
  /// @param brief  what fits beside the bar
  void show(std::uint64_t done, const std::string& line, const std::string& brief);

 private:
  std::uint64_t total_;
  bool terminal_;
  bool drawn_ = false;
};

}  // namespace larder::cli
