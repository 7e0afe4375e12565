// SPDX-License-Identifier: BSD-2-Clause
/*
 * olaf_load_object [-v] FILE.bpf.o...
 *
 * Loads each object into the running kernel as libbpf would, attaches nothing,
 * leaves nothing behind, and says per program how much work the verifier had.
 * A refusal prints the end of the verifier's log, or all of it with -v.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

enum {
    LOG_TAIL = 16 << 10, /* the reason is at the end of the log */
    RING_BYTES = 4096,   /* ring buffers want whole pages */
    MAP_ENTRIES = 64,
};

static bool verbose;

static int print_log(enum libbpf_print_level level, const char *format, va_list args) {
    char *text;
    int length;

    if (level > (verbose ? LIBBPF_INFO : LIBBPF_WARN))
        return 0;
    length = vasprintf(&text, format, args);
    if (length < 0)
        return 0;
    if (!verbose && length > LOG_TAIL)
        printf("[... %d bytes left out, -v shows them]\n%s", length - LOG_TAIL,
               text + length - LOG_TAIL);
    else
        fputs(text, stdout);
    free(text);
    return 0;
}

/* What a loader decides at run time: nothing is pinned, and maps without a size get a small one. */
static int prepare_maps(struct bpf_object *object) {
    struct bpf_map *map;

    bpf_object__for_each_map(map, object) {
        int error = bpf_map__set_pin_path(map, NULL);

        if (!error && bpf_map__max_entries(map) == 0)
            error = bpf_map__set_max_entries(
                map, bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF ? RING_BYTES : MAP_ENTRIES);
        if (error)
            return error;
    }
    return 0;
}

static void print_program(const struct bpf_program *program) {
    struct bpf_prog_info info = {0};
    __u32 size = sizeof(info);

    if (!bpf_program__autoload(program))
        return;
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size)) {
        printf("  %s: loaded; no figures: %s\n", bpf_program__name(program), strerror(errno));
        return;
    }
    printf("  %s: %u instructions processed, %u in the program, %u bytes of machine code\n",
           bpf_program__name(program), info.verified_insns,
           info.xlated_prog_len / (__u32)sizeof(struct bpf_insn), info.jited_prog_len);
}

static bool load(const char *path) {
    struct bpf_object *object = bpf_object__open_file(path, NULL);
    struct bpf_program *program;
    int error;

    if (!object) {
        printf("%s: cannot open: %s\n", path, strerror(errno));
        return false;
    }
    error = prepare_maps(object);
    if (!error)
        error = bpf_object__load(object);
    if (error) {
        printf("%s: refused: %s\n", path, strerror(-error));
    } else {
        printf("%s: loads\n", path);
        bpf_object__for_each_program(program, object) print_program(program);
    }
    bpf_object__close(object);
    return !error;
}

int main(int argc, char **argv) {
    bool all_loaded = true;
    int first = 1;

    if (argc > 1 && strcmp(argv[1], "-v") == 0) {
        verbose = true;
        first = 2;
    }
    if (first >= argc) {
        fprintf(stderr, "usage: olaf_load_object [-v] FILE.bpf.o...\n");
        return 2;
    }
    libbpf_set_print(print_log);
    for (int i = first; i < argc; i++)
        all_loaded &= load(argv[i]);
    return all_loaded ? 0 : 1;
}
