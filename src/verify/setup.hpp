#pragma once

#include "calibrate/plan.hpp"
#include "compute/device_buffer.hpp"
#include "tier/tier.hpp"
#include "verify/verify.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace breakeven::verify {

/// A tier of the file and where it is tried.
struct TierChoice {
  std::size_t index = 0; ///< in BreakEvenFile::tiers
  std::string spec;      ///< "" = cannot be tried, for `reason`
  std::string reason;
  bool requested = false; ///< named by the user: failing to prepare it is an error
};

/// The tiers that the request names, or all, in the file's order. Throws error::usage for a name
/// that the file does not have or a spec that cannot be read.
std::vector<TierChoice> choose_tiers(const profile::BreakEvenFile& file, const Request& request);

/// The model of the file as calibration would read it. Throws error::environment when it is not to
/// be found, and error::bad_input when what is found is another one.
model::Architecture find_model(const profile::BreakEvenFile& file, const std::string& wanted);
/// What to call calibrate with for the same model.
calibrate::Request request_for(const profile::BreakEvenFile& file, const Request& request);

/// Sentences on what is not as it was when the file was made.
std::vector<std::string> node_differences(const profile::BreakEvenFile& file,
                                          const node::NodeFacts& here,
                                          const std::string& device_name);
std::vector<std::string> tier_differences(const profile::Tier& then, const tier::Tier& now);

} // namespace breakeven::verify
