#pragma once

#include <string>
#include <vector>

namespace breakeven::cli {

/// Columns as wide as their longest cell, two spaces apart; the first column is set left, numbers
/// right. Cells must be printable; widths count UTF-8 code points.
class Table {
public:
  explicit Table(std::vector<std::string> header) : m_rows{std::move(header)} {}
  void add(std::vector<std::string> row) { m_rows.push_back(std::move(row)); }
  void left(std::size_t column); ///< set this column left, as text
  [[nodiscard]] std::string text() const;

private:
  std::vector<std::vector<std::string>> m_rows;
  std::vector<std::size_t> m_left{0};
};

} // namespace breakeven::cli
