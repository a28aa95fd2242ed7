#pragma once

#include "model/architecture.hpp"
#include "predict/hardware.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::predict {

/// Shares of the published peaks that a real engine reaches.
struct Efficiency {
  double linear = 0.5;    ///< of peak FLOP/s, in the GEMMs
  double attention = 0.5; ///< of peak FLOP/s, in attention
  double memory = 0.8;    ///< of the memory bandwidth, where streaming weights or keys takes longer
};

/// Time of prefill steps of one tensor-parallel rank by the roofline (Williams, Waterman and
/// Patterson 2009): the longer of computing and of streaming, for the GEMMs and for the attention
/// of each layer kind. Communication between ranks, recurrent scans, norms and the LM head are not
/// modelled: the utilisation stands for them.
class Roofline {
public:
  /// `linear_parameters` of the whole model replaces the count of its GEMMs when above 0;
  /// `compute_dtype` ("bf16", "fp8", ...) the peak that follows from the weights when not empty.
  /// Throws error::bad_input when the device lacks a needed fact.
  Roofline(const model::Architecture& model, const Hardware& device, const Efficiency& efficiency,
           double linear_parameters = 0, const std::string& compute_dtype = "");

  [[nodiscard]] double dense_s(std::int64_t new_tokens) const;
  /// Attention in all layers of kind `kind` (an index of Architecture::kinds).
  [[nodiscard]] double attention_s(std::size_t kind, std::int64_t context_tokens,
                                   std::int64_t new_tokens) const;
  [[nodiscard]] double step_s(std::int64_t context_tokens, std::int64_t new_tokens) const;
  /// The steps of at most `chunk_tokens` that cover `new_tokens`.
  [[nodiscard]] double prefill_s(std::int64_t context_tokens, std::int64_t new_tokens,
                                 std::int64_t chunk_tokens) const;

  [[nodiscard]] double linear_flops(double new_tokens) const {
    return 2 * m_parameters * new_tokens;
  }
  [[nodiscard]] double attention_flops(std::int64_t context_tokens, std::int64_t new_tokens) const;
  [[nodiscard]] double attention_flops(std::size_t kind, std::int64_t context_tokens,
                                       std::int64_t new_tokens) const;
  /// The least time that the published peaks allow for `new_tokens` after `context_tokens`.
  [[nodiscard]] double least_s(std::int64_t context_tokens, std::int64_t new_tokens) const;

  [[nodiscard]] bool has_attention(std::size_t kind) const;
  /// New tokens at which computing the GEMMs takes as long as streaming their weights.
  [[nodiscard]] std::int64_t knee_tokens() const;
  [[nodiscard]] const std::string& compute_dtype() const { return m_compute_dtype; }
  [[nodiscard]] const model::Architecture& model() const { return m_model; }

private:
  [[nodiscard]] double weight_bytes(std::int64_t new_tokens) const;

  model::Architecture m_model;
  std::vector<model::Architecture> m_kinds; ///< one layer kind each
  Efficiency m_efficiency;
  double m_parameters = 0; ///< that each token passes in GEMMs, of this rank
  double m_linear_flops = 0, m_attention_flops = 0, m_memory_Bps = 0; ///< peaks
  std::string m_compute_dtype;
};

} // namespace breakeven::predict
