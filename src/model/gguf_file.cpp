#include "model/gguf_file.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

namespace breakeven::model {
namespace {

constexpr std::uint64_t most_metadata_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t most_pairs = 65'536, most_tensors = 1'000'000, most_list = 65'536;
constexpr std::uint64_t longest_text = 65'536;

enum ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64
};

/// A file read forward, with a bound on how much of it is read at all.
class Reader {
public:
  Reader(std::FILE* file, const std::string& where) : m_path(where), m_file(file) {
    if (!m_file) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw error(error_kind::bad_input, printable(m_path) + ": " + what);
  }

  void bytes(void* target, std::uint64_t count) {
    spend(count);
    if (std::fread(target, 1, count, m_file.get()) != count) refuse("the GGUF metadata is cut off");
  }

  void skip(std::uint64_t count) {
    spend(count);
    std::array<char, 4096> waste{};
    while (count > 0) {
      const std::uint64_t part = std::min<std::uint64_t>(count, waste.size());
      if (std::fread(waste.data(), 1, part, m_file.get()) != part)
        refuse("the GGUF metadata is cut off");
      count -= part;
    }
  }

  template <class T>
  T value() {
    T result{};
    bytes(&result, sizeof(T));
    return result;
  }

  std::string string() {
    const auto length = value<std::uint64_t>();
    if (length > longest_text)
      refuse("the GGUF metadata holds a name of " + std::to_string(length) + " bytes");
    std::string result(length, '\0');
    bytes(result.data(), length);
    return result;
  }

  void skip_string() { skip(value<std::uint64_t>()); }

private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void spend(std::uint64_t count) {
    if (count > most_metadata_bytes - m_spent) refuse("the GGUF metadata is larger than 64 MiB");
    m_spent += count;
  }

  std::string m_path;
  std::unique_ptr<std::FILE, Close> m_file;
  std::uint64_t m_spent = 0;
};

std::uint64_t size_of(std::uint32_t type) {
  constexpr std::array<std::uint64_t, 13> sizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < sizes.size() ? sizes[type] : 0;
}

std::int64_t whole(Reader& reader, std::uint32_t type) {
  switch (type) {
  case u8:
    return reader.value<std::uint8_t>();
  case i8:
    return reader.value<std::int8_t>();
  case u16:
    return reader.value<std::uint16_t>();
  case i16:
    return reader.value<std::int16_t>();
  case u32:
    return reader.value<std::uint32_t>();
  case i32:
    return reader.value<std::int32_t>();
  case boolean:
    return reader.value<std::uint8_t>() != 0 ? 1 : 0;
  case i64:
    return reader.value<std::int64_t>();
  case u64: {
    const auto value = reader.value<std::uint64_t>();
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(value, most));
  }
  default:
    reader.refuse("the GGUF metadata holds a value of unknown type");
  }
}

bool is_whole(std::uint32_t type) {
  return type <= i32 || type == boolean || type == u64 || type == i64;
}

void read_array(Reader& reader, const std::string& key, GgufFile& file) {
  const auto type = reader.value<std::uint32_t>();
  const auto count = reader.value<std::uint64_t>();
  if (count > most_metadata_bytes)
    reader.refuse("the GGUF metadata holds an array that is too long");
  file.lengths[key] = static_cast<std::int64_t>(count);
  if (type == text) {
    for (std::uint64_t i = 0; i < count; ++i)
      reader.skip_string();
  } else if (is_whole(type) && count <= most_list) {
    std::vector<std::int64_t>& list = file.lists[key];
    for (std::uint64_t i = 0; i < count; ++i)
      list.push_back(whole(reader, type));
  } else if (size_of(type) > 0) {
    reader.skip(count * size_of(type));
  } else {
    reader.refuse("the GGUF metadata holds an array of unknown type");
  }
}

void read_pair(Reader& reader, GgufFile& file) {
  const std::string key = reader.string();
  const bool known = file.texts.count(key) + file.numbers.count(key) + file.lengths.count(key) > 0;
  if (known) reader.refuse("the GGUF metadata holds '" + printable(key) + "' twice");
  const auto type = reader.value<std::uint32_t>();
  if (type == array) {
    read_array(reader, key, file);
  } else if (type == text) {
    // Chat templates are long and of no use here.
    if (key.rfind("tokenizer.", 0) == 0)
      reader.skip_string();
    else
      file.texts[key] = reader.string();
  } else if (is_whole(type)) {
    file.numbers[key] = whole(reader, type);
  } else if (size_of(type) > 0) {
    reader.skip(size_of(type));
  } else {
    reader.refuse("the GGUF metadata holds a value of unknown type");
  }
}

void read_tensor(Reader& reader, GgufFile& file) {
  file.tensors.insert(reader.string());
  const auto dimensions = reader.value<std::uint32_t>();
  if (dimensions > 8)
    reader.refuse("the GGUF file holds a tensor of " + std::to_string(dimensions) + " dimensions");
  reader.skip(std::uint64_t{8} * dimensions + 4 + 8); // sizes, type, offset
}

} // namespace

bool is_gguf(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return false;
  char magic[4] = {};
  const bool same = std::fread(magic, 1, 4, file) == 4 && std::memcmp(magic, "GGUF", 4) == 0;
  std::fclose(file);
  return same;
}

namespace {

GgufFile read_all(std::FILE* opened, const std::string& where) {
  static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie");
  Reader reader(opened, where);
  reader.skip(4);
  const auto version = reader.value<std::uint32_t>();
  if (version != 2 && version != 3)
    reader.refuse("is GGUF of version " + std::to_string(version) + "; versions 2 and 3 are read");
  const auto tensors = reader.value<std::uint64_t>();
  const auto pairs = reader.value<std::uint64_t>();
  if (pairs > most_pairs || tensors > most_tensors)
    reader.refuse("claims " + std::to_string(pairs) + " metadata values and " +
                  std::to_string(tensors) + " tensors, which no model has");
  GgufFile file;
  for (std::uint64_t i = 0; i < pairs; ++i)
    read_pair(reader, file);
  for (std::uint64_t i = 0; i < tensors; ++i)
    read_tensor(reader, file);
  return file;
}

} // namespace

GgufFile read_gguf(const std::string& path) {
  return read_all(std::fopen(path.c_str(), "rbe"), path);
}

GgufFile read_gguf_bytes(std::string_view bytes, const std::string& where) {
  std::string writable(bytes); // fmemopen() takes no const memory, though it only reads here
  return read_all(::fmemopen(writable.data(), writable.size(), "rb"), where);
}

} // namespace breakeven::model
