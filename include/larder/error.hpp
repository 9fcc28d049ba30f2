// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exceptions of larder: one hierarchy under larder::Error.
//
//   Error
//     InvalidArgument     a value given to larder makes no sense
//       InvalidSpec       a plan description is meaningless or unsupported; the back end was not called
//     BuildFailed         a back end refused to create a handle
//     UnknownHandle       a checked-in handle is not out on loan from this cache
//     BackendUnavailable  a library or device was not found
//     WouldBuild          a handle would have to be built where building is forbidden (stream capture)
//     DeadlineExceeded    no handle came free, or the build of a shared one was not done, before the deadline
//     Closed              the cache is being destroyed
//
// Nothing throws from a destructor or from the return of a lease.
#pragma once

#include <stdexcept>
#include <string>

namespace larder {

/// Root of every exception that larder itself throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value given to larder makes no sense; the message names the value and what is allowed.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A plan description is meaningless or not supported by the back end, which was not called.
class InvalidSpec : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Whether a failed create may succeed once memory has been given back.
enum class Retry : bool { no, after_reclaim };

/// A back end refused to create a handle.
class BuildFailed : public Error {
 public:
  /// @param backend    name of the library, for example "cufft"
  /// @param code       the library's own error code
  /// @param code_name  the library's name of that code, for example "CUFFT_ALLOC_FAILED"
  /// @param key        the key in words
  /// @param retry      after_reclaim makes the cache give up the idle handles of the same context and try once more
  BuildFailed(std::string backend, long code, std::string code_name, std::string key, Retry retry = Retry::no);

  [[nodiscard]] const std::string& backend() const noexcept { return backend_; }
  [[nodiscard]] long code() const noexcept { return code_; }
  [[nodiscard]] const std::string& code_name() const noexcept { return code_name_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] Retry retry() const noexcept { return retry_; }

 private:
  std::string backend_;
  long code_;
  std::string code_name_;
  std::string key_;
  Retry retry_;
};

/// A handle was checked in that is not out on loan from this cache; the message names the handle.
class UnknownHandle : public Error {
 public:
  using Error::Error;
};

/// A library or device was not found; the message says what was looked for and how to point at it.
class BackendUnavailable : public Error {
 public:
  using Error::Error;
};

/// A handle would have to be built where building is forbidden; the message names the key and says `prewarm`.
class WouldBuild : public Error {
 public:
  using Error::Error;
};

/// When the deadline passed, every handle that Options::max_live allows was still leased, or another thread was still
/// building the shared handle.
class DeadlineExceeded : public Error {
 public:
  using Error::Error;
};

/// The cache was destroyed while a call on it was waiting.
class Closed : public Error {
 public:
  using Error::Error;
};

}  // namespace larder
