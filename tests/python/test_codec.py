# SPDX-License-Identifier: BSD-2-Clause
import unittest

import numpy as np

import olaf


class Codec(unittest.TestCase):
    def test_packs_as_the_protocol_says(self):
        codec = olaf.Codec(scale=2.0)
        packed = codec.pack([1.0, -0.5, 3.0])
        self.assertEqual(packed.lanes.dtype, np.uint64)
        # 2 + (-1) * 2^32, and 6 with nothing beside it
        self.assertEqual(packed.lanes.tolist(), [2 - 2**32 + 2**64, 6])
        self.assertEqual((packed.clipped, packed.nans), (0, 0))
        self.assertEqual(codec.lanes(3), 2)
        self.assertEqual(codec.unpack(packed.lanes, 3, count=2).tolist(), [0.5, -0.25, 1.5])
        self.assertEqual(olaf.Codec.checksum(packed.lanes), 2 - 2**32 + 2**64 + 3 * 6)

    def test_says_what_it_clips(self):
        codec = olaf.Codec(format="i16x4", scale=100.0)
        self.assertEqual(codec.limit, 1.27)
        packed = codec.pack([1.27, 1.28, -5.0, float("nan"), float("inf")])
        self.assertEqual((packed.clipped, packed.nans), (3, 1))
        np.testing.assert_allclose(
            codec.unpack(packed.lanes, 5), [1.27, 1.27, -1.27, 0, 1.27], rtol=1e-6
        )

    def test_fits_its_scale_to_the_gradients(self):
        codec = olaf.Codec(format="i16x4", max_count=32).fitting(0.19, headroom=1)
        self.assertEqual((codec.format, codec.scale, codec.max_count), ("i16x4", 4096, 32))
        with self.assertRaisesRegex(ValueError, "positive and finite"):
            codec.fitting(0)

    def test_refuses_nonsense(self):
        for options, why in (
            ({"format": "f32x2"}, "choose 'i32x2'"),
            ({"format": "text"}, "choose 'i32x2'"),
            ({"scale": 0.0}, "positive and finite"),
            ({"max_count": 0}, "1 to 65535"),
            ({"format": "i16x4", "max_count": 40_000}, "wider format"),
        ):
            with self.subTest(options), self.assertRaisesRegex(ValueError, why):
                olaf.Codec(**options)
        codec = olaf.Codec()
        with self.assertRaisesRegex(ValueError, "5 elements need 3 lanes, not 2"):
            codec.unpack(np.zeros(2, np.uint64), 5)
        with self.assertRaisesRegex(ValueError, "at least 1"):
            codec.unpack(np.zeros(2, np.uint64), 4, count=0)

    def test_shows_what_it_is(self):
        self.assertEqual(repr(olaf.Codec()), "Codec(format='i32x2', scale=65536.0, max_count=256)")
        self.assertEqual(eval("olaf." + repr(olaf.Codec(scale=0.5))).scale, 0.5)


if __name__ == "__main__":
    unittest.main()
