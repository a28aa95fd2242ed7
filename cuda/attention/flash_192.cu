#include "cuda/attention/flash_launch.cuh"

namespace breakeven::cuda {

template void launch_flash<192, 128, 32, 48>(const FlashParameters&);

} // namespace breakeven::cuda
