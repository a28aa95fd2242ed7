#include "cuda/attention/flash_launch.cuh"

namespace breakeven::cuda {

template void launch_flash<64, 64, 32, 64>(const FlashParameters&);

} // namespace breakeven::cuda
