"""Validates break-even files against the JSON Schema with an independent validator."""
import json
import sys

import jsonschema

with open(sys.argv[1]) as stream:
    schema = json.load(stream)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for path in sys.argv[2:]:
    with open(path) as stream:
        errors = [f"{path}: {list(error.absolute_path)}: {error.message}"
                  for error in validator.iter_errors(json.load(stream))]
    if errors:
        sys.exit("\n".join(errors[:10]))
print(f"{len(sys.argv) - 2} files are valid")
