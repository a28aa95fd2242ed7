#include "compute/cpu_compute.hpp"

#include "compute/step_lengths.hpp"
#include "measure/statistics.hpp"
#include "node/node.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace breakeven::compute {
namespace {
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}
} // namespace

CpuCompute::CpuCompute(const model::Architecture& architecture, const ComputeOptions& options)
    : m_architecture(architecture), m_options(options) {
  if (architecture.hidden <= 0 || architecture.vocabulary.size <= 0 || architecture.kinds.empty())
    throw error(error_kind::bad_input, "model '" + architecture.name +
                                           "' has no layers, hidden size or vocabulary to run");
  for (const model::LayerKind& kind : architecture.kinds) {
    if (const std::string reason = unsupported_reason(kind); !reason.empty())
      throw error(error_kind::environment, "the cpu device cannot run layers '" + kind.name +
                                               "' of " + architecture.name + ": " + reason +
                                               " is not implemented for it");
    for (std::string& sentence : approximations(kind))
      m_warnings.push_back(std::move(sentence));
  }
  const node::NodeFacts node = node::inspect();
  m_runtime.threads = options.threads > 0 ? options.threads : std::max(node.usable_cpus, 1);
  m_runtime.rows_hint = options.chunk_tokens;
  choose_precision();
  plan(options);
  build(options);
  build_workspace();
  measure_rate();
  describe();
}

CpuCompute::~CpuCompute() = default;

void CpuCompute::choose_precision() {
  const bool wants_fp32 = m_architecture.activation_dtype == model::DType::fp32;
  const bool bf16 = !wants_fp32 && !usable_kernels(Element::bf16).empty();
  if (bf16 && m_architecture.weight_dtype == model::DType::int8)
    m_gemm = make_onednn_int8_gemm(m_runtime.threads);
  if (m_gemm)
    m_warnings.push_back("int8 weights: matrix products run in int8 with activations quantised per "
                         "token (W8A8); an engine that keeps activations in 16 bits differs");
  else if (model::bits_of(m_architecture.weight_dtype) <= 8)
    m_warnings.push_back(model::to_string(m_architecture.weight_dtype) +
                         " weights: the cpu device has no products of that type here and computes "
                         "with wider weights");
  if (bf16 && !m_gemm) m_gemm = make_onednn_gemm(Element::bf16, m_runtime.threads);
  if (!m_gemm) {
    if (!wants_fp32)
      m_warnings.push_back("this CPU has no bf16 instructions (or oneDNN is not built in): layers "
                           "run in fp32, as engines do there, and take longer than in bf16");
    m_gemm = make_onednn_gemm(Element::fp32, m_runtime.threads);
  }
  if (!m_gemm) m_gemm = make_eigen_gemm(m_runtime.threads);
  m_runtime.gemm = m_gemm.get();
  m_runtime.kernels = usable_kernels(m_gemm->element()).front();
  for (const std::string& sentence : rejected_kernels())
    m_warnings.push_back(sentence);
}

void CpuCompute::plan(const ComputeOptions& options) {
  const node::NodeFacts node = node::inspect();
  MemoryRequest request;
  request.max_context_tokens = options.max_context_tokens;
  request.chunk_tokens = options.chunk_tokens;
  request.measured_layers = options.measured_layers;
  request.last_level_cache_bytes = node.last_level_cache_bytes;
  request.element = m_gemm->element();
  request.threads = m_runtime.threads;
  // A fifth of the free memory is left to the tiers, the page cache and others.
  const std::uint64_t usable = node.memory_available_bytes / 5 * 4;
  request.limit_bytes = options.memory_limit_bytes == 0 ? usable
                        : usable == 0                   ? options.memory_limit_bytes
                                      : std::min(options.memory_limit_bytes, usable);
  m_plan = plan_memory(m_architecture, request);
  for (const std::string& sentence : m_plan.warnings)
    m_warnings.push_back(sentence);
}

