"""dpmm 0.1.9 for `./do bench curves`: one fit at each epsilon, and its rows as codes. Iterations are capped."""

import json
import sys
from contextlib import redirect_stdout

import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline

CAPS = {
    "mst": (MSTPipeline, None, {"n_iters": 1000}),
    "aim": (AIMPipeline, 1, {"n_iters": 200, "rounds": 30}),
}


def main():
    order, found = json.load(sys.stdin), {}
    codes = pd.DataFrame(order["codes"]).astype(int)
    pipeline, size, more = CAPS[order["kind"]]
    with redirect_stdout(sys.stderr):
        for epsilon in order["epsilons"]:
            made = pipeline(
                epsilon=float(epsilon),
                delta=order["delta"],
                max_model_size=size,
                n_jobs=1,
                gen_kwargs=more,
                disable_processing=True,
            )
            made.fit(codes, domain=order["sizes"])
            rows = made.generate(n_records=len(codes))
            found[epsilon] = [{name: rows[name].astype(int).tolist() for name in order["sizes"]}]
            print(epsilon, file=sys.stderr)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
