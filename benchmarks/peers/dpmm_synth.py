"""dpmm 0.1.9 on Adult: an order on stdin, what it cost on stdout. Iterations and size are capped so that it finishes."""

from __future__ import annotations

import json
import resource
import sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import coded_table
from dpmm.pipelines import AIMPipeline, MSTPipeline
from usage import peak_mib

#: With its defaults neither finished in 700 s.
CAPS = {
    "mst": (MSTPipeline, None, {"n_iters": 1000}),
    "aim": (AIMPipeline, 1, {"n_iters": 200, "rounds": 30}),
}


def main() -> None:
    order = json.load(sys.stdin)
    with redirect_stdout(sys.stderr):
        codes, sizes, ways = coded_table.read(order["source"], order["bins"])
        pipeline, size, more = CAPS[order["kind"]]
        made = pipeline(
            epsilon=order["epsilon"],
            delta=order.get("delta", 1e-9),
            max_model_size=size,
            n_jobs=1,
            gen_kwargs=more,
            disable_processing=True,
        )
        made.fit(codes, domain=sizes)
        coded_table.write(made.generate(n_records=len(codes)), ways, order["rows"])
    used = resource.getrusage(resource.RUSAGE_SELF)
    json.dump({"cpu_s": used.ru_utime + used.ru_stime, "memory_mb": peak_mib()}, sys.stdout)


if __name__ == "__main__":
    main()
