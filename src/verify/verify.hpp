#pragma once

#include "calibrate/progress.hpp"
#include "profile/profile.hpp"
#include "verify/report.hpp"

#include <stop_token>
#include <string>
#include <vector>

namespace breakeven::verify {

struct Request {
  std::string model;              ///< name or path; "" = what the file names
  std::string device;             ///< "" = what the file names
  std::vector<std::string> tiers; ///< NAME or NAME=SPEC; empty = all of the file
  double budget_s = 15;           ///< for everything
  int threads = 0;                ///< 0 = what affinity and cgroup quota allow
};

/// Measures on this node what `file` predicts. Throws error::environment when the device, the model
/// or every tier is not to be had here, error::bad_input when the model here is not the file's,
/// error::usage for a tier that the file does not have, and calibrate::Interrupted.
Report verify(const profile::BreakEvenFile& file, const Request& request,
              calibrate::Progress& progress, std::stop_token stop);

} // namespace breakeven::verify
