// SPDX-License-Identifier: BSD-2-Clause
// Traces as olaf-replay reads them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "evaluation/traffic/trace.hpp"

namespace olaf::evaluation {
namespace {

class Trace : public testing::Test {
  protected:
    ~Trace() override { std::filesystem::remove(path_); }
    Result<std::vector<Moment>> read(const std::string &text) {
        std::ofstream(path_) << text;
        return read_trace(path_);
    }
    std::string path_ =
        std::filesystem::temp_directory_path() / ("olaf-trace-" + std::to_string(::getpid()));
};

TEST_F(Trace, IsMomentsInOrder) {
    const auto moments = read("# said by nobody\n0 3 1\n\n12.5 0 2\n");
    ASSERT_TRUE(moments);
    ASSERT_EQ(moments->size(), 2U);
    EXPECT_EQ(moments->front().cluster, 3U);
    EXPECT_EQ(moments->front().worker, 1U);
    EXPECT_EQ(moments->back().at_ns, 12'500);
}

TEST_F(Trace, IsRefusedWithTheLineThatIsWrong) {
    for (const std::string wrong : {"0 1", "0 1 2 3", "x 1 2", "-1 0 0", "1e300 0 0", "nan 0 0"}) {
        const auto moments = read("0 0 0\n" + wrong + "\n");
        ASSERT_FALSE(moments) << wrong;
        EXPECT_NE(moments.error().message().find("line 2"), std::string::npos) << wrong;
    }
}

TEST_F(Trace, IsRefusedWhereTimeGoesBack) {
    EXPECT_FALSE(read("5 0 0\n4 0 0\n"));
    EXPECT_TRUE(read("5 0 0\n5 0 0\n"));
}

TEST_F(Trace, IsRefusedWithoutAnUpdate) {
    EXPECT_FALSE(read("# nothing\n"));
    EXPECT_FALSE(read_trace(path_ + "-that-is-not-there"));
}

} // namespace
} // namespace olaf::evaluation
