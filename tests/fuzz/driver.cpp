// Runs the fuzz target without libFuzzer, on mutations of the sample file: any compiler, fixed
// seed.
//   fuzz_driver SAMPLE ROUNDS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::mt19937_64 generator(1);
std::size_t pick(std::size_t below) {
  return generator() % below;
}

/// Replaces a run of digits, swaps pieces of text, or flips a byte.
void mutate(std::string& text) {
  static const char* const numbers[] = {"0",     "-1",   "1e308", "-0.0", "1e-320",
                                        "9e15",  "3",    "null",  "true", "18446744073709551615",
                                        "0.001", "2048", "[]",    "{}",   "1099511627776"};
  if (pick(4) == 0) {
    text[pick(text.size())] = static_cast<char>(pick(255) + 1);
    return;
  }
  const std::size_t from = text.find_first_of("0123456789", pick(text.size()));
  if (from == std::string::npos) return;
  const std::size_t to = text.find_first_not_of("0123456789.e-", from);
  text.replace(from, to == std::string::npos ? to : to - from,
               numbers[pick(sizeof numbers / sizeof *numbers)]);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream stream(argv[1], std::ios::binary);
  const std::string sample{std::istreambuf_iterator<char>(stream), {}};
  if (sample.empty()) return 2;
  for (int round = std::atoi(argv[2]); round > 0; --round) {
    std::string input = sample;
    for (std::size_t i = pick(4); i > 0; --i)
      mutate(input);
    input += '\0';
    for (std::size_t i = pick(160); i > 0; --i)
      input += static_cast<char>(pick(256));
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  std::puts("done");
}
