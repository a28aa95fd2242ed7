#pragma once

#include "model/architecture.hpp"
#include "model/config.hpp"
#include "model/dtype.hpp"
#include "model/layer_builder.hpp"
#include "support/registry.hpp"

#include <cstdint>
#include <string>

namespace breakeven::model {

/// An Architecture in the making: what a family's reader fills in, layer by layer.
class Draft {
public:
  /// `outer` is the whole file, which for a multimodal model holds `text` under a key; for others
  /// both are the same object.
  Draft(const Config& text, const Config& outer, Architecture start, Ranks ranks)
      : m_text(&text), m_outer(&outer), m_model(std::move(start)), m_ranks(ranks) {}

  /// A size that a complete file states. Inside a nested text config, whose published files leave
  /// out what equals the library's default for the model_type, that default is taken and noted as
  /// an assumption; elsewhere the file is refused.
  [[nodiscard]] std::int64_t core(std::string_view keys, std::int64_t library_default);
  /// The same for keys that published top-level files leave out too.
  [[nodiscard]] std::int64_t library(std::string_view keys, std::int64_t library_default);
  [[nodiscard]] std::int64_t layer_count(std::string_view keys, std::int64_t library_default);
  [[nodiscard]] bool tied(bool library_default) const;
  void assume(const std::string& sentence);

  [[nodiscard]] LayerBuilder layer() const { return LayerBuilder(m_model.hidden, m_ranks); }
  void add(const LayerBuilder& layer);

  void hidden(std::int64_t n) { m_model.hidden = n; }
  /// Token embedding and LM head, one matrix when tied; a bias of the head when it has one.
  void vocabulary(std::int64_t size, bool tied, bool head_bias = false);
  /// Weights outside the layers: final norm, position table.
  void parameters(std::int64_t n);
  /// The sum of weights is not known for certain: the totals stay empty.
  void parameters_uncertain() { m_certain = false; }
  void max_position(std::int64_t tokens) { m_model.max_position_tokens = tokens; }

  [[nodiscard]] const Config& text() const { return *m_text; }
  [[nodiscard]] const Config& outer() const { return *m_outer; }
  [[nodiscard]] const Architecture& model() const { return m_model; }
  [[nodiscard]] Ranks ranks() const { return m_ranks; }
  /// Element type of recurrent state: the file's own key, or the activations'.
  [[nodiscard]] DType state_dtype() const;

  [[nodiscard]] Architecture finish() const;

private:
  const Config* m_text;
  const Config* m_outer;
  Architecture m_model;
  Ranks m_ranks;
  bool m_certain = true;
};

/// Reads one family of architectures into the draft. Throws error_kind::bad_input naming what the
/// file lacks.
struct Family {
  const char* name;
  void (*read)(const Config& config, Draft& draft);
};

/// Readers by `model_type`, also by the model_type of a multimodal model's text part.
const registry<Family>& families();

} // namespace breakeven::model
