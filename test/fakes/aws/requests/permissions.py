"""Checks with moto's IAM that the template's policies allow each action on its resource.

Standard input is a JSON object: what `template.py` needs, and `checks`, each with `operation`, `action`, `resource` and
`context`. Prints one line per denied check. Without `checks`, prints the policies' statements as JSON.
https://docs.getmoto.org/en/latest/docs/iam.html
"""

import json
import re
import sys

from moto.iam.access_control import IAMPolicy, PermissionResult
from template import Template


def pattern(resource):
    """Converts a resource to a pattern for moto, which replaces `*` and treats the rest as a regular expression."""
    return "(?s:" + re.escape(resource).replace(r"\*", "*").replace(r"\?", ".") + ")"


def policy(statement):
    """Returns a policy of one statement: moto treats a condition that does not hold as a Deny, which would end the
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
            # In moto, a condition on a key that the request lacks always holds.
            keys <= context.keys()
            and one.is_action_permitted(action, resource, incoming_condition_values=context) is PermissionResult.PERMITTED
            for one, keys in policies
        )
        if not allowed:
            print(f"{check['operation']}: {action} on {resource}: the template's policies do not allow it")


main()
