"""Starts ministack 1.5.33 with bridges, which add missing features. The comment of each bridge describes the gap.

ministack itself provides everything else: CloudFormation, IAM, S3, ECR with its registry, ECS with containers in
Docker, the load balancer's requests, CodeBuild's API, EventBridge Scheduler, Lambda and CloudWatch Logs. The port is
GATEWAY_PORT; services have subdomains of PORTSIDE_DOMAIN.
"""

import ipaddress
import json
import os
import random
import socket
import time

from ministack import app
from ministack.core import iam_evaluator
from ministack.services import alb, cloudwatch_logs, codebuild, ecr, ecs, eventbridge

PORT = os.environ["GATEWAY_PORT"]
DOMAIN = "." + os.environ["PORTSIDE_DOMAIN"]


def registry_on_this_machine():
    """ECR: ministack returns repository addresses at AWS, but its registry listens on this machine. Docker needs no
    certificate for the loopback address."""
    ecr._repo_uri = lambda name: f"127.0.0.1:{PORT}/{name}"


def dns_record():
    """DNS: replaces the wildcard record that directs the domain to the stack's load balancer."""
    leads_here = lambda host: host.split(":")[0].endswith(DOMAIN)
    find, gate = alb.find_lb_for_host, app._is_potential_alb_request
    alb.find_lb_for_host = lambda host: find(host) or (next(iter(alb._lbs.values()), None) if leads_here(host) else None)
    app._is_potential_alb_request = lambda host, path: gate(host, path) or leads_here(host)


def weighted_groups():
    """ELBv2: ministack reads the TargetGroupArn of an action, but neither reads nor returns its ForwardConfig."""
    parse, render, execute = alb._parse_actions, alb._action_xml, alb._execute_action

    def parse_actions(params, prefix="DefaultActions"):
        actions = parse(params, prefix)
        for number, action in enumerate(actions, 1):
            base = f"{prefix}.member.{number}.ForwardConfig.TargetGroups.member."
            groups = []
            while arn := alb._p(params, f"{base}{len(groups) + 1}.TargetGroupArn"):
                groups.append((arn, int(alb._p(params, f"{base}{len(groups) + 1}.Weight", "1"))))
            if groups:
                action["ForwardConfig"] = groups
        return actions

    def action_xml(action):
        groups = "".join(
            f"<member><TargetGroupArn>{arn}</TargetGroupArn><Weight>{weight}</Weight></member>"
            for arn, weight in action.get("ForwardConfig", [])
        )
        config = f"<ForwardConfig><TargetGroups>{groups}</TargetGroups></ForwardConfig>" if groups else ""
        return render(action).removesuffix("</member>") + config + "</member>"

    async def execute_action(action, *rest, **options):
        groups = [one for one in action.get("ForwardConfig", []) if one[1] > 0]
        if groups:
            arns, weights = zip(*groups)
            action = {**action, "TargetGroupArn": random.choices(arns, weights)[0]}
        return await execute(action, *rest, **options)

    alb._parse_actions, alb._action_xml, alb._execute_action = parse_actions, action_xml, execute_action


def groups_in_use():
    """ELBv2: ministack deletes a target group that a rule forwards to. AWS rejects this (ResourceInUse), and Portside
    depends on the rejection, because it must not remove a revision that serves."""
    delete = alb._delete_tg

    def delete_target_group(params):
        arn = alb._p(params, "TargetGroupArn")
        for rule in alb._rules.values():
            for action in rule["Actions"]:
                if arn == action.get("TargetGroupArn") or arn in dict(action.get("ForwardConfig", [])):
                    return alb._error("ResourceInUse", f"Target group '{arn}' is currently in use")
        return delete(params)

    alb._ACTION_MAP["DeleteTargetGroup"] = delete_target_group


def health_checks():
    """ELBv2: ministack reports every registered target as healthy. The bridge reports targets that accept no
    connections as unhealthy."""

    def listens(target):
        try:
            socket.create_connection((target["Id"], int(target["Port"])), timeout=1).close()
            return True
        except OSError:
            return False

    def describe_target_health(params):
        targets = alb._targets.get(alb._p(params, "TargetGroupArn"), [])
        hidden = {target["Id"] for target in targets if not listens(target)}
        status, headers, body = describe(params)
        for address in hidden:
            member = f"<Target><Id>{address}</Id>".encode()
            before, found, after = body.partition(member)
            body = before + found + after.replace(b"<State>healthy<", b"<State>unhealthy<", 1)
        return status, headers, body

    describe = alb._ACTION_MAP["DescribeTargetHealth"]
    alb._ACTION_MAP["DescribeTargetHealth"] = describe_target_health


