# make demo: install and run the first lift.  make test: lint, types and all tests.  make check: lint, format, types.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check bench clean packages browser

$(VENV)/.run: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.run

packages:
	@sh tools/packages.sh

browser:
	@sh tools/packages.sh test

demo: packages $(VENV)/.run
	@mkdir -p out
	$(BIN)/manikin run lift --out out/lift.npz --out out/lift.glb --out out/lift.png --out out/lift.mp4
	@echo
	@echo "Play out/lift.mp4, look at out/lift.png, import out/lift.glb into Blender: set 60 fps, then File > Import > glTF 2.0."
	@echo
	@echo "The command manikin is in $(BIN). To type it without that path:"
	@echo "  source $(BIN)/activate      (this shell; or, for good: uv tool install .)"
	@echo "Then grab the character in the browser, or lift a heavier box with the back:"
	@echo "  manikin studio lift"
	@echo "  manikin run lift --set props.box.mass=25 --set character.clip=lift_back --out out/back.glb"

# the studio runs in real time: its tests run alone
test: browser $(VENV)/.test check
	$(BIN)/python -m pytest -n 2 --dist loadfile --ignore tests/studio
	$(BIN)/python -m pytest tests/studio

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/manikin bench

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache
