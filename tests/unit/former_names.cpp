// SPDX-License-Identifier: BSD-2-Clause
// Doesn't compile: the messages tell what each call is called now. See CMakeLists.txt.
#include <olaf/collective.hpp>

void call(olaf::Collective &collective) {
    (void)collective.join_running();
    (void)collective.depart(std::chrono::seconds(1));
    (void)collective.leave();
}
