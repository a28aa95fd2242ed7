#pragma once

// The one place that knows which Catch2 is installed: v3, or v2 as in Debian 12.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
