#include "model/draft.hpp"

#include <algorithm>

namespace breakeven::model {

std::int64_t Draft::core(std::string_view keys, std::int64_t library_default) {
  return m_text->prefix().empty() ? m_text->count(keys) : library(keys, library_default);
}

std::int64_t Draft::library(std::string_view keys, std::int64_t library_default) {
  if (m_text->has(keys)) return m_text->count(keys);
  assume("'" + m_text->prefix() + std::string(keys.substr(0, keys.find('|'))) +
         "' is not in the file: " + std::to_string(library_default) +
         ", the library's default for this model_type.");
  return library_default;
}

std::int64_t Draft::layer_count(std::string_view keys, std::int64_t library_default) {
  const std::int64_t layers = core(keys, library_default);
  if (layers > max_layers)
    m_text->refuse("'" + m_text->prefix() + std::string(keys.substr(0, keys.find('|'))) + "' is " +
                   std::to_string(layers) + ", more than " + std::to_string(max_layers));
  m_model.layers = layers;
  return layers;
}

bool Draft::tied(bool library_default) const {
  if (m_text->has("tie_word_embeddings")) return m_text->flag("tie_word_embeddings", false);
  return m_outer->flag("tie_word_embeddings", library_default);
}

void Draft::assume(const std::string& sentence) {
  std::vector<std::string>& known = m_model.assumptions;
  if (std::find(known.begin(), known.end(), sentence) == known.end()) known.push_back(sentence);
}

void Draft::add(const LayerBuilder& layer) {
  LayerKind kind = layer.finish();
  for (LayerKind& known : m_model.kinds) {
    kind.count = known.count;
    if (!(kind == known)) continue;
    ++known.count;
    return;
  }
  kind.count = 1;
  m_model.kinds.push_back(std::move(kind));
}

void Draft::vocabulary(std::int64_t size, bool tied_head, bool head_bias) {
  m_model.vocabulary = {size, tied_head};
  parameters(times(times(size, m_model.hidden), tied_head ? 1 : 2));
  if (head_bias) parameters(size);
}

void Draft::parameters(std::int64_t n) {
  m_model.parameters = plus(m_model.parameters, n);
  m_model.active_parameters = plus(m_model.active_parameters, n);
}

DType Draft::state_dtype() const {
  const std::string name = m_text->text("mamba_ssm_cache_dtype|mamba_ssm_dtype", "");
  return name.empty() || name == "auto" ? m_model.activation_dtype
                                        : parse_dtype(name, m_text->where());
}

Architecture Draft::finish() const {
  Architecture result = m_model;
  std::int64_t layers = 0;
  for (const LayerKind& kind : result.kinds) {
    layers += kind.count;
    result.parameters = plus(result.parameters, times(kind.parameters, kind.count));
    result.active_parameters =
        plus(result.active_parameters, times(kind.active_parameters, kind.count));
  }
  result.layers = layers;
  if (!m_certain) result.parameters = result.active_parameters = 0;
  return result;
}

} // namespace breakeven::model
