#include "support/catch.hpp"

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

using namespace breakeven;

TEST_CASE("token counts read k as 1,024") {
  CHECK(parse_tokens("4096", "x") == 4096);
  CHECK(parse_tokens("32k", "x") == 32768);
  CHECK(parse_tokens("1.5k", "x") == 1536);
  CHECK(parse_tokens("1m", "x") == 1048576);
}

TEST_CASE("what is not a positive number is refused with its name") {
  for (const char* bad : {"", "k", "-1", "0", "1e400", "nan", "inf", "12q", "0.3", "1 k", "1e19"})
    CHECK_THROWS_WITH(parse_tokens(bad, "--max-prefix"),
                      Catch::Matchers::Contains("--max-prefix") &&
                          Catch::Matchers::Contains("32k"));
  CHECK_THROWS_AS(parse_seconds("-3s", "x"), error);
  CHECK_THROWS_AS(parse_bytes("3XB", "x"), error);
  CHECK_THROWS_AS(parse_count("-1", "x"), error);
  CHECK_THROWS_AS(parse_count("1.5", "x"), error);
}

TEST_CASE("bytes and seconds know their units") {
  CHECK(parse_bytes("4KiB", "x") == 4096);
  CHECK(parse_bytes("4kB", "x") == 4000);
  CHECK(parse_bytes("1.5GiB", "x") == 1610612736);
  CHECK(parse_seconds("500ms", "x") == Approx(0.5));
  CHECK(parse_seconds("2m", "x") == Approx(120));
}

TEST_CASE("rates say their unit") {
  CHECK(parse_rate("14GB/s", "x") == Approx(14e9));
  CHECK(parse_rate("1.5 GiB/s", "x") == Approx(1.5 * 1073741824.0));
  CHECK(parse_rate("400Gbit/s", "x") == Approx(50e9));
  for (const char* bad : {"14", "14GB", "14GBps", "0GB/s", "-1GB/s", "GB/s", "infGB/s", "1e300TB/s"})
    CHECK_THROWS_WITH(parse_rate(bad, "--tier"), Catch::Matchers::Contains("--tier"));
  CHECK(format_bytes_si(122.88e12) == "123 TB");
  CHECK(format_bytes_si(999.96e6) == "1.00 GB");
}

TEST_CASE("formatting keeps three digits and the right unit") {
  CHECK(format_rate(12.34e9) == "12.3 GB/s");
  CHECK(format_bytes(1073741824) == "1.00 GiB");
  CHECK(format_seconds(0.000123) == "123 us");
  CHECK(format_seconds(0.99996) == "1.00 s");
  CHECK(format_tokens(6057) == "6,057");
  CHECK(format_tokens(999) == "999");
  CHECK(format_tokens(1234567) == "1,234,567");
}

TEST_CASE("names from files cannot drive a terminal") {
  CHECK(printable("plain") == "plain");
  CHECK(printable("a\x1b[31mb") == "a?[31mb");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");
  CHECK(printable("\xff\xfe") == "??");
  CHECK(printable("\xe2\x82\xac") == "\xe2\x82\xac");
  CHECK(printable(std::string(5000, 'x')).size() < 300);
}

TEST_CASE("near names are suggested, far ones are not") {
  CHECK(nearest_name("lama-3.1-8b", {"llama-3.1-8b", "qwen3-8b"}) == "llama-3.1-8b");
  CHECK(nearest_name("zzzzzz", {"llama-3.1-8b", "qwen3-8b"}).empty());
}
