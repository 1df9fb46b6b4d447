"""DataSynthesizer 0.1.13 for `./do bench curves`: its Bayesian network of degree 2, one fit at each epsilon, rows as codes.

It is told which columns are categories; what values they have it reads off the data.
"""

import json
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

warnings.filterwarnings("ignore")
DEGREE = 2


def main():
    order, found = json.load(sys.stdin), {}
    frame = pd.DataFrame(order["codes"]).astype(int)
    with redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        source, description = Path(folder) / "rows.csv", Path(folder) / "description.json"
        frame.to_csv(source, index=False)
        for epsilon in order["epsilons"]:
            describer = DataDescriber(category_threshold=20)
            describer.describe_dataset_in_correlated_attribute_mode(
                dataset_file=str(source),
                epsilon=float(epsilon),
                k=DEGREE,
                attribute_to_is_categorical=dict.fromkeys(frame, True),
                attribute_to_is_candidate_key=dict.fromkeys(frame, False),
            )
            describer.save_dataset_description_to_file(str(description))
            generator = DataGenerator()
            generator.generate_dataset_in_correlated_attribute_mode(len(frame), str(description))
            rows = generator.synthetic_dataset
            found[epsilon] = [{name: rows[name].astype(int).tolist() for name in frame}]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
