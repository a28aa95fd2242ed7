#include "cuda/compute/cuda_compute.hpp"

#include "compute/layer.hpp"
#include "compute/step_lengths.hpp"
#include "cuda/copy/cuda_device_buffer.hpp"
#include "cuda/kernels/rows.hpp"
#include "cuda/runtime/check.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace breakeven::cuda {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Dense bf16 flop per clock of one multiprocessor: NVIDIA's architecture white papers; the higher
/// figure where products of one generation differ. An upper bound for sanity gates.
double flop_per_clock(const CudaDevice& device) {
  if (device.major >= 12) return 1024;
  if (device.major >= 10) return 8192;
  if (device.major == 9) return 4096;
  return device.minor == 0 ? 2048 : 1024;
}

} // namespace

CudaSettings CudaSettings::from_environment() {
  CudaSettings settings;
  const std::string gemm = setting("BREAKEVEN_CUDA_GEMM");
  if (gemm == "autotuned")
    settings.gemm = GemmMode::autotuned;
  else if (!gemm.empty() && gemm != "heuristic")
    throw error(error_kind::usage, "BREAKEVEN_CUDA_GEMM is '" + printable(gemm) +
                                       "'; it may be heuristic or autotuned");
  settings.attention = setting("BREAKEVEN_CUDA_ATTENTION");
  return settings;
}

CudaCompute::CudaCompute(const std::string& device_id, const model::Architecture& architecture,
                         const compute::ComputeOptions& options, const CudaSettings& settings)
    : m_architecture(architecture), m_options(options), m_device(open_device(device_id)),
      m_watch(m_device.pci_bus_id, settings.nvml_library),
      m_attention(make_attention(m_device, settings.attention)),
      m_gemm(settings.gemm, m_stream.get()) {
  if (architecture.hidden <= 0 || architecture.vocabulary.size <= 0 || architecture.kinds.empty())
    throw error(error_kind::bad_input, "model '" + architecture.name +
                                           "' has no layers, hidden size or vocabulary to run");
  const bool wants_fp8 = architecture.weight_dtype == model::DType::fp8;
  m_runtime.device = m_device;
  m_runtime.stream = m_stream.get();
  m_runtime.gemm = &m_gemm;
  m_runtime.attention = m_attention.get();
  m_runtime.workspace = &m_workspace;
  m_runtime.fp8 = wants_fp8 && m_device.sm() >= 89;
  m_runtime.expert_skew = options.expert_skew;
  m_runtime.routings = &m_routings;
  check_kinds();
  plan();
  build();
  build_workspace();
  m_stream.synchronize();
  describe();
}

CudaCompute::~CudaCompute() {
  static_cast<void>(succeeded(calls().stream_synchronize(m_stream.get())));
}

void CudaCompute::check_kinds() {
  const auto warn = [&](const std::string& sentence) { m_warnings.push_back(sentence); };
  warn(
      "the CUDA back end of this version has not been checked on a GPU: run scripts/gpu_check, and "
      "compare the step times with your engine's, before trusting these");
  if (m_architecture.hidden % 8 != 0)
    throw error(error_kind::environment, "the cuda device cannot run " + m_architecture.name +
                                             ": its hidden size is not a multiple of 8");
  for (const model::LayerKind& kind : m_architecture.kinds) {
    if (const std::string reason = unsupported_reason(kind, m_device, *m_attention);
        !reason.empty())
      throw error(error_kind::environment, "the cuda device cannot run layers '" + kind.name +
                                               "' of " + m_architecture.name + ": " + reason);
    for (std::string& sentence : compute::approximations(kind))
      warn(std::move(sentence));
    if (kind.mlp.kind == model::MlpKind::moe)
      warn("layers '" + kind.name +
           "': experts run one after another through cublasLt; engines "
           "group them, which is faster when each gets few tokens");
    if (kind.attention.kind == model::AttentionKind::none) continue;
    if (std::string sentence =
            m_attention->approximation(static_cast<int>(kind.attention.qk_head_dim),
                                       static_cast<int>(kind.attention.v_head_dim));
        !sentence.empty())
      warn("layers '" + kind.name + "': " + sentence);
  }
  const model::DType weights = m_architecture.weight_dtype;
  if (weights == model::DType::fp8 && !m_runtime.fp8)
    warn("this GPU has no fp8 tensor cores: the fp8 weights are timed in bf16");
  else if (weights != model::DType::fp8 && model::bits_of(weights) < 16)
    warn("weights in " + model::to_string(weights) + " are timed in bf16: an engine's " +
         model::to_string(weights) + " kernels differ");
  if (model::bits_of(m_architecture.kv_dtype) < 16)
    warn("attention is timed over a bf16 KV cache, not " +
         model::to_string(m_architecture.kv_dtype));
}

