# SPDX-License-Identifier: BSD-2-Clause
# gnuplot -c picture.gp DIR: Age-of-Model and learning curves of both runs as one PNG.
dir = ARG1
set terminal pngcairo size 1200,1000 font "DejaVu Sans,13" background "white"
set output dir."/quickstart.png"
set datafile separator ","
set border 3 lw 1.2 lc rgb "#444444"
set tics nomirror out
set grid ytics lc rgb "#dddddd" lw 1
set key top left horizontal Left reverse samplen 2.5 spacing 1.2

# Okabe and Ito's vermilion and blue: told apart with any colour vision, and in grey.
fifo = "#D55E00"
olaf = "#0072B2"
cluster = 0
start = 2.0
window = 1.0

set multiplot layout 2,1 margins 0.075,0.975,0.075,0.925 spacing 0,0.13 \
    title "CartPole, 9 clusters × 3 workers, a link a third as wide as their updates need" \
    font ",16"

set title "Age-of-Model at the server, cluster 0, one second of training"
set xlabel "time since the first update, s"
set ylabel "Age-of-Model, ms"
set xrange [start:start + window]
set yrange [0:*]
age(file) = sprintf("< awk -F, '$2 == %d && $1 >= %g && $1 <= %g' %s", cluster, start - 0.2, start + window + 0.2, file)
plot age(dir."/fifo-aom.csv") using 1:3 with lines lw 1.8 lc rgb fifo title "fifo", \
     age(dir."/olaf-aom.csv") using 1:3 with lines lw 1.8 lc rgb olaf title "olaf"

set title "Learning: mean episode length of 9 clusters (line), lowest to highest (area)"
set ylabel "episode length, steps"
set xrange [0:*]
set yrange [0:540]
set key top left
set datafile separator whitespace
set style fill transparent solid 0.18 noborder
set arrow from graph 0, first 400 to graph 1, first 400 nohead dt (6,4) lw 1.2 lc rgb "#444444"
set label "target 400" at graph 0.995, first 415 right textcolor rgb "#444444"
plot dir."/fifo-learning.dat" using 1:3:4 with filledcurves lc rgb fifo notitle, \
     dir."/olaf-learning.dat" using 1:3:4 with filledcurves lc rgb olaf notitle, \
     dir."/fifo-learning.dat" using 1:2 with lines lw 2.5 lc rgb fifo title "fifo", \
     dir."/olaf-learning.dat" using 1:2 with lines lw 2.5 lc rgb olaf title "olaf"
unset multiplot
