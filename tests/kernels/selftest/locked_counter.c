// SPDX-License-Identifier: BSD-2-Clause
/* Loads locked_counter.bpf.c, runs it and checks what it counted, in whatever kernel this is. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <linux/types.h>

#include "locked_counter.skel.h"

enum { RUNS = 1000, BYTE = 7 };

struct counter {
    __u32 lock;
    __u32 packets;
    __u64 sum;
};

static int check(const struct locked_counter *skeleton) {
    unsigned char packet[64] = {BYTE};
    LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = sizeof(packet),
                .repeat = RUNS);
    struct counter counter = {0};
    const __u32 key = 0;
    int error = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.count_locked), &run);

    if (error) {
        fprintf(stderr, "cannot run count_locked: %s\n", strerror(-error));
        return 1;
    }
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.counters), &key, &counter)) {
        perror("cannot read counters");
        return 1;
    }
    printf("verdict %u, packets %u, sum %llu\n", run.retval, counter.packets,
           (unsigned long long)counter.sum);
    return run.retval == XDP_DROP && counter.packets == RUNS && counter.sum == RUNS * BYTE ? 0 : 1;
}

int main(void) {
    struct locked_counter *skeleton = locked_counter__open_and_load();
    struct utsname name;
    int status;

    if (!skeleton) {
        perror("cannot load locked_counter");
        return 1;
    }
    uname(&name);
    printf("%s %s\n", name.sysname, name.release);
    status = check(skeleton);
    locked_counter__destroy(skeleton);
    return status;
}
