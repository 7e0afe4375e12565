// SPDX-License-Identifier: BSD-2-Clause
// What gnuplot is told, with places for fmt: {name}. Run in the report's directory.
#pragma once

namespace olaf::report_script {

// Points of a picture; drawn twice as fine, for screens that are.
inline constexpr int width = 900;

// The colours of page/looks.css. blue and warn are Okabe and Ito's: told apart with any colour
// vision, and in grey.
struct Theme {
    const char *suffix; ///< behind the picture's name
    const char *back, *text, *faint, *line, *blue, *fill, *warn;
};
inline constexpr Theme themes[] = {
    {"", "#ffffff", "#1b1f24", "#5c6570", "#dfe3e8", "#0072b2", "#d6e7f2", "#d55e00"},
    {"-dark", "#1b2027", "#e6e9ed", "#98a2ae", "#2d343d", "#56b4e9", "#24394a", "#e69f00"}};

inline constexpr auto style =
    R"(set terminal pngcairo size {width},{height} font "DejaVu Sans,13" background "{back}" \
    fontscale 2 linewidth 2 pointscale 2
set termoption noenhanced
set datafile separator ","
text = "{text}"
blue = "{blue}"
light = "{fill}"
warn = "{warn}"
set border 3 lw 1.2 lc rgb "{faint}"
set tics nomirror out textcolor rgb "{faint}"
set grid ytics lt 1 lc rgb "{line}" lw 1
set xlabel textcolor rgb text
set ylabel textcolor rgb text
set style fill solid 1 noborder
set key off
set output "{file}"
)";

// The sawtooths share both scales, so that they can be compared. Their names stand beside them.
inline constexpr auto sawtooth_head =
    R"(stats [{from}:{to}] "sawtooth.csv" using 2:($3 * 1e3) name "age" nooutput
# Without a point in range stats leaves no variable, and takes away those that were there.
highest = exists("age_records") && age_records > 0 && age_max_y > 0 ? 1.05 * age_max_y : 1.0
set multiplot layout {rows},1 margins 0.085,0.86,{bottom},{top} spacing 0,0.012
set label 2 {title} at screen 0.5,{headline} center font ",15" textcolor rgb text
set label 3 'age, ms' at screen 0.018,0.5 center rotate by 90 textcolor rgb text
set xrange [{from}:{to}]
set yrange [0:highest]
power = 10 ** floor(log10(highest / 2))
set ytics power * (highest / 2 < 2 * power ? 1 : highest / 2 < 5 * power ? 2 : 5)
set format x ""
)";
inline constexpr auto sawtooth_panel =
    R"({x_axis}set label 1 "cluster {cluster}" at graph 1.01,0.5 left textcolor rgb text
plot "sawtooth.csv" using ($1 == {cluster} ? $2 : NaN):($3 * 1e3) with filledcurves y1=0 lc rgb light, \
     "sawtooth.csv" using ($1 == {cluster} ? $2 : NaN):($3 * 1e3) with lines lw 1.6 lc rgb blue
unset label 2
unset label 3
)";
// A step at each number that there was, from nothing up to all.
inline constexpr auto folds = R"(set title {title} font ",15" textcolor rgb text
set xlabel 'updates in one departing message'
set ylabel 'departures with as many or fewer, %'
set yrange [0:104]
set logscale x 2
set xrange [{left}:{right}]
set xtics ({ticks})
set arrow from {first},0 to {first},{first_part} nohead lw 3 lc rgb blue
set arrow from {last},100 to graph 1,first 100 nohead lw 3 lc rgb blue
plot "folds.csv" using 1:($3 * 100) every ::1 with steps lw 3 lc rgb blue, \
     "folds.csv" using 1:($3 * 100) every ::1 with points pt 7 ps 0.9 lc rgb blue
)";
inline constexpr auto occupancy = R"(set title {title} font ",15" textcolor rgb text
set xlabel 'time, s'
set ylabel 'messages'
set rmargin 12
set xrange [0:{seconds}]
set yrange [0:{capacity}]
set arrow from graph 0,first {full} to graph 1,first {full} nohead dt (6,4) lw 1.5 lc rgb warn
set label 1 'Qmax {full}' at graph 1.01,first {full} left textcolor rgb warn
plot "occupancy.csv" using 1:2 every ::1 with fillsteps lc rgb light, \
     "occupancy.csv" using 1:2 every ::1 with steps lw 1.5 lc rgb blue
)";
// A bar a reason that there was, from the top; its number behind it.
inline constexpr auto losses = R"(set title {title} font ",15" textcolor rgb text
$lost << EOD
{rows}EOD
set xlabel 'messages that the queue dropped or refused; frames (lost_behind)'
set border 1
unset grid
set grid xtics lt 1 lc rgb "{line}" lw 1
set xrange [0:{top}]
set yrange [{count} - 0.4:-0.6]
set ytics scale 0 textcolor rgb text
plot $lost using ($2 / 2):0:(0):2:($0 - 0.32):($0 + 0.32):ytic(1) with boxxyerror lc rgb warn, \
     $lost using 2:0:2 with labels left offset 0.6,0 textcolor rgb text
)";
inline constexpr auto nothing_lost = R"(set title {title} font ",15" textcolor rgb text
unset border
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set label 1 'nothing lost' at graph 0.5,0.5 center font ",17" textcolor rgb text
plot NaN
)";

} // namespace olaf::report_script