void CpuCompute::build(const ComputeOptions& options) {
  for (std::size_t i = 0; i < m_architecture.kinds.size(); ++i) {
    const model::LayerKind& spec = m_architecture.kinds[i];
    const KindPlan& plan = m_plan.kinds[i];
    Kind kind;
    for (std::int64_t n = 0; n < plan.layers; ++n) {
      LayerOptions layer;
      layer.hidden = m_architecture.hidden;
      layer.seed = options.seed * 1000003 + i * 1009 + static_cast<std::uint64_t>(n);
      layer.stored_experts = plan.stored_experts;
      layer.expert_skew = options.expert_skew;
      kind.layers.push_back(std::make_unique<Layer>(m_runtime, spec, layer));
    }
    const AttentionShape shape = attention_shape(spec.attention);
    const CacheShape cache = cache_shape(spec, plan.kv_heads);
    const std::int64_t held = shape.window_tokens > 0
                                  ? std::min(options.max_context_tokens, shape.window_tokens)
                                  : options.max_context_tokens;
    for (std::int64_t n = 0; n < plan.kv_caches; ++n)
      kind.caches.push_back(std::make_unique<KvCache>(
          *m_runtime.kernels, cache.kv_heads, cache.stored_heads, cache.qk_dim, cache.v_dim,
          held + options.chunk_tokens, options.seed + 77 + static_cast<std::uint64_t>(n) * 2,
          m_runtime.threads, cache.latent_width));
    m_kinds.push_back(std::move(kind));
  }
  const auto table = [&](std::int64_t rows, std::uint64_t seed) {
    const std::int64_t n = rows * m_architecture.hidden;
    Buffer buffer(static_cast<std::uint64_t>(n * m_runtime.element_bytes()));
    fill_random(*m_runtime.kernels, buffer.data(), n, seed, 1.0F, m_runtime.threads);
    return buffer;
  };
  m_head = table(m_plan.head_rows, options.seed + 5);
  if (m_plan.embedding_rows > 0) m_embedding = table(m_plan.embedding_rows, options.seed + 6);
  m_final_norm = random_norm(m_runtime, m_architecture.hidden, options.seed, "final_norm");
  m_logits = Buffer(static_cast<std::uint64_t>(m_plan.head_rows) * 4);
}

void CpuCompute::build_workspace() {
  WorkspaceNeeds needs;
  for (const model::LayerKind& kind : m_architecture.kinds)
    needs.cover(workspace_needs(kind, m_architecture.hidden, m_gemm->element()));
  std::uint64_t seed = 900;
  const auto rows = [&](std::int64_t per_token) {
    const std::int64_t n = per_token * m_options.chunk_tokens;
    Buffer buffer(static_cast<std::uint64_t>(n * m_runtime.element_bytes()));
    fill_random(*m_runtime.kernels, buffer.data(), n, ++seed, 1.0F, m_runtime.threads);
    return buffer;
  };
  m_workspace.hidden = rows(m_architecture.hidden);
  m_workspace.normed = rows(m_architecture.hidden);
  m_workspace.projected = rows(needs.projected);
  m_workspace.mixed = rows(needs.mixed);
  m_workspace.intermediate = rows(needs.intermediate);
  m_workspace.activated = rows(needs.activated);
  m_workspace.extra = rows(needs.extra);
  for (const model::LayerKind& kind : m_architecture.kinds)
    if (const auto dim = workspace_needs(kind, m_architecture.hidden, m_gemm->element()).rope_dim;
        dim > 0)
      m_workspace.rope[dim]; // filled before each pass
  m_workspace.scratch = std::make_unique<AttentionScratch>(m_runtime.kernels->element, needs.qk_dim,
                                                           needs.v_dim, m_runtime.threads);
}

void CpuCompute::measure_rate() {
  // One matrix of typical size is enough to size samples; measuring proper comes later.
  const std::int64_t k = std::min<std::int64_t>(m_architecture.hidden, 4096), n = 2048, rows = 128;
  const auto matrix = random_matrix(m_runtime, k, n, false, 1, "rate");
  const auto bytes = static_cast<std::uint64_t>(m_runtime.element_bytes());
  Buffer x(static_cast<std::uint64_t>(rows * k) * bytes);
  const Buffer out(static_cast<std::uint64_t>(rows * n) * bytes);
  fill_random(*m_runtime.kernels, x.data(), rows * k, 3, 1.0F, m_runtime.threads);
  double best = 1e9;
  for (int i = 0; i < 4; ++i) {
    const auto start = clock::now();
    m_gemm->run(*matrix, {x.data(), rows, out.data()});
    best = std::min(best, seconds_since(start));
  }
  m_flop_per_s = 2.0 * static_cast<double>(rows * k * n) / std::max(best, 1e-9);
}

void CpuCompute::describe() {
  const node::NodeFacts node = node::inspect();
  m_facts.id = "cpu";
  m_facts.name = node.cpu_model;
  m_facts.kernel_source =
      m_gemm->description() + " + builtin flash attention " + m_runtime.kernels->name;
  m_facts.compute_dtype = m_gemm->element() == Element::bf16 ? "bf16" : "fp32";
  m_facts.threads = m_runtime.threads;
  m_facts.memory_bytes = node.memory_available_bytes;
  // No documented figure covers every part and clock: an upper bound of what a core can issue,
  // 2 fp32 FMA of 16 lanes a cycle, twice that by vdpbf16ps, 2048 flop by tiles, at 5 GHz.
  const std::string kernel = m_runtime.kernels->name;
  const double flop_per_cycle = kernel == "amx_bf16"      ? 2048
                                : kernel == "avx512_bf16" ? 128
                                : kernel == "avx512"      ? 64
                                                          : 32;
  m_facts.peak_flop_per_s = flop_per_cycle * 5e9 * m_runtime.threads;
}

