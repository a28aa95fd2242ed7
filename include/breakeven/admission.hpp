#pragma once

/// \file
/// Should an engine load a stored KV-cache prefix, or compute it again? C++17, std only, noexcept,
/// no allocation, no locks, no clock, no I/O; clean under -fno-exceptions -fno-rtti.
///
///     breakeven::Policy policy = ...;                       // policy_file.hpp reads one
///     breakeven::TierId tier = policy.find_tier("memory");  // once
///     if (policy.should_load(tier, breakeven::Tokens(4096))) ...            // the threshold
///     auto d = decide(policy, {breakeven::Tokens(6000), tier, breakeven::Tokens(4096)});
///     if (d.load) load_prefix(d.load_tokens);                               // the whole answer

#include "breakeven/decide.hpp"
#include "breakeven/plan.hpp"
#include "breakeven/policy.hpp"
#include "breakeven/query.hpp"
#include "breakeven/step_curve.hpp"
#include "breakeven/types.hpp"
