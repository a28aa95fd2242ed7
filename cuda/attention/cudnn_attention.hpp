#pragma once

#include "cuda/attention/provider.hpp"

namespace breakeven::cuda {

/// Attention through cuDNN's graph API, the library loaded at run time.
AttentionProviderRow cudnn_row();

} // namespace breakeven::cuda
