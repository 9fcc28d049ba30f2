// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the subcommands report: JSON files, statistics, sizes and a progress bar.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <larder/stats.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace larder::cli {

/// A JSON file that appears whole or not at all.
///
/// The constructor refuses a path that cannot be written, before any work is done; write() puts the text beside the
/// path and renames it. A device or pipe, which a rename would replace, is written to directly.
class JsonFile {
 public:
  /// @param path  nullopt for none: write() then does nothing
  /// @throws BadArguments
  explicit JsonFile(std::optional<std::string> path);

  /// @throws std::runtime_error; the path is then as it was before
  void write(const nlohmann::ordered_json& value) const;

 private:
  std::optional<std::string> path_;
  bool in_place_ = false;
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
  /// @param line  complete, for plain output
  /// @param brief  what fits beside the bar
  void show(std::uint64_t done, const std::string& line, const std::string& brief);

 private:
  std::uint64_t total_;
  bool terminal_;
  bool drawn_ = false;
};

}  // namespace larder::cli
