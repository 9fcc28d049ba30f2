// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <limits>
#include <string_view>

#include "simulator/trace.hpp"

namespace larder::cli {

namespace {

struct Known {
  std::string_view name;
  std::unique_ptr<Backend> (*open)(const BackendSettings&);  // nullptr: left out of this build
  std::string_view how_to_get;
};

constexpr Known known[] = {
#ifdef LARDER_HAVE_FFTW
    {"fftw", open_fftw, ""},
#else
    {"fftw", nullptr, "install FFTW (Debian: libfftw3-dev) and build again"},
#endif
    {"cufft", open_cufft, ""},
    {"simulated", open_simulated, ""},
};

const Known& find(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(known), std::end(known), [&](const Known& k) { return k.name == name; });
  if (found == std::end(known)) {
    throw CLI::ValidationError(
        "--backend", fmt::format("{} is not a back end; give fftw, cufft or simulated", simulator::in_quotes(name)));
  }
  return *found;
}

}  // namespace

void add_backend(CLI::App& app, std::string& name) {
  app.add_option_function<std::string>(
         "--backend",
         [&name](const std::string& text) {
           name = text;
           static_cast<void>(find(text));
         },
         "Library that makes the plans: fftw, cufft (on the first GPU), or simulated (plans that cost only virtual "
         "time)")
      ->type_name("NAME")
      ->default_str(name);
}

std::unique_ptr<Backend> open_backend(const std::string& name, const BackendSettings& settings) {
  const Known& backend = find(name);
  if (backend.open == nullptr) {
    throw BadArguments(fmt::format("this build has no {} back end; {}", backend.name, backend.how_to_get));
  }
  return backend.open(settings);
}

std::int64_t largest_array_bytes(const BackendSettings& settings) {
  constexpr auto element = static_cast<std::int64_t>(sizeof(std::complex<double>));
  if (settings.largest_length > std::numeric_limits<std::ptrdiff_t>::max() / element / settings.batch) {
    throw BadArguments(
        fmt::format("an array of {} transforms of length {} does not fit into memory; ask for shorter lengths",
                    settings.batch, settings.largest_length));
  }
  return settings.largest_length * settings.batch * element;
}

}  // namespace larder::cli
