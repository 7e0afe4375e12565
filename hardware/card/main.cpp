// SPDX-License-Identifier: BSD-2-Clause
// olaf-card: the RTL of the queue as a process between two network devices, to try `olaf attach --hw` without
// a card. Exit status 0 ended by SIGINT, SIGTERM or SIGHUP, 1 failed, 2 wrong usage. SIGUSR1 stops its clock,
// so that what is paced waits; SIGUSR2 lets it go on.
#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>

#include "running.hpp"

namespace {

volatile std::sig_atomic_t ended = 0, stopped = 0;

void end(int) { ended = 1; }
void stop_or_go(int signal) { stopped = signal == SIGUSR1 ? 1 : 0; }

void catch_signals() {
    struct sigaction action {};
    action.sa_handler = end;
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
        sigaction(number, &action, nullptr);
    action.sa_handler = stop_or_go;
    for (const int number : {SIGUSR1, SIGUSR2})
        sigaction(number, &action, nullptr);
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app("The queue in hardware as a process: a slow card that needs no hardware.", "olaf-card");
    olaf::card::Options options;
    app.add_option("--bar", options.bar, "file of its registers, which `olaf attach --card` maps")->required();
    app.add_option("--worker-side", options.worker_side, "device where the workers are")->required();
    app.add_option("--server-side", options.server_side, "device where the server is")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &wrong) {
        return app.exit(wrong) == 0 ? 0 : 2;
    }
    catch_signals();
    try {
        olaf::card::run(options, ended, stopped);
        return 0;
    } catch (const std::exception &failed) {
        std::cerr << "olaf-card: " << failed.what() << "\n";
        return 1;
    }
}
