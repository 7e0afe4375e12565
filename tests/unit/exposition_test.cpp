// SPDX-License-Identifier: BSD-2-Clause
// The text format of Prometheus.
#include <gtest/gtest.h>

#include "loader/observe/metrics.hpp"

namespace olaf::test::exposition_test {
namespace {

using olaf::Exposition;

TEST(Exposition, KeepsAFamilyInOnePiece) {
    Exposition out;
    out.counter("a_total", "As.", {{"device", "eth0"}}, 1);
    out.gauge("b", "Bs.", {}, 0.5);
    out.counter("a_total", "As.", {{"device", "eth1"}}, 18446744073709551615.0);
    EXPECT_EQ(out.text(), "# HELP a_total As.\n"
                          "# TYPE a_total counter\n"
                          "a_total{device=\"eth0\"} 1\n"
                          "a_total{device=\"eth1\"} 1.8446744073709552e+19\n"
                          "# HELP b Bs.\n"
                          "# TYPE b gauge\n"
                          "b 0.5\n");
}

TEST(Exposition, EscapesLabels) {
    Exposition out;
    out.gauge("a", "As.", {{"x", "a\\b\"c\nd"}}, 1);
    EXPECT_NE(out.text().find("a{x=\"a\\\\b\\\"c\\nd\"} 1\n"), std::string::npos) << out.text();
}

TEST(Exposition, HistogramsEndWithAllThatThereIs) {
    Exposition out;
    const double sum = 7;
    out.histogram("h", "H.", {}, {{1, 2}, {3, 4}}, 5, sum);
    EXPECT_EQ(out.text(), "# HELP h H.\n# TYPE h histogram\n"
                          "h_bucket{le=\"1\"} 2\nh_bucket{le=\"3\"} 4\nh_bucket{le=\"+Inf\"} 5\n"
                          "h_sum 7\nh_count 5\n");
}

} // namespace
} // namespace olaf::test::exposition_test
