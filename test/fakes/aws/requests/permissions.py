"""Checks with moto's IAM that the template's policies allow each action on its resource.

Standard input is a JSON object with the fields that `template.py` needs, and `checks`, each with `operation`, `action`,
`resource` and `context`. Prints one line per denied check. Without `checks`, prints the policies' statements as JSON.
https://docs.getmoto.org/en/latest/docs/iam.html
"""

import json
import re
import sys

from moto.iam.access_control import IAMPolicy, PermissionResult
from template import Template


def pattern(resource):
    """Returns a regular expression for moto, which replaces only `*` in a resource and does not escape the rest."""
    return "(?s:" + re.escape(resource).replace(r"\*", "*").replace(r"\?", ".") + ")"


def policy(statement):
    """Returns a policy with only this statement, because moto treats a false condition as a Deny, which ends the
    evaluation."""
    return IAMPolicy(
        json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": statement["actions"],
                        "Resource": [pattern(one) for one in statement["resources"]],
                        "Condition": {"StringEquals": statement["condition"]},
                    }
                ],
            }
        )
    )


def main():
    given = json.load(sys.stdin)
    statements = list(Template(given).statements())
    if "checks" not in given:
        print(json.dumps(statements))
        return
    policies = [(policy(one), one["condition"].keys()) for one in statements]
    for check in given["checks"]:
        action, resource, context = check["action"], check["resource"], check.get("context", {})
        allowed = any(
            # moto treats a condition on a key that the request lacks as true.
            keys <= context.keys()
            and one.is_action_permitted(action, resource, incoming_condition_values=context) is PermissionResult.PERMITTED
            for one, keys in policies
        )
        if not allowed:
            print(f"{check['operation']}: {action} on {resource}: the template's policies do not allow it")


main()
