// SPDX-License-Identifier: BSD-2-Clause
// One ABI, three compilers: no size or offset may differ between BPF C, C11 and C++.
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "layout.skel.h"
#include "abi_layout.h"

extern "C" const __u32 abi_layout_c11[ABI_ENTRIES];

namespace olaf::test::abi_test {
namespace {

const __u32 here[] = {ABI_LAYOUT};
static_assert(std::size(here) == ABI_ENTRIES);

std::vector<std::string> names() {
#undef ABI_SIZE
#undef ABI_FIELD
#define ABI_SIZE(name) "sizeof " #name,
#define ABI_FIELD(name, field) #name "::" #field,
    return {ABI_LAYOUT};
}

void expect_layout(const volatile __u32 *other) {
    auto name = names();
    for (std::size_t i = 0; i < ABI_ENTRIES; i++)
        EXPECT_EQ(here[i], other[i]) << name[i];
}

TEST(Abi, IsTheSameInC11) { expect_layout(abi_layout_c11); }

TEST(Abi, IsTheSameInBpf) {
    std::unique_ptr<layout, void (*)(layout *)> object(layout__open(), layout__destroy);
    ASSERT_TRUE(object);
    expect_layout(object->rodata->abi_layout);
}

} // namespace
} // namespace olaf::test::abi_test
