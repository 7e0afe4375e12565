# SPDX-License-Identifier: BSD-2-Clause
# From the server's learning curves, a row a delivery and cluster, to the mean, lowest and
# highest of all clusters every 0.1 s. A cluster keeps its value until its next delivery.
BEGIN { FS = ","; STEP = 0.1 }

NR > 1 && NF == 3 {
    slot = int($1 / STEP) + 1
    value[$2, slot] = $3
    clusters[$2]
    if (slot > last)
        last = slot
}

END {
    for (slot = 0; slot <= last; slot++) {
        sum = seen = 0
        low = high = ""
        for (cluster in clusters) {
            if ((cluster, slot) in value)
                now[cluster] = value[cluster, slot]
            if (!(cluster in now))
                continue
            sum += now[cluster]
            low = seen == 0 || now[cluster] < low ? now[cluster] : low
            high = seen == 0 || now[cluster] > high ? now[cluster] : high
            seen++
        }
        if (seen > 0)
            print slot * STEP, sum / seen, low, high
    }
}
