/**
 * Determines the behavior that `run-behavior.ts` describes, with requests that change nothing: "validated [...] without
 * persisting the request or creating any resources" (validate_only in run/v2/service.proto).
 */
import { type Finding, pass, warn } from "../../../core/domain/wire/check.ts";
import { callOptions, withTimeout } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { parentOf } from "../location.ts";
import { problemOf } from "../rest-get.ts";
import { PROBE_SECONDS } from "./probes.ts";
import type { RunService } from "./render.ts";
import { initialBehavior, learnFrom } from "./run-behavior.ts";

/** Google's sample image: https://docs.cloud.google.com/run/docs/quickstarts/deploy-container */
const SAMPLE_IMAGE = "us-docker.pkg.dev/cloudrun/container/hello";

const { period } = PROBE_SECONDS;

const checks = [
  {
    what: "startup probes",
    container: {
      startupProbe: { tcpSocket: {}, timeoutSeconds: period, periodSeconds: period, failureThreshold: 2 },
    },
    service: {},
    accepted: `Cloud Run accepts ${2 * period} s in total, more than ${period} s`,
    rejected: `Cloud Run accepts ${period} s in total, so services have at most that time to start listening`,
  },
  {
    what: "public services",
    container: {},
    service: { invokerIamDisabled: true },
    accepted: "services are public without the Invoker IAM check",
    rejected: "the Invoker IAM check cannot be disabled, so services become public with a role for allUsers",
  },
] as const;

export async function* checkRunBehavior(
  { project, region, buildIdentity }: Pick<GcpConfig, "project" | "region" | "buildIdentity">,
  clients: ClientSource,
): AsyncGenerator<Finding> {
  const client = await clients("services");
  const parent = parentOf({ project, region });
  for (const { what, container, service: fields, accepted, rejected } of checks) {
    const containers = [{ image: SAMPLE_IMAGE, ...container }];
    const service: RunService = { ...fields, template: { serviceAccount: buildIdentity, containers } };
    const request = { parent, serviceId: "portside-doctor", service, validateOnly: true };
    try {
      await withTimeout(client.createService(request, callOptions()));
      yield pass(what, accepted);
    } catch (error) {
      yield learnFrom(initialBehavior(), error)
        ? pass(what, rejected)
        : warn(what, `the check failed: ${problemOf(error)}`);
    }
  }
}
