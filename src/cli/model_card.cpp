#include "cli/model_card.hpp"

#include "cli/table.hpp"
#include "model/describe.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

namespace breakeven::cli {
namespace {

using model::Architecture;
using model::LayerKind;

/// "8.03 billion (8,030,261,248)"
std::string parameters_text(std::int64_t n) {
  const auto value = static_cast<double>(n);
  const std::string exact = format_tokens(n);
  if (n >= 1'000'000'000) return fmt::format("{:.2f} billion ({})", value / 1e9, exact);
  if (n >= 1'000'000) return fmt::format("{:.1f} million ({})", value / 1e6, exact);
  return exact;
}

std::string flops_text(double flops) {
  const char* const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
  std::size_t unit = 0;
  while (flops >= 1000 && unit + 1 < std::size(units)) {
    flops /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", flops, units[unit]);
}

std::string bytes_text(std::int64_t bytes) {
  return fmt::format("{} B ({})", format_tokens(bytes), format_bytes(static_cast<double>(bytes)));
}

std::string cache_text(const Architecture& m) {
  const std::string rank = m.tensor_parallel > 1 ? " on each rank" : "";
  std::string text = fmt::format("KV cache ({}){}\n", to_string(m.kv_dtype), rank);
  text += fmt::format("  each token adds        {}\n", bytes_text(m.full_bytes_per_token()));
  if (m.index_bytes_per_token() > 0)
    text += fmt::format("  and index keys         {}\n", bytes_text(m.index_bytes_per_token()));
  for (const model::WindowTerm& term : window_terms(m))
    text += fmt::format("  windowed layers        {} a token, {} layers, at most {} tokens\n",
                        bytes_text(term.bytes_per_token), term.layers,
                        format_tokens(term.window_tokens));
  if (m.is_hybrid())
    text += fmt::format("  recurrent state        {} a sequence, whatever its length; a prefix can "
                        "be loaded only where a state was saved\n",
                        bytes_text(m.state_bytes()));
  return text + fmt::format("  = {}\n", derivation(m));
}

std::string lengths_text(const Architecture& m, const std::vector<std::int64_t>& tokens) {
  Table table({"tokens", "KV cache", "attention of the next token", "prefill from nothing"});
  const double linear = 2.0 * static_cast<double>(m.block_gemm_parameters_per_token());
  for (const std::int64_t length : tokens)
    table.add({format_tokens(length), format_bytes(static_cast<double>(m.kv_bytes(length))),
               flops_text(m.attention_flops(length, 1)),
               flops_text(linear * static_cast<double>(length) + m.attention_flops(0, length))});
  return table.text();
}

std::string layers_text(const Architecture& m) {
  Table table({"layers", "kind", "heads", "KV heads", "head", "MLP", "experts", "parameters"});
  table.left(1);
  for (const LayerKind& kind : m.kinds) {
    const model::AttentionSpec& a = kind.attention;
    const bool attends = a.kind != model::AttentionKind::none;
    std::string head = std::to_string(a.qk_head_dim);
    if (a.v_head_dim != a.qk_head_dim) head.append("/").append(std::to_string(a.v_head_dim));
    std::string experts = "-";
    if (kind.mlp.kind == model::MlpKind::moe)
      experts = fmt::format("{} of {}", kind.mlp.experts_per_token, kind.mlp.experts);
    const bool mlp = kind.mlp.kind != model::MlpKind::none;
    table.add({std::to_string(kind.count), kind.name, attends ? std::to_string(a.heads) : "-",
               attends && a.kind != model::AttentionKind::mla ? std::to_string(a.kv_heads) : "-",
               attends ? head : "-", mlp ? std::to_string(kind.mlp.intermediate) : "-", experts,
               format_tokens(kind.parameters)});
  }
  return table.text();
}

std::string gemms_text(const Architecture& m) {
  Table table({"layers", "kind", "GEMM", "K", "N", "rows"});
  table.left(1);
  table.left(2);
  table.left(5);
  for (const LayerKind& kind : m.kinds)
    for (const model::Gemm& gemm : kind.gemms)
      table.add({std::to_string(kind.count), kind.name, gemm.name, std::to_string(gemm.k),
                 std::to_string(gemm.n),
                 gemm.rows == model::GemmRows::all_tokens
                     ? "every token"
                     : fmt::format("routed, {} of {}", gemm.active_count, gemm.count)});
  return table.text();
}

std::string list_text(const char* title, const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    text += fmt::format("{}{}\n", text.empty() ? fmt::format("\n{}\n  ", title) : "  ", item);
  return text;
}

} // namespace

std::string model_card(const Architecture& m, const std::vector<std::int64_t>& tokens) {
  std::string text = fmt::format("{} ({}), from {}\n", m.name, m.family, m.source);
  text += fmt::format("{} layers, hidden {}, vocabulary {}{}, weights {}, activations {}", m.layers,
                      m.hidden, format_tokens(m.vocabulary.size),
                      m.vocabulary.tied_head ? " (tied head)" : "", to_string(m.weight_dtype),
                      to_string(m.activation_dtype));
  if (m.max_position_tokens > 0)
    text += fmt::format(", up to {} tokens", format_tokens(m.max_position_tokens));
  text += "\n";
  if (m.parameters > 0)
    text += fmt::format("parameters {}, active {}\n", parameters_text(m.parameters),
                        parameters_text(m.active_parameters));
  else
    text += "parameters not known for certain\n";
  if (m.tensor_parallel > 1)
    text +=
        fmt::format("tensor parallel over {} ranks: sizes below are of one\n", m.tensor_parallel);
  text += "\n" + cache_text(m) + "\n" + lengths_text(m, tokens);
  text += fmt::format("linear {} a token ({} GEMM parameters)\n",
                      flops_text(2.0 * static_cast<double>(m.block_gemm_parameters_per_token())),
                      format_tokens(m.block_gemm_parameters_per_token()));
  text += "\n" + layers_text(m) + "\n" + gemms_text(m);
  return text + list_text("assumed", m.assumptions) + list_text("overridden", m.overrides);
}

} // namespace breakeven::cli