void CudaCompute::describe() {
  m_facts.id = m_device.id;
  m_facts.name = m_device.name;
  m_facts.kernel_source = m_gemm.description() + " + " + m_attention->description() + " sm_" +
                          std::to_string(m_device.sm());
  m_facts.compute_dtype = m_runtime.fp8 ? "fp8 e4m3" : "bf16";
  m_facts.peak_flop_per_s = flop_per_clock(m_device) * (m_runtime.fp8 ? 2 : 1) *
                            m_device.multiprocessors * 1e3 * m_device.clock_khz;
  m_facts.peak_memory_Bps = 2e3 * m_device.memory_clock_khz * m_device.memory_bus_bits / 8;
}

std::vector<std::string> CudaCompute::warnings() const {
  std::vector<std::string> all = m_warnings;
  if (std::string sentence = m_watch.summary(); !sentence.empty())
    all.push_back(std::move(sentence));
  return all;
}

Layer& CudaCompute::Kind::take_layer() {
  Layer& layer = *layers[next_layer];
  next_layer = (next_layer + 1) % layers.size();
  return layer;
}

KvCache* CudaCompute::Kind::take_cache() {
  if (caches.empty()) return nullptr;
  KvCache* cache = &caches[next_cache];
  next_cache = (next_cache + 1) % caches.size();
  return cache;
}

void CudaCompute::embed(std::int64_t tokens) {
  const auto rows = static_cast<std::int64_t>(m_embedding.size_bytes()) / 2 / m_architecture.hidden;
  cuda::embed(m_workspace.hidden.data(), m_embedding.data(), rows, tokens, m_architecture.hidden,
              m_options.seed, m_stream.get());
}

void CudaCompute::head(std::int64_t tokens) {
  const std::int64_t hidden = m_architecture.hidden;
  const std::uint64_t last = bf16_bytes(hidden, tokens - 1);
  add_rms_norm(m_workspace.hidden.data() + last, m_workspace.delta.data() + last,
               m_final_norm.data(), m_workspace.normed.data(), 1, hidden, m_stream.get());
  m_head.run(m_runtime, m_workspace.normed.data(), 1, m_logits.data());
}

double CudaCompute::head_scale() const {
  return static_cast<double>(m_architecture.vocabulary.size) /
         static_cast<double>(m_plan.head_rows);
}

void CudaCompute::set_rope(std::int64_t context, std::int64_t tokens) {
  for (const auto& [dim, table] : m_workspace.rope)
    rope_table(table.as<float>(), context, tokens, dim, m_stream.get());
}

double CudaCompute::estimate_s(double flop, double bytes) const {
  // Half of the peak, as engines reach it; a modest GPU where the driver tells no clocks.
  const double flop_per_s = m_facts.peak_flop_per_s > 0 ? m_facts.peak_flop_per_s / 2 : 5e13;
  const double memory_Bps = m_facts.peak_memory_Bps > 0 ? m_facts.peak_memory_Bps / 2 : 4e11;
  return std::max(flop / flop_per_s, bytes / memory_Bps);
}

void CudaCompute::keep_busy(const std::function<double()>& work) {
  const double start = now_s();
  m_busy_s = std::max(0.0, m_busy_s - std::max(0.0, start - m_last_end_s));
  while (m_busy_s < sustained_s && now_s() - start < 2 * sustained_s)
    was_busy(work());
}

void CudaCompute::was_busy(double seconds) {
  m_busy_s = std::min(m_busy_s + seconds, sustained_s);
  m_last_end_s = now_s();
}

std::unique_ptr<measure::Workload> CudaCompute::dense(std::int64_t new_tokens) {
  compute::check_step_lengths(m_options, 0, new_tokens);
  return make_dense_workload(*this, new_tokens);
}

std::unique_ptr<measure::Workload> CudaCompute::attention(std::size_t kind_index,
                                                          std::int64_t context_tokens,
                                                          std::int64_t new_tokens) {
  compute::check_step_lengths(m_options, context_tokens, new_tokens);
  compute::check_kind(m_architecture, kind_index);
  if (m_kinds[kind_index].caches.empty()) return nullptr;
  return make_attention_workload(*this, kind_index, context_tokens, new_tokens);
}

std::unique_ptr<measure::Workload> CudaCompute::step(std::int64_t context_tokens,
                                                     std::int64_t new_tokens) {
  compute::check_step_lengths(m_options, context_tokens, new_tokens);
  return make_step_workload(*this, context_tokens, new_tokens);
}

compute::DeviceBuffer& CudaCompute::kv_buffer(std::uint64_t bytes) {
  if (m_kv_buffer && m_kv_buffer->size_bytes() >= bytes) return *m_kv_buffer;
  m_kv_buffer.reset(); // give the old one back first
  const std::optional<int> node = node::pci_numa_node(m_device.pci_bus_id);
  m_kv_buffer = std::make_unique<CudaDeviceBuffer>(
      m_device, bytes, node ? std::optional(static_cast<unsigned>(*node)) : std::nullopt);
  return *m_kv_buffer;
}

} // namespace breakeven::cuda
