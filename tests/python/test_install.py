# SPDX-License-Identifier: BSD-2-Clause
import glob
import os
import subprocess
import sys
import tempfile
import unittest


class Installed(unittest.TestCase):
    def test_can_be_imported(self):
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run([os.environ["CMAKE"], "--install", os.environ["OLAF_BUILD"],
                            "--component", "python", "--prefix", prefix],
                           check=True, stdout=subprocess.DEVNULL)
            [packages] = glob.glob(f"{prefix}/lib/python3*/dist-packages")
            self.assertEqual(
                sorted(name.split(".cpython")[0] for name in os.listdir(f"{packages}/olaf")),
                ["__init__.py", "__init__.pyi", "_olaf", "py.typed", "torch.py"])
            command = "import olaf; print(olaf.__file__, olaf.Codec().limit)"
            # -I: neither this environment nor this folder helps.
            shown = subprocess.run(
                [sys.executable, "-B", "-I", "-c", f"import sys; sys.path[:0] = [{packages!r}]; "
                 + command], check=True, capture_output=True, text=True).stdout
        self.assertEqual(shown.split()[0], f"{packages}/olaf/__init__.py")


if __name__ == "__main__":
    unittest.main()
