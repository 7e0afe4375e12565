// SPDX-License-Identifier: BSD-2-Clause
// What gnuplot is told, with places for fmt: {name}. Run in the report's directory.
#pragma once

namespace olaf::report_script {

// Okabe and Ito's colours: told apart with any colour vision, and in grey.
inline constexpr auto style =
    R"(set terminal pngcairo size 1200,{height} font "DejaVu Sans,13" background "white"
set datafile separator ","
set border 3 lw 1.2 lc rgb "#444444"
set tics nomirror out
set grid ytics lc rgb "#dddddd" lw 1
set style fill transparent solid 0.18 noborder
set termoption noenhanced
blue = "#0072B2"
vermilion = "#D55E00"
set key off
set output "{name}.png"
)";

// The sawtooths share both scales, so that they can be compared.
inline constexpr auto sawtooth_head =
    R"(stats [{from}:{to}] "sawtooth.csv" using 2:($3 * 1e3) name "age" nooutput
# Without a point in range stats leaves no variable, and takes away those that were there.
highest = exists("age_records") && age_records > 0 && age_max_y > 0 ? 1.05 * age_max_y : 1.0
set multiplot layout {rows},1 margins 0.09,0.98,{bottom},0.98 spacing 0,0.012
set xrange [{from}:{to}]
set yrange [0:highest]
power = 10 ** floor(log10(highest / 2))
set ytics power * (highest / 2 < 2 * power ? 1 : highest / 2 < 5 * power ? 2 : 5)
set format x ""
)";
inline constexpr auto sawtooth_panel =
    R"({x_axis}set label 1 "cluster {cluster}" at graph 0.004,0.85 left front
plot "sawtooth.csv" using ($1 == {cluster} ? $2 : NaN):($3 * 1e3) with filledcurves y1=0 lc rgb blue, \
     "sawtooth.csv" using ($1 == {cluster} ? $2 : NaN):($3 * 1e3) with lines lw 1.6 lc rgb blue
)";
inline constexpr auto folds = R"(set xlabel "updates folded into one departure"
set ylabel "part of the departures"
set yrange [0:1.02]
set logscale x 2
set xrange [0.9:*]
plot "folds.csv" using 1:3 every ::1 with steps lw 3 lc rgb blue, \
     "folds.csv" using 1:3 every ::1 with points pt 7 ps 0.7 lc rgb blue
)";
inline constexpr auto occupancy = R"(set xlabel "time, s"
set ylabel "messages that wait"
set xrange [0:{seconds}]
set yrange [0:{capacity}]
set arrow from graph 0,first {full} to graph 1,first {full} nohead dt (6,4) lw 1.5 lc rgb vermilion
set label 1 "Qmax {full}" at graph 0.995,first {full} right offset 0,0.6 textcolor rgb vermilion
plot "occupancy.csv" using 1:2 every ::1 with fillsteps lc rgb blue, \
     "occupancy.csv" using 1:2 every ::1 with steps lw 1.5 lc rgb blue
)";
inline constexpr auto losses = R"(set ylabel "messages, frames"
set yrange [0:{top}]
set style fill solid 0.8 noborder
set boxwidth 0.6
set xtics rotate by -20
set offsets 0.5,0.5,0,0
plot "losses.csv" using 0:2:xtic(1) every ::1 with boxes lc rgb vermilion, \
     "losses.csv" using 0:2:2 every ::1 with labels offset 0,0.7
)";

} // namespace olaf::report_script
