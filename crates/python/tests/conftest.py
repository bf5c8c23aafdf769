import matplotlib

matplotlib.use("Agg")

# Functions for a test that needs Triton, which need not be installed.
collect_ignore = ["triton_functions.py"]
