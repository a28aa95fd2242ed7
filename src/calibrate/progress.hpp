#pragma once

#include <chrono>
#include <string>

namespace breakeven::calibrate {

/// Progress on stderr: a bar with the time left on a terminal, a plain line per stage elsewhere.
class Progress {
public:
  enum class Mode { automatic, quiet };
  Progress(Mode mode, double budget_s);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void stage(const std::string& name);  ///< "building llama-3.2-1b", ...
  void update(const std::string& what); ///< at most ten times a second on a terminal, else silent
  void warn(const std::string& sentence);
  [[nodiscard]] double elapsed_s() const;

private:
  void clear_line();

  bool m_quiet;
  bool m_terminal;
  double m_budget_s;
  std::chrono::steady_clock::time_point m_start, m_last_draw;
  std::string m_stage;
  bool m_drawn = false;
};

} // namespace breakeven::calibrate
