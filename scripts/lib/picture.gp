# SPDX-License-Identifier: BSD-2-Clause
# gnuplot -c picture.gp DIR: Age-of-Model and learning curves of both runs as one PNG.
dir = ARG1
set terminal pngcairo size 1200,1100 font "DejaVu Sans,13" background "white"
set output dir."/quickstart.png"
set border 3 lw 1.2 lc rgb "#444444"
set tics nomirror out
set grid ytics lc rgb "#dddddd" lw 1
set style fill transparent solid 0.18 noborder

# Okabe and Ito's vermilion and blue: told apart with any colour vision, and in grey.
fifo = "#D55E00"
olaf = "#0072B2"
left = 0.075
right = 0.975

# One cluster's sawtooth, from one second into the training on.
cluster = 0
start = 1.0
window = 1.0
age(file) = sprintf("< awk -F, '$2 == %d && $1 >= %g && $1 <= %g {print $1, $3}' %s", \
    cluster, start - 0.3, start + window + 0.3, file)
stats age(dir."/fifo-aom.csv") using 2 name "fifo" nooutput
stats age(dir."/olaf-aom.csv") using 2 name "olaf" nooutput
highest = 1.25 * (fifo_max > olaf_max ? fifo_max : olaf_max)
step = 10 ** floor(log10(highest)) / (highest < 5 * 10 ** floor(log10(highest)) ? 2 : 1)

set multiplot
set lmargin at screen left
set rmargin at screen right
set label 1 "CartPole: 9 clusters × 3 workers, a link a third as wide as their updates need" \
    at screen left,0.97 left font ",17"

set label 2 sprintf("Age-of-Model at the server, cluster %d: lower is fresher", cluster) \
    at screen left,0.925 left font ",14"
set tmargin at screen 0.905
set bmargin at screen 0.745
set key top right samplen 2.5
set ylabel "ms" offset 1
set xrange [start:start + window]
set yrange [0:highest]
set ytics step
set format x ""
plot age(dir."/fifo-aom.csv") using 1:2 with filledcurves y1=0 lc rgb fifo notitle, \
     age(dir."/fifo-aom.csv") using 1:2 with lines lw 2 lc rgb fifo title "fifo"
unset label 1
unset label 2
set tmargin at screen 0.725
set bmargin at screen 0.565
set format x "%g"
set xlabel "time since the first update, s"
plot age(dir."/olaf-aom.csv") using 1:2 with filledcurves y1=0 lc rgb olaf notitle, \
     age(dir."/olaf-aom.csv") using 1:2 with lines lw 2 lc rgb olaf title "olaf"

set label 2 "Learning: episode length, mean of the clusters (line) and lowest to highest (area)" \
    at screen left,0.465 left font ",14"
set label 3 "target: 400" at graph 0.005,first 418 left textcolor rgb "#444444"
set arrow from graph 0,first 400 to graph 1,first 400 nohead dt (6,4) lw 1.5 lc rgb "#444444" front
set tmargin at screen 0.445
set bmargin at screen 0.075
set key bottom right
set ylabel "steps" offset 1
set xrange [0:*]
set yrange [0:520]
set ytics 100
plot dir."/fifo-learning.dat" using 1:3:4 with filledcurves lc rgb fifo notitle, \
     dir."/olaf-learning.dat" using 1:3:4 with filledcurves lc rgb olaf notitle, \
     dir."/fifo-learning.dat" using 1:2 with lines lw 3 lc rgb fifo title "fifo", \
     dir."/olaf-learning.dat" using 1:2 with lines lw 3 lc rgb olaf title "olaf"
unset multiplot
