// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <larder/budget.hpp>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "arguments.hpp"
#include "simulator/trace.hpp"

namespace larder::cli {

using simulator::in_quotes;

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::string temporary_beside(const std::string& path) { return fmt::format("{}.{}.tmp", path, ::getpid()); }

/// Whether a file of that name can be made; it is removed again. 0 or the error number.
int try_to_make(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "wxe");
  if (file == nullptr) return errno;
  std::fclose(file);
  std::remove(path.c_str());
  return 0;
}

}  // namespace

OutputPath::OutputPath(const std::string& option, std::string path) : path_(std::move(path)) {
  const auto refuse = [&](const std::string& why) {
    throw BadArguments(fmt::format("{}: cannot write {}: {}", option, in_quotes(path_), why));
  };
  if (path_.empty()) refuse("the name is empty");

  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) refuse("it is a directory");
  if (fs::exists(status)) {
    if (::access(path_.c_str(), W_OK) != 0) refuse(reason(errno));
    in_place_ = !fs::is_regular_file(status);
    if (in_place_) return;
    // A rename must replace the file that a link points to, not the link.
    path_ = fs::canonical(path_, error).string();
    if (error) refuse(error.message());
  }
  if (const int failed = try_to_make(temporary_beside(path_)); failed != 0) refuse(reason(failed));
}

OutputFile::OutputFile(const OutputPath& path)
    : path_(path), written_(path.in_place_ ? path.path_ : temporary_beside(path.path_)) {
  file_.reset(std::fopen(written_.c_str(), path_.in_place_ ? "we" : "wxe"));
  if (file_ == nullptr) fail(errno);
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && !path_.in_place_) std::remove(written_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail(errno);
}

void OutputFile::commit() {
  // Only closing tells that the last of it was written.
  int error = std::fclose(file_.release()) != 0 ? errno : 0;
  if (path_.in_place_) {
    if (error != 0) fail(error);
    return;
  }
  if (error == 0 && std::rename(written_.c_str(), path_.path_.c_str()) != 0) error = errno;
  if (error == 0) return;
  std::remove(written_.c_str());
  fail(error);
}

void OutputFile::fail(int error) const {
  throw std::runtime_error(fmt::format("cannot write {}: {}", in_quotes(path_.path_), reason(error)));
}

JsonFile::JsonFile(const std::optional<std::string>& path) {
  if (path) path_.emplace("--json", *path);
}

void JsonFile::write(const nlohmann::ordered_json& value) const {
  if (!path_) return;
  OutputFile file(*path_);
  file.write(value.dump(2) + "\n");
  file.commit();
}

nlohmann::ordered_json to_json(const Stats& stats) {
  nlohmann::ordered_json evictions = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < eviction_causes; ++i) {
    evictions[std::string(to_string(static_cast<EvictionCause>(i)))] = stats.evictions[i];
  }
  return {{"hits", stats.hits},
          {"misses", stats.misses},
          {"builds", stats.builds},
          {"build_failures", stats.build_failures},
          {"rebuilds", stats.rebuilds},
          {"build_ns", stats.build_time.count()},
          {"evictions", evictions},
          {"destroys", stats.destroys},
          {"destroy_failures", stats.destroy_failures},
          {"abandoned", stats.abandoned},
          {"idle", stats.idle},
          {"idle_keys", stats.idle_keys},
          {"leased", stats.leased},
          {"live", stats.live},
          {"idle_bytes", stats.idle_bytes},
          {"leased_bytes", stats.leased_bytes},
          {"peak_live", stats.peak_live},
          {"peak_live_bytes", stats.peak_live_bytes}};
}

nlohmann::ordered_json limit_to_json(std::size_t limit) {
  if (limit == Budget::unlimited) return nullptr;
  return limit;
}

std::string limit_in_words(std::size_t limit) {
  return limit == Budget::unlimited ? "unlimited" : std::to_string(limit);
}

std::string size_in_words(std::uint64_t bytes) {
  constexpr double kib = 1024;
  const auto size = static_cast<double>(bytes);
  if (size < kib) return fmt::format("{} B", bytes);
  if (size < kib * kib) return fmt::format("{:.1f} KiB", size / kib);
  return fmt::format("{:.1f} MiB", size / (kib * kib));
}

std::string time_in_words(std::chrono::nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

Progress::Progress(std::uint64_t total) : total_(total), terminal_(::isatty(STDOUT_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) {
    std::fputc('\n', stdout);
    std::fflush(stdout);
  }
}

void Progress::heading(const std::string& text) const {
  if (!terminal_) std::fprintf(stdout, "%s\n", text.c_str());
}

void Progress::show(std::uint64_t done, const std::string& line, const std::string& brief) {
  if (!terminal_) {
    if (!line.empty()) std::fprintf(stdout, "%s\n", line.c_str());
    return;
  }
  constexpr std::size_t width = 24;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
  // Carriage return and "erase to end of line", so that a shorter line leaves nothing of a longer one.
  std::fprintf(stdout, "\r\x1b[K[%s] %s", bar.c_str(), brief.c_str());
  std::fflush(stdout);
  drawn_ = true;
}

}  // namespace larder::cli
