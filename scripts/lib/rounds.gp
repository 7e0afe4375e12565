# SPDX-License-Identifier: BSD-2-Clause
# gnuplot -c rounds.gp DIR: losses and step times of both ways, from DIR/rounds.csv, as one PNG.
dir = ARG1
set terminal pngcairo size 1200,1100 font "DejaVu Sans,13" background "white"
set output dir."/rounds.png"
set border 3 lw 1.2 lc rgb "#444444"
set tics nomirror out
set grid ytics lc rgb "#dddddd" lw 1
set datafile separator ","

# Okabe and Ito's vermilion and blue: told apart with any colour vision, and in grey.
gloo = "#D55E00"
olaf = "#0072B2"

rows(model, way, column) = sprintf("< awk -F, '$1 == \"%s\" && $3 == \"%s\" {print $2 \",\" $%d}' %s/rounds.csv", \
    model, way, column, dir)
# Both ways' losses of a step, side by side; rows of a step come in either order.
apart(model) = sprintf("< awk -F, '$1 == \"%s\" {if ($2 in loss) {d = loss[$2] - $4; print $2 \",\" (d < 0 ? -d : d)} else loss[$2] = $4}' %s/rounds.csv", \
    model, dir)
medians(model, way) = sprintf("< awk -v model=%s -v way=%s -f scripts/lib/medians.awk %s/rounds.csv", \
    model, way, dir)

array left[2] = [0.085, 0.575]
array right[2] = [0.485, 0.975]
array names[2] = ["mlp", "transformer"]
set multiplot
set label 1 "DistributedDataParallel, 4 workers: gradients averaged by Gloo, and by a host with Olaf" \
    at screen left[1],0.97 left font ",17"
do for [i=1:2] {
    name = names[i]
    set lmargin at screen left[i]
    set rmargin at screen right[i]
    set xrange [0:*]
    set format x ""
    unset xlabel
    unset logscale y
    set format y "%g"

    set label 2 sprintf("%s: loss", name) at screen left[i],0.925 left font ",14"
    set tmargin at screen 0.905
    set bmargin at screen 0.640
    set key default top right samplen 2.5
    set ylabel "loss" offset 1
    set yrange [0:*]
    plot rows(name, "gloo", 4) using 1:2 with lines lw 6 lc rgb "#66D55E00" title "gloo", \
         rows(name, "olaf", 4) using 1:2 with lines lw 1.5 lc rgb olaf title "olaf"
    unset label 1

    set label 2 "how far the two losses of a step are apart" at screen left[i],0.605 left font ",14"
    set tmargin at screen 0.585
    set bmargin at screen 0.395
    set key off
    set ylabel "difference" offset 1
    set logscale y
    set yrange [1e-8:1e-4]
    set format y "10^{%T}"
    plot apart(name) using 1:($2 > 1e-8 ? $2 : 1e-8) with points pt 7 ps 0.4 lc rgb "#444444"

    set label 2 "time of a step, medians of 15" at screen left[i],0.355 left font ",14"
    set tmargin at screen 0.335
    set bmargin at screen 0.075
    set key at graph 1.0,1.13 top right horizontal samplen 2.5 # beside the title, off the curves
    set format x "%g"
    set xlabel "step"
    set ylabel "ms" offset 1
    unset logscale y
    set yrange [0:*]
    set format y "%g"
    plot medians(name, "gloo") using 1:2 with lines lw 2.5 lc rgb gloo title "gloo", \
         medians(name, "olaf") using 1:2 with lines lw 2.5 lc rgb olaf title "olaf"
}
unset multiplot
