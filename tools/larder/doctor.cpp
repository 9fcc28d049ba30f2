// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder doctor: which libraries and devices are there, in which version, and if not, why.
//
// Looks at the machine only: what is missing is reported, never an error.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <larder/budget.hpp>
#include <larder/gpu/cuda.hpp>
#include <larder/policy.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "arguments.hpp"
#include "simulator/trace.hpp"

namespace larder::cli {

using simulator::in_quotes;

namespace {

std::optional<std::string> path_of(void* library) {
  const link_map* loaded = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&loaded)) != 0 || *loaded->l_name == '\0')
    return std::nullopt;
  return std::string(loaded->l_name);
}

/// A library loaded for as long as it is asked for its version; handle is nullptr when it was not found.
class Probe {
 public:
  /// @param variable  environment variable that names the file, used alone when it is set
  Probe(const char* variable, const std::vector<std::string>& sonames) {
    const char* const chosen = std::getenv(variable);
    const auto names = chosen != nullptr ? std::vector<std::string>{chosen} : sonames;
    for (const std::string& name : names) {
      handle_ = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (handle_ != nullptr) {
        name_ = path_of(handle_).value_or(name);
        return;
      }
      const char* const why = ::dlerror();
      // The newest name is the one to report: a machine without it says the same of the older ones.
      if (why_not_.empty()) why_not_ = why != nullptr ? why : "cannot load it";
    }
  }
  // A library that started threads or a driver does not survive being unloaded, so it stays until the process ends.
  ~Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  [[nodiscard]] bool found() const noexcept { return handle_ != nullptr; }
  /// The file, as far as the loader tells.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

