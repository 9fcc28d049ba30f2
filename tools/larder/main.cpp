// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder: the command line.
//
// Exit codes: 0 done; 1 the run failed; 2 bad arguments or bad input. A failure is one line on stderr.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <larder/error.hpp>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "simulator/trace.hpp"

namespace {

enum ExitCode : int { done = 0, run_failed = 1, bad_arguments = 2 };

/// A message of any library on the one line that a failure takes.
ExitCode fail(ExitCode code, std::string message) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fflush(stdout);
  std::fprintf(stderr, "larder: %s\n", message.c_str());
  return code;
}

ExitCode run(int argc, const char* const* argv) {
  CLI::App app("Keeps library handles that are expensive to make, for reuse, inside a bound.", "larder");
  app.set_version_flag("--version", "larder " LARDER_VERSION);
  app.footer("Example:\n  larder churn --count 6000 --max-idle 64\n\nlarder COMMAND --help describes a command.");
  app.require_subcommand(0, 1);
  const std::vector<larder::cli::Command> commands = {
      larder::cli::add_churn(app),   larder::cli::add_hotcold(app), larder::cli::add_replay(app),
      larder::cli::add_trace(app),   larder::cli::add_suite(app),   larder::cli::add_compare(app),
      larder::cli::add_doctor(app),
#ifdef LARDER_HAVE_FFTW
      larder::cli::add_measure(app), larder::cli::add_execute(app),
#endif
  };

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    app.exit(help_or_version);
    return done;
  } catch (const CLI::ParseError& error) {
    return fail(bad_arguments, error.what());
  }

  for (const larder::cli::Command& command : commands) {
    if (command.app->parsed()) {
      command.run();
      return done;
    }
  }
  std::fputs(app.help().c_str(), stdout);
  return bad_arguments;
}

ExitCode run_and_classify(int argc, const char* const* argv) {
  try {
    return run(argc, argv);
  } catch (const larder::cli::BadArguments& error) {
    return fail(bad_arguments, error.what());
  } catch (const larder::simulator::BadTrace& error) {
    return fail(bad_arguments, error.what());
  } catch (const larder::InvalidArgument& error) {
    return fail(bad_arguments, error.what());
  } catch (const std::bad_alloc&) {
    return fail(run_failed, "out of memory");
  } catch (const std::exception& error) {
    return fail(run_failed, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const ExitCode code = run_and_classify(argc, argv);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return code == done ? fail(run_failed, "cannot write to standard output") : code;
  }
  return code;
}
