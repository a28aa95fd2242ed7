"""Run in an environment with nothing but the wheel: python -m unittest, SAMPLE=a break-even file."""

import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest

import breakeven

SAMPLE = pathlib.Path(os.environ["SAMPLE"])


class Policies(unittest.TestCase):
    def setUp(self):
        self.policy = breakeven.Policy.load(SAMPLE)
        self.memory = self.policy.find_tier("memory")

    def test_needs_no_numpy(self):
        self.assertNotIn("numpy", sys.modules)

    def test_facts(self):
        self.assertEqual(self.policy.tiers, ["memory"])
        self.assertEqual(self.policy.model, "llama-3.2-1b")
        self.assertEqual(self.policy.chunk_tokens, 2048)
        self.assertIsNone(self.policy.mismatch(model="llama-3.2-1b", tiers=["memory"]))
        self.assertIn("model.kv_dtype", self.policy.mismatch(kv_dtype="fp8"))

    def test_threshold(self):
        self.assertEqual(self.policy.threshold("memory"), 512)
        for tier in (self.memory, "memory"):
            self.assertTrue(self.policy.should_load(tier, 512))
            self.assertFalse(self.policy.should_load(tier, 511))
        self.assertEqual(self.policy.find_tier("nobody"), -1)
        self.assertFalse(self.policy.should_load(-1, 10**9))
        self.assertFalse(self.policy.should_load("nobody", 10**9))
        self.assertIsNone(self.policy.threshold("nobody"))

    def test_decide(self):
        d = self.policy.decide(8192, self.memory, 6000, resident=512, queue_wait_s=0.001)
        self.assertTrue(d.load and d)
        self.assertLessEqual(d.load_tokens, 6000)
        self.assertGreater(d.recompute_s, d.load_s)
        self.assertIn("faster", d.reason)
        self.assertIn("load_tokens", repr(d))
        q = breakeven.Query(8192, "memory", 6000, resident=512, queue_wait_s=0.001)
        self.assertEqual(self.policy.decide(q).load_tokens, d.load_tokens)
        self.assertFalse(self.policy.decide(8192, self.memory, -1))
        self.assertFalse(self.policy.decide(8192, "nobody", 6000))

    def test_segments_and_plan(self):
        q = breakeven.Query(9000, segments=[("memory", 4000, 1.0), (self.memory, 8000, 2.0)])
        alone = self.policy.decide(q)
        planned = self.policy.plan([q] * 40)
        self.assertEqual(planned[0].load_s, alone.load_s)
        self.assertGreater(planned[1].load_s, alone.load_s)
        self.assertFalse(planned[-1].load)
        self.assertEqual(self.policy.plan([]), [])

    def test_store(self):
        self.assertTrue(self.policy.should_store("memory", 8192, 10.0))
        refused = self.policy.should_store("memory", 8192, 10.0, budget_bytes_per_day=1e6)
        self.assertIn("budget", refused.reason)

    def test_observe(self):
        observer = self.policy.observe()
        for _ in range(500):
            observer.load(self.memory, 1e9, 0, 1.5 * (20e-6 + 0.1))
        self.assertAlmostEqual(observer.load_factor("memory"), 1.5, delta=0.1)
        self.assertTrue(observer.calibration_due)
        corrected = observer.corrected()
        self.assertNotEqual(corrected.threshold("memory"), 512)
        self.assertEqual(observer.prefill_factor, 1)

    def test_errors_name_the_key(self):
        data = json.loads(SAMPLE.read_text())
        data["model"]["chunk_tokens"] = 0
        with self.assertRaisesRegex(breakeven.PolicyFileError, "model.chunk_tokens"):
            breakeven.Policy.parse(json.dumps(data))
        with self.assertRaises(ValueError):
            breakeven.Policy.load("/does/not/exist.json")
        with self.assertRaises(TypeError):
            self.policy.should_load(self.memory, 0.5)
        with self.assertRaises(TypeError):
            self.policy.decide(8192, self.memory, 6000, 512)  # resident must be named

    def test_reload(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "breakeven.json"
            path.write_text(SAMPLE.read_text())
            reloader = breakeven.Reloader(path)
            self.assertFalse(reloader.check())
            data = json.loads(SAMPLE.read_text())
            data["tiers"][0]["break_even"]["tokens"] = 777
            fresh = path.with_suffix(".new")
            fresh.write_text(json.dumps(data))
            fresh.replace(path)
            self.assertTrue(reloader.check())
            self.assertEqual(reloader.policy.threshold("memory"), 777)
            path.write_text("{")
            self.assertFalse(reloader.check())
            self.assertIn("JSON", reloader.message)

    def test_threads_share_a_policy(self):
        wrong = []

        def work():
            for cached in range(2000):
                if self.policy.should_load(self.memory, cached) != (cached >= 512):
                    wrong.append(cached)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_typed(self):
        folder = pathlib.Path(breakeven.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        stub = (folder / "_breakeven.pyi").read_text()
        for name in ("should_load", "decide", "plan", "observe"):
            self.assertIn(f"def {name}", stub)


if __name__ == "__main__":
    unittest.main()
