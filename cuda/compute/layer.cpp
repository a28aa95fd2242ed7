#include "cuda/compute/layer.hpp"

#include "compute/layer.hpp"
#include "cuda/kernels/fill.hpp"
#include "cuda/kernels/rows.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::cuda {
namespace {

std::uint64_t product(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
  return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) *
         static_cast<std::uint64_t>(c);
}

} // namespace

void WorkspaceNeeds::cover(const WorkspaceNeeds& other) {
  const auto grow = [](std::int64_t& mine, std::int64_t theirs) { mine = std::max(mine, theirs); };
  grow(projected, other.projected);
  grow(queries, other.queries);
  grow(mixed, other.mixed);
  grow(intermediate, other.intermediate);
  grow(activated, other.activated);
  grow(gathered, other.gathered);
  grow(router, other.router);
  grow(widest_input, other.widest_input);
  grow(widest_latent, other.widest_latent);
  grow(expanded, other.expanded);
  grow(keys, other.keys);
  grow(rope_dim, other.rope_dim);
}

Linear::Linear(const Runtime& runtime, const Shape& shape, std::uint64_t seed)
    : m_shape(shape),
      m_fp8(runtime.fp8 && !shape.full_precision && shape.k % 16 == 0 && shape.n % 16 == 0) {
  const std::uint64_t count = product(shape.k, shape.n, shape.count);
  m_weights = DeviceMemory(count * (m_fp8 ? 1 : 2), "weights");
  const auto amplitude = static_cast<float>(std::sqrt(3.0 / static_cast<double>(shape.k)));
  if (m_fp8) {
    fill_random_fp8(m_weights.data(), count, seed, runtime.stream);
    m_scales = DeviceMemory(2 * sizeof(float), "scales");
    fill_floats(m_scales.as<float>(), 1, amplitude, runtime.stream); // of the weights
    fill_floats(m_scales.as<float>() + 1, 1, 0.02F, runtime.stream); // of activations: 448 = 9
  } else {
    fill_random(m_weights.data(), count, seed, amplitude, runtime.stream);
  }
  if (!shape.bias) return;
  m_bias = DeviceMemory(product(shape.n, shape.count, 2), "biases");
  fill_random(m_bias.data(), product(shape.n, shape.count), seed + 1, amplitude, runtime.stream);
}

void Linear::run(const Runtime& runtime, const void* x, std::int64_t rows, void* out,
                 std::int64_t x_stride, std::int64_t index) const {
  GemmCall call;
  call.x = x;
  call.rows = rows;
  call.k = m_shape.k;
  call.n = m_shape.n;
  call.out = out;
  call.x_stride = x_stride;
  call.weights = m_weights.data() + product(m_shape.k, m_shape.n, index) * (m_fp8 ? 1 : 2);
  if (m_shape.bias) call.bias = m_bias.data() + product(m_shape.n, index, 2);
  if (m_fp8) {
    call.w_scale = m_scales.as<float>();
    call.x_scale = m_scales.as<float>() + 1;
    quantise(x, x_stride > 0 ? x_stride : m_shape.k, runtime.workspace->quantised.data(),
             call.x_scale, rows, m_shape.k, runtime.stream);
    call.x = runtime.workspace->quantised.data();
    call.x_stride = 0;
  }
  runtime.gemm->run(call);
}

DeviceMemory random_norm(const Runtime& runtime, std::int64_t n, std::uint64_t seed) {
  DeviceMemory weight(product(n, 2), "norms");
  fill_random(weight.data(), product(n, 1), seed, 0.1F, runtime.stream, 1.0F);
  return weight;
}

KvCache make_cache(const Runtime& runtime, const model::LayerKind& kind, std::int64_t tokens,
                   std::uint64_t seed) {
  const model::AttentionSpec& a = kind.attention;
  KvCache cache;
  const auto random = [&](std::int64_t width) {
    DeviceMemory memory(product(tokens, width, 2), "the KV cache");
    fill_random(memory.data(), product(tokens, width), ++seed, 1.0F, runtime.stream);
    return memory;
  };
  if (a.kind == model::AttentionKind::mla) {
    cache.latent = random(a.kv_lora_rank + a.qk_rope_head_dim);
  } else {
    cache.k = random(a.kv_heads * a.qk_head_dim);
    cache.v = random(a.kv_heads * a.v_head_dim);
  }
  return cache;
}

AttentionCall attention_call(const Runtime& runtime, const compute::AttentionShape& shape,
                             const Pass& pass) {
  AttentionCall call;
  call.heads = static_cast<int>(shape.heads);
  call.kv_heads = static_cast<int>(shape.kv_heads);
  call.qk_dim = static_cast<int>(shape.qk_dim);
  call.v_dim = static_cast<int>(shape.v_dim);
  call.scale = shape.scale;
  call.mask.context = static_cast<int>(compute::held_context(shape, pass.context));
  call.mask.queries = static_cast<int>(pass.tokens);
  call.mask.window = static_cast<int>(shape.window_tokens);
  call.mask.chunked = shape.chunked ? 1 : 0;
  call.stream = runtime.stream;
  return call;
}

Layer::Layer(const Runtime& runtime, const model::LayerKind& kind, std::int64_t hidden,
             std::int64_t stored_experts, std::uint64_t seed)
    : m_runtime(runtime), m_hidden(hidden) {
  const bool recurrent = kind.state.kind != model::StateKind::none;
  if (recurrent || kind.attention.kind != model::AttentionKind::none) {
    m_mixer = recurrent ? make_scan_mixer(runtime, kind, hidden, seed)
              : kind.attention.kind == model::AttentionKind::mla
                  ? make_latent_mixer(runtime, kind, hidden, seed)
                  : make_attention_mixer(runtime, kind, hidden, seed);
    m_mixer_norm = random_norm(runtime, hidden, seed + 501);
  }
  if (kind.mlp.kind != model::MlpKind::none) {
    m_mlp = make_mlp(runtime, kind, hidden, stored_experts, seed);
    m_mlp_norm = random_norm(runtime, hidden, seed + 502);
  }
}

void Layer::norm(const Pass& pass, const DeviceMemory& weight) {
  const Workspace& w = *m_runtime.workspace;
  add_rms_norm(w.hidden.data(), w.delta.data(), weight.data(), w.normed.data(), pass.tokens,
               m_hidden, m_runtime.stream);
}

void Layer::run(const Pass& pass, KvCache* cache, bool with_attention) {
  if (m_mixer) {
    norm(pass, m_mixer_norm);
    m_mixer->before(pass, cache);
    if (with_attention) m_mixer->attend(pass, cache);
    m_mixer->after(pass);
  }
  if (m_mlp) {
    norm(pass, m_mlp_norm);
    m_mlp->run(pass);
  }
}

} // namespace breakeven::cuda