Layer& CpuCompute::Kind::take_layer() {
  Layer& layer = *layers[next_layer];
  next_layer = (next_layer + 1) % layers.size();
  return layer;
}

KvCache* CpuCompute::Kind::take_cache() {
  if (caches.empty()) return nullptr;
  KvCache* cache = caches[next_cache].get();
  next_cache = (next_cache + 1) % caches.size();
  return cache;
}

void CpuCompute::embed(std::int64_t tokens) {
  const bool own = m_plan.embedding_rows > 0;
  const auto rows = static_cast<std::uint64_t>(own ? m_plan.embedding_rows : m_plan.head_rows);
  const std::byte* table = own ? m_embedding.data() : m_head.data();
  const std::int64_t row_bytes = m_architecture.hidden * m_runtime.element_bytes();
  const std::uint64_t draw = ++m_token_draws;
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::uint64_t token =
        (draw * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(t) * 0xd1b54a32d192ed03U) >> 20;
    std::memcpy(m_workspace.hidden.data() + t * row_bytes,
                table + static_cast<std::int64_t>(token % rows) * row_bytes,
                static_cast<std::size_t>(row_bytes));
  }
}

double CpuCompute::head(std::int64_t tokens) {
  const std::int64_t hidden = m_architecture.hidden;
  const std::int64_t row_bytes = hidden * m_runtime.element_bytes();
  const auto start = clock::now();
  // Engines norm all rows, or the last one; the last is what the LM head needs.
  const std::byte* last = m_workspace.hidden.data() + (tokens - 1) * row_bytes;
  std::byte* normed = m_workspace.normed.data();
  m_runtime.kernels->rms_norm(last, m_final_norm.data(), normed, hidden, norm_epsilon);
  float* logits = m_logits.as<float>();
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
  for (std::int64_t row = 0; row < m_plan.head_rows; ++row)
    logits[row] = m_runtime.kernels->dot(normed, m_head.data() + row * row_bytes, hidden);
  return seconds_since(start) * static_cast<double>(m_architecture.vocabulary.size) /
         static_cast<double>(m_plan.head_rows);
}

void CpuCompute::set_rope(std::int64_t context, std::int64_t tokens) {
  compute::set_rope(m_workspace, context, tokens, m_runtime.threads);
}

double CpuCompute::estimate_s(double flop, double bytes) const {
  constexpr double modest_memory_Bps = 8e9; // per process, on any machine that serves models
  return std::max(flop / m_flop_per_s, bytes / modest_memory_Bps);
}

std::unique_ptr<measure::Workload> CpuCompute::dense(std::int64_t new_tokens) {
  check_step_lengths(m_options, 0, new_tokens);
  return make_dense_workload(*this, new_tokens);
}

std::unique_ptr<measure::Workload> CpuCompute::attention(std::size_t kind_index,
                                                         std::int64_t context_tokens,
                                                         std::int64_t new_tokens) {
  check_step_lengths(m_options, context_tokens, new_tokens);
  check_kind(m_architecture, kind_index);
  if (m_kinds[kind_index].caches.empty()) return nullptr;
  return make_attention_workload(*this, kind_index, context_tokens, new_tokens);
}

std::unique_ptr<measure::Workload> CpuCompute::step(std::int64_t context_tokens,
                                                    std::int64_t new_tokens) {
  check_step_lengths(m_options, context_tokens, new_tokens);
  return make_step_workload(*this, context_tokens, new_tokens);
}

DeviceBuffer& CpuCompute::kv_buffer(std::uint64_t bytes) {
  if (m_kv_buffer && m_kv_buffer->size_bytes() >= bytes) return *m_kv_buffer;
  m_kv_buffer.reset(); // give the old one back first
  const std::uint64_t available = node::inspect().memory_available_bytes;
  if (available != 0 && bytes > available)
    throw error(error_kind::environment,
                "a KV buffer of " + format_bytes(static_cast<double>(bytes)) +
                    " does not fit in the " + format_bytes(static_cast<double>(available)) +
                    " of memory that are free: lower the longest prefix");
  m_kv_buffer = make_host_buffer(*m_runtime.kernels, bytes, m_runtime.threads);
  return *m_kv_buffer;
}

} // namespace breakeven::compute
