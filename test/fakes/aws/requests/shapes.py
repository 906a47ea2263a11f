"""Validates recorded commands against botocore's service models.

Standard input has one JSON object per line: `service`, `operation` and `input`. Prints one line per problem. botocore's
ParamValidator checks names, types, required members and minimums; the subclass adds what the models also state: enums,
maximums and patterns. https://botocore.amazonaws.com/v1/documentation/api/latest/index.html
"""

import json
import sys

import regex
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

# The models' patterns are for UTF-16, in which surrogates encode the characters above U+FFFF.
SURROGATES = (r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF")

EXTRA = {"enum", "max", "pattern"}


class Validator(ParamValidator):
    VALIDATED_METADATA_ATTRS = ParamValidator.VALIDATED_METADATA_ATTRS | EXTRA

    def __init__(self):
        self.problems = []

    def _max(self, name, value, shape, what):
        most = shape.metadata.get("max")
        if most is not None and value > most:
            self.problems.append(f"{name[1:]}: {what} {value} is more than {most}")

    def _validate_string(self, param, shape, errors, name):
        super()._validate_string(param, shape, errors, name)
        if not isinstance(param, str):
            return
        self._max(name, len(param), shape, "length")
        if shape.enum and param not in shape.enum:
            self.problems.append(f"{name[1:]}: '{param}' is not in the enum {shape.name}")
        # The services compare the whole value, even if a pattern has no anchors.
        pattern = shape.metadata.get("pattern")
        if pattern is not None and not regex.fullmatch(pattern.replace(*SURROGATES), param):
            self.problems.append(f"{name[1:]}: '{param[:80]}' does not match {pattern}")

    def _validate_list(self, param, shape, errors, name):
        super()._validate_list(param, shape, errors, name)
        if isinstance(param, list):
            self._max(name, len(param), shape, "number of items")

    def _validate_integer(self, param, shape, errors, name):
        super()._validate_integer(param, shape, errors, name)
        if isinstance(param, int):
            self._max(name, param, shape, "value")

    _validate_long = _validate_integer


loader = Loader()
models = {}


def model(service):
    if service not in models:
        models[service] = ServiceModel(loader.load_service_model(service, "service-2"), service)
    return models[service]


def problems(service, operation, params):
    known = model(service)
    if operation not in known.operation_names:
        return ["unknown operation"]
    shape = known.operation_model(operation).input_shape
    if shape is None:
        return [] if params == {} else ["the operation has no parameters"]
    validator = Validator()
    report = validator.validate(params, shape)
    return [*report.generate_report().splitlines(), *validator.problems]


for line in sys.stdin:
    record = json.loads(line)
    for problem in problems(record["service"], record["operation"], record["input"]):
        print(f"{record['service']} {record['operation']}: {problem}")