def first_deployments():
    """ECS: ministack reports the deployment of a new service as COMPLETED before a task runs, so the circuit breaker
    never trips."""
    create = ecs._make_deployment

    def make_deployment(definition, desired, status="PRIMARY"):
        state = {"rolloutState": "IN_PROGRESS", "rolloutStateReason": "ECS deployment in progress."}
        return create(definition, desired, status) | (state if desired > 0 else {})

    ecs._make_deployment = make_deployment


def build_overrides():
    """CodeBuild: StartBuild ignores the buildspec and the variables of the request, and builds lack the field
    buildComplete."""
    start, shape = codebuild._start_build, codebuild._make_build_record

    def start_build(data):
        name = data["projectName"]
        project = codebuild._projects[name]
        environment = {
            **project["environment"],
            "environmentVariables": data.get("environmentVariablesOverride", []),
            "privilegedMode": data.get("privilegedModeOverride", False),
        }
        source = {"type": data["sourceTypeOverride"], "buildspec": data["buildspecOverride"]}
        codebuild._projects[name] = {**project, "environment": environment, "source": source}
        try:
            return start(data)
        finally:
            codebuild._projects[name] = project

    class Build(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            if key == "endTime":
                super().__setitem__("buildComplete", True)

    codebuild._start_build = start_build
    codebuild._make_build_record = lambda *rest: Build(shape(*rest), buildComplete=False)


def build_endpoint():
    """CodeBuild: builds reach ministack at the gateway of Docker's default network. A Docker daemon does not report
    this address in its first run. The bridge then uses the first address of the network."""

    def address():
        network = codebuild._get_docker().networks.get("bridge").attrs["IPAM"]["Config"][0]
        gateway = network.get("Gateway") or next(ipaddress.ip_network(network["Subnet"]).hosts())
        return f"http://{gateway}:{PORT}"

    codebuild._aws_endpoint = address


def log_pages():
    """CloudWatch Logs: ministack's FilterLogEvents ends at its limit without a nextToken, and ignores
    logStreamNamePrefix and startFromHead."""
    search = cloudwatch_logs._filter_log_events

    def stream_names(data):
        streams = cloudwatch_logs._log_groups.get(data.get("logGroupName"), {"streams": {}})["streams"]
        return [name for name in streams if name.startswith(data["logStreamNamePrefix"])]

    def filter_log_events(data):
        names = {"logStreamNames": stream_names(data) or ["none"]} if "logStreamNamePrefix" in data else {}
        status, headers, body = search({**data, **names, "limit": 10000})
        if status != 200:
            return status, headers, body
        start, newest_first = json.loads(data.get("nextToken") or json.dumps([0, data.get("startFromHead") is False]))
        events = json.loads(body)["events"]
        if newest_first:
            events.reverse()
        end = start + data.get("limit", 10000)
        more = {"nextToken": json.dumps([end, newest_first])} if end < len(events) else {}
        return cloudwatch_logs.json_response({"events": events[start:end], "searchedLogStreams": [], **more})

    cloudwatch_logs._filter_log_events = filter_log_events


def permissions():
    """IAM: ministack determines the ARN of a call's resource for S3, but for most other services only "*" or a part of
    the ARN. It supports few condition keys. With the bridge, statements for other services apply to all resources, and
    a condition on an unsupported key is true."""
    matches, evaluate = iam_evaluator._resource_matches, iam_evaluator._evaluate_single_condition
    iam_evaluator._resource_matches = lambda arn, *rest: not arn.startswith("arn:aws:s3:::") or matches(arn, *rest)
    iam_evaluator._evaluate_single_condition = lambda operator, actual, expected: (
        actual is None or evaluate(operator, actual, expected)
    )


def scheduled_times():
    """EventBridge Scheduler: ministack does not replace <aws.scheduler.scheduled-time> in a target's input."""
    invoke = eventbridge._invoke_target

    def invoke_target(target, event, *rest):
        at = time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime()) if event.get("Source") == "aws.scheduler" else ""
        text = target.get("Input")
        if at and text:
            target = {**target, "Input": text.replace("<aws.scheduler.scheduled-time>", at)}
        return invoke(target, event, *rest)

    eventbridge._invoke_target = invoke_target


for bridge in (
    registry_on_this_machine,
    dns_record,
    weighted_groups,
    groups_in_use,
    health_checks,
    first_deployments,
    build_overrides,
    build_endpoint,
    log_pages,
    permissions,
    scheduled_times,
):
    bridge()
app.main()