  /// The symbol as a pointer to T, or nullptr.
  template <class T>
  [[nodiscard]] T* symbol(const char* name) const noexcept {
    return reinterpret_cast<T*>(::dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
  std::string name_;
  std::string why_not_;
};

// Version readers: nullopt when the library does not answer.
using VersionReader = std::optional<std::string> (*)(const Probe&, const char* symbol);

// "major.minor.patch" from a function such as cufftGetProperty(0 major, 1 minor, 2 patch).
std::optional<std::string> version_by_property(const Probe& library, const char* symbol) {
  auto* const property = library.symbol<int(int, int*)>(symbol);
  if (property == nullptr) return std::nullopt;
  int part[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (property(i, &part[i]) != 0) return std::nullopt;
  }
  return fmt::format("{}.{}.{}", part[0], part[1], part[2]);
}

// CUDA packs 12.4 as 12040.
std::optional<std::string> version_of_cuda(const Probe& library, const char* symbol) {
  auto* const read = library.symbol<int(int*)>(symbol);
  int packed = 0;
  if (read == nullptr || read(&packed) != 0) return std::nullopt;
  return fmt::format("{}.{}", packed / 1000, packed % 1000 / 10);
}

// HIP packs 6.1.40091 as 60140091.
std::optional<std::string> version_of_hip(const Probe& library, const char* symbol) {
  auto* const read = library.symbol<int(int*)>(symbol);
  int packed = 0;
  if (read == nullptr || read(&packed) != 0) return std::nullopt;
  return fmt::format("{}.{}.{}", packed / 10000000, packed / 100000 % 100, packed % 100000);
}

std::optional<std::string> version_in_text(const Probe& library, const char* symbol) {
  auto* const text = library.symbol<int(char*, std::size_t)>(symbol);
  char buffer[256] = {};
  if (text == nullptr || text(buffer, sizeof buffer - 1) != 0) return std::nullopt;
  return std::string(buffer);
}

std::optional<std::string> version_of_fftw(const Probe& library, const char* symbol) {
  const auto* const text = library.symbol<const char>(symbol);
  if (text == nullptr) return std::nullopt;
  return std::string(text);
}

struct Library {
  const char* name;
  const char* variable;
  std::vector<std::string> sonames;  // newest first
  VersionReader read_version;
  const char* version_symbol;
};

void report(const Library& library) {
  const Probe probe(library.variable, library.sonames);
  if (!probe.found()) {
    fmt::print("  {:<16}not found ({}); set {} to its file\n", library.name, probe.why_not(), library.variable);
    return;
  }
  const auto version =
      library.read_version != nullptr ? library.read_version(probe, library.version_symbol) : std::nullopt;
  fmt::print("  {:<16}{} ({})\n", library.name, version.value_or("version unknown"), probe.name());
}

/// One precision of FFTW: the planner, and the threads library beside it.
void report_fftw(const char* precision, const std::string& prefix, const char* variable) {
  const std::string stem = "lib" + prefix;
  const Probe planner(variable, {stem + ".so.3"});
  if (!planner.found()) {
    fmt::print("  {:<16}not found ({}); set {} to its file\n", precision, planner.why_not(), variable);
    return;
  }
  // fftwf_version for libfftw3f: the 3 is in the library's name only.
  std::string symbols = prefix;
  symbols.erase(symbols.find('3'), 1);
  const auto version = version_of_fftw(planner, (symbols + "_version").c_str());
  const std::string threads_variable =
      std::string(variable).replace(std::string_view(variable).find("_LIBRARY"), std::string::npos, "_THREADS_LIBRARY");
  const Probe threads(threads_variable.c_str(), {stem + "_threads.so.3"});
  fmt::print("  {:<16}{} ({}); {}\n", precision, version.value_or("version unknown"), planner.name(),
             threads.found() ? fmt::format("threads: {}", threads.name())
                             : fmt::format("no threads library ({})", threads.why_not()));
}

void report_cuda_devices() {
  try {
    const gpu::CudaInstallation installation = gpu::cuda_installation();
    for (std::size_t i = 0; i < installation.devices.size(); ++i) {
      const gpu::CudaDevice& device = installation.devices[i];
      fmt::print("  NVIDIA {:<9}{}, {} MiB\n", i, device.name, device.memory >> 20U);
    }
  } catch (const Error& missing) {
    const std::string why = missing.what();
    fmt::print("  {:<16}none: {}\n", "NVIDIA", why.substr(0, why.find(';')));
  }
}

void report_hip_devices() {
  const Probe runtime("LARDER_AMDHIP64_LIBRARY", {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"});
  auto* const count_of = runtime.found() ? runtime.symbol<int(int*)>("hipGetDeviceCount") : nullptr;
  if (count_of == nullptr) {
    fmt::print("  {:<16}none: the HIP runtime was not found\n", "AMD");
    return;
  }
  int count = 0;
  if (const int error = count_of(&count); error != 0 || count == 0) {
    fmt::print("  {:<16}none: hipGetDeviceCount gave error {}, count {}\n", "AMD", error, count);
    return;
  }
  fmt::print("  {:<16}{} device(s)\n", "AMD", count);
}

bool names_a_file(std::string_view path) { return ::access(std::string(path).c_str(), R_OK) == 0; }

struct Variable {
  bool (*well_formed)(std::string_view);
  const char* expected;
};

const std::map<std::string, Variable, std::less<>>& variables() {
  static const std::map<std::string, Variable, std::less<>> table = [] {
    const Variable count{[](std::string_view text) { return parse_count(text).has_value(); },
                         "a count such as 64, or unlimited"};
    return std::map<std::string, Variable, std::less<>>{
        {"LARDER_MAX_IDLE", count},
        {"LARDER_MAX_IDLE_PER_KEY", count},
        {"LARDER_MAX_LIVE", count},
        {"LARDER_MAX_IDLE_BYTES",
         {[](std::string_view text) { return parse_bytes(text).has_value(); },
          "a size such as 1048576 or 256MiB, or unlimited"}},
        {"LARDER_MAX_IDLE_AGE",
         {[](std::string_view text) { return parse_duration(text).has_value(); },
          "a duration such as 250ms, 30s or 5min, or unlimited"}},
        {"LARDER_POLICY", {[](std::string_view text) { return Policy::find(text) != nullptr; }, "value, lru or gds"}},
    };
  }();
  return table;
}

std::string judge(std::string_view name, std::string_view value) {
  constexpr std::string_view library = "_LIBRARY";
  if (name.size() > library.size() && name.substr(name.size() - library.size()) == library) {
    return names_a_file(value) ? "a file that can be read" : "no such file, or it cannot be read";
  }
  const auto known = variables().find(name);
  if (known == variables().end()) return "not a variable that larder knows; check the spelling";
  if (!known->second.well_formed(value)) return fmt::format("malformed and ignored; give {}", known->second.expected);
  return "ok";
}

void report_environment() {
  constexpr std::string_view ours = "LARDER_";
  std::vector<std::string_view> seen;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.substr(0, ours.size()) == ours) seen.push_back(text);
  }
  std::sort(seen.begin(), seen.end());
  fmt::print("environment\n");
  if (seen.empty()) fmt::print("  no LARDER_* variable is set\n");
  for (const std::string_view text : seen) {
    const auto equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
    fmt::print("  {}={}: {}\n", name, in_quotes(value), judge(name, value));
  }
}

void run_doctor() {
  fmt::print("larder {}, {} CPU(s)\n", LARDER_VERSION, std::thread::hardware_concurrency());

  fmt::print("FFTW\n");
#ifdef LARDER_HAVE_FFTW
  fmt::print("  {:<16}in this build\n", "back end");
#else
  fmt::print("  {:<16}not in this build; install FFTW (Debian: libfftw3-dev) and build again\n", "back end");
#endif
  report_fftw("double", "fftw3", "LARDER_FFTW3_LIBRARY");
  report_fftw("single", "fftw3f", "LARDER_FFTW3F_LIBRARY");
  report_fftw("long double", "fftw3l", "LARDER_FFTW3L_LIBRARY");

  fmt::print("GPU libraries\n");
  const std::vector<Library> libraries = {
      {"cuda", "LARDER_CUDA_LIBRARY", {"libcuda.so.1"}, version_of_cuda, "cuDriverGetVersion"},
      {"cudart",
       "LARDER_CUDART_LIBRARY",
       {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"},
       version_of_cuda,
       "cudaRuntimeGetVersion"},
      {"cufft",
       "LARDER_CUFFT_LIBRARY",
       {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10"},
       version_by_property,
       "cufftGetProperty"},
      {"cublas",
       "LARDER_CUBLAS_LIBRARY",
       {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"},
       version_by_property,
       "cublasGetProperty"},
      {"cusolver",
       "LARDER_CUSOLVER_LIBRARY",
       {"libcusolver.so.12", "libcusolver.so.11"},
       version_by_property,
       "cusolverGetProperty"},
      {"cusparse",
       "LARDER_CUSPARSE_LIBRARY",
       {"libcusparse.so.12", "libcusparse.so.11"},
       version_by_property,
       "cusparseGetProperty"},
      {"curand", "LARDER_CURAND_LIBRARY", {"libcurand.so.10"}, version_by_property, "curandGetProperty"},
      {"cudnn", "LARDER_CUDNN_LIBRARY", {"libcudnn.so.9", "libcudnn.so.8"}, version_by_property, "cudnnGetProperty"},
      {"amdhip64",
       "LARDER_AMDHIP64_LIBRARY",
       {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
       version_of_hip,
       "hipRuntimeGetVersion"},
      {"rocfft", "LARDER_ROCFFT_LIBRARY", {"librocfft.so.0"}, version_in_text, "rocfft_get_version_string"},
      {"hipfft", "LARDER_HIPFFT_LIBRARY", {"libhipfft.so.0"}, version_by_property, "hipfftGetProperty"},
      {"rocblas",
       "LARDER_ROCBLAS_LIBRARY",
       {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0"},
       version_in_text,
       "rocblas_get_version_string"},
  };
  for (const Library& library : libraries) report(library);

  fmt::print("GPU devices\n");
  report_cuda_devices();
  report_hip_devices();

  report_environment();
}

}  // namespace

Command add_doctor(CLI::App& app) {
  CLI::App& sub = *app.add_subcommand("doctor", "Tell which libraries and devices were found, and why not");
  sub.footer(
      "Each library is looked for under its known names, newest first, or only in the file that LARDER_<LIB>_LIBRARY\n"
      "names. A library that is missing is no error.\n\n"
      "Example:\n"
      "  LARDER_CUFFT_LIBRARY=/opt/cuda/lib64/libcufft.so.12 larder doctor");
  return {&sub, run_doctor};
}

}  // namespace larder::cli
