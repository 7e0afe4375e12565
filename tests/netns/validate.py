#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""validate.py SCHEMA < JSON: exits 0 if standard input, or each line of it, is what
docs/schema/SCHEMA.json says."""
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")  # newer versions than Debian 12's have another way to resolve
import jsonschema

folder = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema"
schemas = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
for schema in schemas.values():
    jsonschema.Draft202012Validator.check_schema(schema)
schema = schemas[sys.argv[1]]
store = {each["$id"]: each for each in schemas.values()}
resolver = jsonschema.RefResolver(schema["$id"], schema, store=store)
validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
text = sys.stdin.read()
try:
    values = [json.loads(text)]
except json.JSONDecodeError:
    values = [json.loads(line) for line in text.splitlines()]
wrong = 0 if values else 1
for value in values:
    for error in validator.iter_errors(value):
        wrong += 1
        print(f"{sys.argv[1]} {error.json_path}: {error.message[:300]}", file=sys.stderr)
        for cause in error.context or ():
            print(f"    {cause.json_path}: {cause.message[:200]}", file=sys.stderr)
sys.exit(1 if wrong else 0)
