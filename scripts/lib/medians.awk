# SPDX-License-Identifier: BSD-2-Clause
# awk -v model=M -v way=W -f medians.awk rounds.csv: the median step time of each 15 steps, at their
# middle. mawk, which is Debian's, has no sort.
BEGIN { FS = ","; EACH = 15 }

$1 == model && $3 == way {
    at = count++ % EACH
    for (; at > 0 && sorted[at - 1] > $5 + 0; at--)
        sorted[at] = sorted[at - 1]
    sorted[at] = $5 + 0
    if (count % EACH == 0)
        print $2 - int(EACH / 2) "," sorted[int(EACH / 2)]
}
