#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""fetch.py URL: what is there, on standard output; status 1 if nothing is."""

import sys
import urllib.error
import urllib.request

try:
    # Past any proxy that the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    sys.stdout.write(opener.open(sys.argv[1], timeout=20).read().decode())
except (urllib.error.URLError, OSError) as error:
    sys.exit(str(error))
