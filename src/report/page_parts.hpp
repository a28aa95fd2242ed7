#pragma once

#include "report/report.hpp"

#include <string>
#include <vector>

/// Internal to the room: parts of the page that need no script, as HTML.
namespace breakeven::report {

/// Rows: the x of plot.rows; one column for each line. Under it the marks.
std::string plot_table(const Plot& plot);
/// From which length on each tier of each file wins, and its load model.
std::string verdict_section(const std::vector<Input>& inputs);
std::string warning_section(const std::vector<Input>& inputs); ///< "" when there are none
/// How each file came to be: tool, node, model, kernels, tiers.
std::string provenance_section(const std::vector<Input>& inputs);

} // namespace breakeven::report
