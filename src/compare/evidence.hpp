#pragma once

#include "compare/compare.hpp"
#include "compare/pairs.hpp"

#include <string>
#include <vector>

/// How strongly the samples of two files say that a quantity differs. Internal to the room.
namespace breakeven::compare {

/// A difference in cost (positive = NEW is slower) with one standard deviation of each side, in
/// one unit: logarithms for times and bandwidths, seconds for constants that may be 0.
struct Evidence {
  bool judged = false;
  double difference = 0;
  double base_deviation = 0, next_deviation = 0; ///< within the run
  double drift = 0;                              ///< of one run against another
  double wake_up = 0;   ///< the part of the drift that no better measurement would take away
  double effect = 0;    ///< relative change of the quantity
  double relevance = 1; ///< change of a load or step per unit of effect; at most 1
  double per_unit = 1;  ///< effect per unit of difference, for small ones
  bool logarithmic = true;
  double p = 1;
  double rank_p = -1;
  std::string unjudged; ///< why not judged
};

/// Appends one quantity and its evidence per pair.
void weigh_sampled(const std::vector<SampledPair>& pairs, const Options& options,
                   std::vector<Quantity>& quantities, std::vector<Evidence>& evidence);
void weigh_fitted(const std::vector<FittedPair>& pairs, const Options& options,
                  std::vector<Quantity>& quantities, std::vector<Evidence>& evidence);

/// Sets verdict, reason and `detectable` from the evidence and the corrected p of the quantity.
void decide(Quantity& quantity, const Evidence& evidence, const Options& options);

} // namespace breakeven::compare
