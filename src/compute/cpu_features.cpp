#include "compute/cpu_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace breakeven::compute {
namespace {

#if defined(__x86_64__)
struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool bit(unsigned word, int index) {
  return ((word >> index) & 1U) != 0;
}

unsigned long long enabled_state() {
  unsigned lo = 0, hi = 0;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (static_cast<unsigned long long>(hi) << 32) | lo;
}

bool tiles_permitted() {
  constexpr long request_permission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;              // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

CpuFeatures detect() {
  CpuFeatures f;
  const Leaf one = cpuid(1, 0), seven = cpuid(7, 0), seven_one = cpuid(7, 1);
  if (!bit(one.ecx, 27)) return f; // OSXSAVE: without it xgetbv does not exist
  const unsigned long long state = enabled_state();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  const bool tiles = (state & 0x60000) == 0x60000;
  f.avx2 = ymm && bit(seven.ebx, 5) && bit(one.ecx, 12);
  f.avx512 = f.avx2 && zmm && bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 30) &&
             bit(seven.ebx, 31);
  f.avx512_bf16 = f.avx512 && bit(seven_one.eax, 5);
  f.amx_bf16 =
      f.avx512_bf16 && tiles && bit(seven.edx, 22) && bit(seven.edx, 24) && tiles_permitted();
  return f;
}
#else
CpuFeatures detect() {
  return {};
}
#endif

} // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

} // namespace breakeven::compute
