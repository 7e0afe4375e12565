# SPDX-License-Identifier: BSD-2-Clause
# The shell sources this file to make the box's crossbar of AXI4-Lite. The queue is alone in its box, so
# there is none to make.
