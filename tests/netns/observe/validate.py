#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""validate.py NAME: every line of standard input, or all of it, follows docs/schema/NAME.json."""

import json
import pathlib
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "docs" / "schema"


def main():
    schema = json.loads((SCHEMAS / f"{sys.argv[1]}.json").read_text())
    # Names of other schemas are files next to it; nothing is fetched.
    resolver = jsonschema.RefResolver(f"{SCHEMAS.as_uri()}/{sys.argv[1]}.json", schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    text = sys.stdin.read()
    try:
        objects = [json.loads(text)]
    except json.JSONDecodeError:
        objects = [json.loads(line) for line in text.splitlines()]
    if not objects:
        sys.exit("nothing to validate")
    for value in objects:
        for error in validator.iter_errors(value):
            sys.exit(f"{error.json_path}: {error.message}")


if __name__ == "__main__":
    main()
