"""What turnfold costs: run ``python -m tests.bench`` from the repository; it prints one JSON object a line."""
