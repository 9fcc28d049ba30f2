// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

namespace larder::simulator {

namespace {

constexpr std::size_t field_count = 5;
// Bounds the memory that a file which is no trace at all can take.
constexpr std::size_t longest_line = 65536;

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most_shown = 60;
  std::string out = "'";
  for (const char c : text.substr(0, most_shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += text.size() > most_shown ? "...'" : "'";
  return out;
}

TraceReader::TraceReader(std::string path) : path_(std::move(path)), buffer_(longest_line + 1) {
  file_.reset(std::fopen(path_.c_str(), "rbe"));
  if (file_ == nullptr) {
    throw BadTrace(fmt::format("cannot open trace {}: {}", in_quotes(path_), std::generic_category().message(errno)));
  }
  const auto first = next_line();
  if (!first)
    throw BadTrace(fmt::format("trace {} is empty; its first line must be {}", in_quotes(path_), trace_header));
  if (*first != trace_header) reject(fmt::format("the header is {}; it must be {}", in_quotes(*first), trace_header));
}

bool TraceReader::next(TraceRow& row) {
  const auto text = next_line();
  if (!text) return false;

  const auto commas = static_cast<std::size_t>(std::count(text->begin(), text->end(), ','));
  if (commas + 1 != field_count) {
    reject(fmt::format("{} has {} field(s); expected the {} of {}", in_quotes(*text), commas + 1, field_count,
                       trace_header));
  }
  std::array<std::string_view, field_count> fields;
  std::string_view rest = *text;
  for (auto& field : fields) {
    const auto comma = rest.find(',');
    field = rest.substr(0, comma);
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }

  const std::int64_t time = number("time_ns", fields[0]);
  if (time < last_time_) {
    reject(fmt::format("time_ns {} is before the {} of the line before; sort the trace by time_ns", time, last_time_));
  }
  if (fields[1].empty()) reject("the key is empty");
  const std::int64_t bytes = number("bytes", fields[2]);
  const std::int64_t build = number("build_ns", fields[3]);
  const std::int64_t lease = number("lease_ns", fields[4]);
  if (lease > std::numeric_limits<std::int64_t>::max() - time) {
    reject(fmt::format("time_ns {} plus lease_ns {} is over 9223372036854775807", time, lease));
  }

  last_time_ = time;
  row.time = std::chrono::nanoseconds(time);
  row.key.assign(fields[1]);
  row.bytes = static_cast<std::size_t>(bytes);
  row.build = std::chrono::nanoseconds(build);
  row.lease = std::chrono::nanoseconds(lease);
  return true;
}

void TraceReader::reject(const std::string& fault) const {
  throw BadTrace(fmt::format("trace {} line {}: {}", in_quotes(path_), line_, fault));
}

std::optional<std::string_view> TraceReader::next_line() {
  std::size_t searched = 0;
  for (;;) {
    const char* const start = buffer_.data() + begin_;
    const std::size_t available = end_ - begin_;
    const void* const newline = std::memchr(start + searched, '\n', available - searched);
    if (newline != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - start);
      begin_ += length + 1;
      ++line_;
      return std::string_view(start, length);
    }
    if (at_end_of_file_) {
      if (available == 0) return std::nullopt;
      begin_ = end_;
      ++line_;
      return std::string_view(start, available);
    }
    if (available == buffer_.size()) {
      ++line_;
      reject(fmt::format("longer than {} bytes; this is not a trace", longest_line));
    }
    std::memmove(buffer_.data(), start, available);
    begin_ = 0;
    end_ = available;
    searched = available;
    const std::size_t added = std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, file_.get());
    end_ += added;
    bytes_read_ += added;
    if (std::ferror(file_.get()) != 0) {
      throw BadTrace(fmt::format("cannot read trace {}: {}", in_quotes(path_), std::generic_category().message(errno)));
    }
    at_end_of_file_ = std::feof(file_.get()) != 0;
  }
}

std::int64_t TraceReader::number(std::string_view field, std::string_view text) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (error == std::errc::result_out_of_range && whole) {
    reject(fmt::format("{} {} is out of range; give 0 to 9223372036854775807", field, in_quotes(text)));
  }
  if (error != std::errc{} || !whole) {
    reject(fmt::format("{} {} is not a whole number; give decimal digits only", field, in_quotes(text)));
  }
  // The sign is looked at, not the value: "-0" is not plain decimal either.
  if (text.front() == '-') reject(fmt::format("{} {} is negative; give 0 or more", field, in_quotes(text)));
  return value;
}

std::vector<TraceRow> read_trace(const std::string& path) {
  TraceReader reader(path);
  std::vector<TraceRow> rows;
  for (TraceRow row; reader.next(row);) rows.push_back(row);
  return rows;
}

}  // namespace larder::simulator
