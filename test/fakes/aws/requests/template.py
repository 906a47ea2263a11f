"""The template's policies, as a created stack has them."""

import re

import yaml


class Template:
    """The policies. The values of a created stack replace CloudFormation's functions."""

    # The ARNs that GetAtt returns: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/
    ARNS = {
        "AWS::ECS::Cluster": "arn:aws:ecs:{region}:{account}:cluster/{ref}",
        "AWS::ECR::Repository": "arn:aws:ecr:{region}:{account}:repository/{ref}",
        "AWS::S3::Bucket": "arn:aws:s3:::{ref}",
        "AWS::Logs::LogGroup": "arn:aws:logs:{region}:{account}:log-group:{ref}:*",
        "AWS::CodeBuild::Project": "arn:aws:codebuild:{region}:{account}:project/{ref}",
        "AWS::IAM::Role": "arn:aws:iam::{account}:role/{ref}",
    }
    # The properties with the name of a resource, which Ref returns if the template sets one.
    NAMES = ("Name", "LogGroupName", "RepositoryName")

    def __init__(self, given):
        self.given = given
        loader = type("Loader", (yaml.SafeLoader,), {})
        loader.add_multi_constructor("!", self._function)
        with open(given["template"], encoding="utf-8") as file:
            document = yaml.load(file, loader)
        self.resources = document["Resources"]
        # No policy refers to the outputs of a loop, because this stack has one load balancer.
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
        """Returns the value of Ref (`NAME`) or GetAtt (`NAME.ATTRIBUTE`)."""
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
        """Yields the statements of the policies of Portside's identity. The template's outputs name these policies."""
        for name, output in self.outputs.items():
            if not re.fullmatch(r"platform\w*PolicyArn", name):
                continue
            for statement in self.resources[output["Value"][1]]["Properties"]["PolicyDocument"]["Statement"]:
                listed = [
                    one if isinstance(one, list) else [one] for one in (statement["Action"], statement["Resource"])
                ]
                conditions = statement.get("Condition", {})
                if statement["Effect"] != "Allow" or conditions.keys() - {"StringEquals"}:
                    raise ValueError(f"unknown effect or operators: {statement}")
                yield {
                    "policy": name,
                    "actions": listed[0],
                    "resources": [self.text(one) for one in listed[1]],
                    "condition": {
                        key: self.text(one) for key, one in conditions.get("StringEquals", {}).items()
                    },
                }
