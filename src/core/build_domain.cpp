// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/build_domain.hpp>

#include "domain_state.hpp"

namespace larder {

struct BuildDomain::State : detail::DomainState {};

BuildDomain::BuildDomain() : state_(std::make_unique<State>()) {}
BuildDomain::~BuildDomain() = default;
void BuildDomain::lock() { state_->lock(); }
void BuildDomain::unlock() { state_->unlock(); }

}  // namespace larder
