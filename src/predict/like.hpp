#pragma once

#include "predict/predict.hpp"

namespace breakeven::predict {

/// Another model on a node that was measured: each time is scaled by the work of `request.model`
/// over that of the measured model, so that the utilisation measured at each size stays; the load
/// models stay as they are. Work is counted in FLOP, or by the roofline of `request.node` when
/// given, which also knows of weights that stream slower than they compute. `measured_model` is the
/// measured model's name or config.json when the file's own name finds none. The result is
/// "predicted". Throws error::usage and error::bad_input.
profile::BreakEvenFile predict_like(const profile::BreakEvenFile& measured, const Request& request,
                                    const std::string& measured_model = "");

} // namespace breakeven::predict
