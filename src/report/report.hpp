#pragma once

#include "profile/profile.hpp"
#include "report/plot.hpp"

#include <string>
#include <vector>

/// Break-even files as pictures: the plots as values, a self-contained HTML page, one SVG.
/// Everything from a file is escaped; nothing here reads or writes files.
namespace breakeven::report {

struct Input {
  std::string label; ///< tells files apart; unique, see label_files
  profile::BreakEvenFile file;
};

/// Short unique labels of paths: file names without ".json", numbered where equal.
std::vector<std::string> label_files(const std::vector<std::string>& paths);

/// All plots, in the order of the page. The curves come from fit::PrefillCurve and fit::LoadFit,
/// as the decisions do; their intervals are those in the files.
std::vector<Plot> plots(const std::vector<Input>& inputs);
/// recompute and load times over prefix length alone; the first of plots().
Plot times_plot(const std::vector<Input>& inputs);

/// A page without network access: style, data and scripts are in it. `nonce` marks its own scripts
/// for the content security policy: letters and digits that nobody who wrote a file can foresee.
std::string page(const std::vector<Input>& inputs, const std::string& nonce);

/// A picture of one plot on its own, light, 900 x 560.
std::string svg(const Plot& plot);

/// "6,057 tokens (5,900 to 6,210)", "always (from 128 tokens)", "never up to 32,768 tokens", ...
std::string break_even_text(const profile::BreakEven& answer, std::int64_t longest_tokens);

/// Text between tags or in a quoted attribute of HTML and XML; control characters are replaced.
std::string escaped(std::string_view text);

/// The data of the page's script: ASCII, and without '<', '>' and '&', so that no string in it can
/// end the script element.
std::string data_json(const std::vector<Input>& inputs, const std::vector<Plot>& plots);

} // namespace breakeven::report
