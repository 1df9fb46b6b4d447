"""The tour as a notebook: committed without outputs, run from its first cell to its last, and its results have faces."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TOUR = Path(__file__).resolve().parents[2] / "examples" / "tour.ipynb"
#: What only this kind's face says.
KINDS = {
    "Release": "± 95% confidence interval of the added noise, per number.",
    "Question": "When last explained, it would have cost epsilon 0.5.",
    "Budget": "Budget of patients",
    "Model": "mst model of patients",
    "Evidence": "most allowed by the claim",
}


def cells():
    return [cell for cell in nbformat.read(TOUR, as_version=4).cells if cell.cell_type == "code"]


def test_it_is_committed_without_outputs():
    nbformat.validate(nbformat.read(TOUR, as_version=4))
    for cell in cells():
        assert cell.outputs == [] and cell.execution_count is None
        assert max(map(len, cell.source.splitlines())) <= 100


@pytest.mark.deep  # faces are in tests/present/test_notebook.py
@pytest.mark.filterwarnings("default")  # a kernel's own sockets and loops are not ours to warn of
def test_it_runs_and_every_kind_of_result_has_a_face(tmp_path, monkeypatch):
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "here").mkdir()
    notebook = nbformat.read(TOUR, as_version=4)
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path / "here")}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    faces = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
    ours = [face for face in faces if face.startswith('<div class="discreet">')]
    for kind, words in KINDS.items():
        assert any(words in face for face in ours), kind
    assert not any(re.search(r"<script|://|url\(", face) for face in ours)
    printed = "".join(output.text for output in shown if output.output_type == "stream")
    assert "'disease' would show rows of people" in printed
    assert "this request costs epsilon 2, but 'patients' has 0.7 remaining of 3" in printed
    left = {path.name for path in tmp_path.rglob("*") if "discreet" in path.name}
    assert not left and not any((tmp_path / "here").iterdir()) and not any((tmp_path / "TMPDIR").iterdir())
