# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the shell's script/build.tcl in this folder: reads the queue and its wrapper. The package with the
# registers' offsets is made by olaf's own build; OLAF_REGISTERS names it where it isn't in the usual place.
set olaf_hardware [file normalize [file join [pwd] ..]]
if {[info exists ::env(OLAF_REGISTERS)]} {
    set olaf_registers $::env(OLAF_REGISTERS)
} else {
    set olaf_registers [file normalize [file join $olaf_hardware .. build hardware olaf_registers.sv]]
}
if {![file exists $olaf_registers]} {
    error "build_box_250mhz.tcl: $olaf_registers isn't there: build the target olaf_registers, or name the file in OLAF_REGISTERS"
}
# Packages first: every other file names them.
read_verilog -quiet -sv [file join $olaf_hardware rtl olaf.sv]
read_verilog -quiet -sv $olaf_registers
read_verilog -quiet -sv [glob -directory [file join $olaf_hardware rtl] olaf_*.sv]
read_verilog -quiet -sv olaf_box_250mhz.sv
