// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The offline bound: what no cache, however clever and however well it knows the future, can build less than.
//
// A handle that was returned and is asked for again may be kept in between, which saves its build and takes its place in
// the budget for that time. Each request is matched with the latest return of its key that is not matched yet; some
// matched pairs fit into the budget together, some do not. The best choice of fractions of pairs is a linear program
// over time, and so a flow of minimum cost: the budget flows along a line of moments, and a pair is an arc past the
// moments it spans. Prices of the moments, the dual of that program, give a bound that holds whether or not the solver
// found the very best ones; choosing whole pairs, dearest per byte first, gives a schedule that is feasible.
#pragma once

#include <chrono>
#include <larder/budget.hpp>
#include <vector>

#include "trace.hpp"

namespace larder::simulator {

/// What the best schedule for a trace costs lies between the two.
struct OfflineBound {
  std::chrono::nanoseconds bound;     ///< no schedule builds for less
  std::chrono::nanoseconds feasible;  ///< one that knows the future builds for this
};

/// Bounds the time that any cache spends building on a trace.
///
/// Takes time and memory in proportion to the rows and more; for traces of up to some 100 000 rows. With limits on
/// handles and on bytes, `bound` is the larger of the two bounds and `feasible` keeps to both. A key whose rows differ in
/// bytes counts with its smallest in `bound` and its largest in `feasible`.
///
/// @param rows    in order of time
/// @param budget  limits on idle handles, `max_idle` and `max_idle_bytes`; others are ignored, unset ones are unlimited
/// @throws InvalidArgument when the builds of all rows take more time than can be counted
[[nodiscard]] OfflineBound offline_bound(const std::vector<TraceRow>& rows, const Budget& budget);

}  // namespace larder::simulator
