"""Runs the notebooks of the examples from their folder; with `--save` it keeps the output in them."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "notebooks"


def main() -> None:
    save = "--save" in sys.argv[1:]
    notebooks = sorted(FOLDER.glob("*.ipynb"))
    if not notebooks:
        sys.exit(f"{FOLDER} has no notebooks")
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()
        if save:
            for cell in notebook.cells:
                cell.metadata.pop("execution", None)
            nbformat.write(notebook, path)
        print(f"{path.name}: {len(notebook.cells)} cells")


if __name__ == "__main__":
    main()
