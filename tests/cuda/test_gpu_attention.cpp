#include "cuda/attention/provider.hpp"
#include "cuda/gpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>

using namespace breakeven::cuda;

namespace {

struct Shape {
  int qk, v, heads, kv_heads;
};

/// Through `provider`, or through the built-in kernel with so many splits when it is null.
void check_attention(const Shape& shape, const MaskShape& mask, int splits,
                     AttentionProvider* provider = nullptr) {
  INFO("heads " << shape.heads << "/" << shape.kv_heads << " of " << shape.qk << "x" << shape.v
                << ", " << mask.queries << " after " << mask.context << ", window " << mask.window
                << (mask.chunked != 0 ? " chunked" : "") << ", splits " << splits);
  const auto size = [](int a, int b, int c) { return static_cast<std::size_t>(a * b * c); };
  const int keys = mask.context + mask.queries;
  const auto q = gpu::Array::random(size(mask.queries, shape.heads, shape.qk), 1);
  const auto k = gpu::Array::random(size(keys, shape.kv_heads, shape.qk), 2);
  const auto v = gpu::Array::random(size(keys, shape.kv_heads, shape.v), 3);
  gpu::Array out(size(mask.queries, shape.heads, shape.v));
  Stream stream;
  AttentionCall call;
  call.q = q.device();
  call.k = k.device();
  call.v = v.device();
  call.out = out.device();
  call.q_token = shape.heads * shape.qk;
  call.q_head = call.k_head = shape.qk;
  call.k_token = shape.kv_heads * shape.qk;
  call.v_token = shape.kv_heads * shape.v;
  call.v_head = call.out_head = shape.v;
  call.out_token = shape.heads * shape.v;
  call.heads = shape.heads;
  call.kv_heads = shape.kv_heads;
  call.qk_dim = shape.qk;
  call.v_dim = shape.v;
  call.scale = 1.0F / std::sqrt(static_cast<float>(shape.qk));
  call.mask = mask;
  call.stream = stream.get();
  const DeviceMemory workspace(
      provider ? provider->workspace_bytes(call) : flash_workspace_bytes(call, splits), "splits");
  if (provider != nullptr)
    provider->run(call, workspace.data());
  else
    flash_attention(call, splits, workspace.data());
  stream.synchronize();
  out.download();
  double worst = 0;
  std::vector<double> weights(static_cast<std::size_t>(keys));
  for (int query = 0; query < mask.queries; ++query)
    for (int head = 0; head < shape.heads; ++head) {
      const int kv = head / (shape.heads / shape.kv_heads);
      double sum = 0;
      for (int key = 0; key < keys; ++key) {
        double score = 0;
        if (sees(mask, query, key)) {
          for (int i = 0; i < shape.qk; ++i)
            score += q[size(query, shape.heads, shape.qk) + size(head, shape.qk, 1) +
                       static_cast<std::size_t>(i)] *
                     k[size(key, shape.kv_heads, shape.qk) + size(kv, shape.qk, 1) +
                       static_cast<std::size_t>(i)];
          score = std::exp(score * static_cast<double>(call.scale));
        }
        weights[static_cast<std::size_t>(key)] = score;
        sum += score;
      }
      for (int i = 0; i < shape.v; ++i) {
        double expected = 0;
        for (int key = 0; key < keys; ++key)
          expected += weights[static_cast<std::size_t>(key)] *
                      v[size(key, shape.kv_heads, shape.v) + size(kv, shape.v, 1) +
                        static_cast<std::size_t>(i)];
        const double got = out[size(query, shape.heads, shape.v) + size(head, shape.v, 1) +
                               static_cast<std::size_t>(i)];
        worst = std::max(worst, std::abs(got - expected / sum));
      }
    }
  CHECK(worst < 0.02); // weights and results are rounded to bf16
}

} // namespace

TEST_CASE("The attention kernel is attention", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  for (const Shape& shape : {Shape{64, 64, 4, 2}, Shape{128, 128, 4, 1}, Shape{256, 256, 2, 1},
                             Shape{192, 128, 2, 2}, Shape{96, 96, 2, 2}, Shape{80, 80, 2, 1}}) {
    for (const auto& [context, queries] :
         std::array<std::array<int, 2>, 5>{{{0, 1}, {0, 200}, {131, 77}, {500, 1}, {700, 130}}})
      for (const auto& [window, chunked] :
           std::array<std::array<int, 2>, 3>{{{0, 0}, {100, 0}, {128, 1}}})
        for (const int splits : {1, 3})
          check_attention(shape, {context, queries, window, chunked}, splits);
  }
}

TEST_CASE("Attention through cuDNN is attention", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  const CudaDevice device = open_device("cuda");
  const std::string reason = attention_providers().at("cudnn").unavailable_reason(device);
  if (!reason.empty()) {
    WARN("skipped: " << reason);
    return;
  }
  const auto provider = make_attention(device, "cudnn");
  for (const Shape& shape : {Shape{64, 64, 4, 2}, Shape{128, 128, 4, 1}})
    for (const auto& [context, queries] :
         std::array<std::array<int, 2>, 3>{{{0, 200}, {131, 77}, {700, 130}}})
      for (const int window : {0, 100})
        check_attention(shape, {context, queries, window, 0}, 1, provider.get());
}
