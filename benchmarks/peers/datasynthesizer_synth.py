"""DataSynthesizer on coded rows: an order on stdin, what it cost on stdout.

`independent` is its independent mode, `privbayes` its correlated mode with one parent a column: with two it took about half
an hour where that was tried. Both read the values of a column from the rows, and take one seed for all noise (0 unless told): here one
is drawn.
"""

from __future__ import annotations

import json
import resource
import secrets
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import coded_table
import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from usage import peak_mib


def main() -> None:
    order = json.load(sys.stdin)
    with redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        codes, sizes, back = coded_table.read(order["source"], order["bins"])
        source, told = Path(folder) / "codes.csv", Path(folder) / "description.json"
        codes.to_csv(source, index=False)
        describer = DataDescriber(category_threshold=max(sizes.values()) + 1)
        about = {
            "dataset_file": str(source),
            "epsilon": order["epsilon"],
            "attribute_to_is_categorical": dict.fromkeys(sizes, True),
            "attribute_to_is_candidate_key": dict.fromkeys(sizes, False),
            "seed": secrets.randbits(31),
        }
        generator, seed = DataGenerator(), secrets.randbits(31)
        if order["kind"] == "independent":
            describer.describe_dataset_in_independent_attribute_mode(**about)
            describer.save_dataset_description_to_file(str(told))
            generator.generate_dataset_in_independent_mode(len(codes), str(told), seed=seed)
        else:
            describer.describe_dataset_in_correlated_attribute_mode(**about, k=1)
            describer.save_dataset_description_to_file(str(told))
            generator.generate_dataset_in_correlated_attribute_mode(len(codes), str(told), seed=seed)
        made = pd.DataFrame(generator.synthetic_dataset).astype(float).astype(int)
        coded_table.write(made, back, order["rows"])
    used = resource.getrusage(resource.RUSAGE_SELF)
    json.dump({"cpu_s": used.ru_utime + used.ru_stime, "memory_mb": peak_mib()}, sys.stdout)


if __name__ == "__main__":
    main()
