#include "cuda/attention/flash_launch.cuh"

namespace breakeven::cuda {

template void launch_flash<256, 256, 16, 64>(const FlashParameters&);

} // namespace breakeven::cuda
