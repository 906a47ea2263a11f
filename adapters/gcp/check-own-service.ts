/**
 * Checks the Cloud Run service that runs this process: a control plane also needs CPU between requests.
 * Sources: google/cloud/run/v2/service.proto, https://docs.cloud.google.com/run/docs/container-contract#env-vars
 */
import { type Finding, pass, warn } from "../../core/domain/wire/check.ts";
import { callOptions, withTimeout } from "./call-policy.ts";
import type { ClientSource } from "./clients.ts";
import type { GcpConfig } from "./config.ts";

const ALWAYS_CPU = "CPU between requests";
const INSTANCES = "minimum instances";

/** Yields nothing outside Cloud Run. */
export async function* checkOwnService(
  { project, region }: Pick<GcpConfig, "project" | "region">,
  clients: ClientSource,
  environment: NodeJS.ProcessEnv,
): AsyncGenerator<Finding> {
  const name = environment["K_SERVICE"];
  if (name === undefined) return;
  const update = `gcloud run services update ${name} --region ${region}`;
  try {
    const client = await clients("services");
    const path = `projects/${project}/locations/${region}/services/${name}`;
    const [{ template, scaling }] = await withTimeout(client.getService({ name: path }, callOptions()));
    // "Determines whether CPU is only allocated during requests (true by default)". If `resources` is set, the default
    // is false.
    const isIdle = template?.containers?.[0]?.resources?.cpuIdle !== false;
    yield isIdle
      ? warn(
          ALWAYS_CPU,
          `the service ${name} has no CPU between requests, so a deploy stalls when its client disconnects`,
          `${update} --no-cpu-throttling`,
        )
      : pass(ALWAYS_CPU, `the service ${name} has CPU between requests`);
    const minimum = Math.max(template?.scaling?.minInstanceCount ?? 0, scaling?.minInstanceCount ?? 0);
    yield minimum > 0
      ? pass(INSTANCES, `the service ${name} keeps at least ${minimum}`)
      : warn(
          INSTANCES,
          `the service ${name} may scale to zero during a deploy after its client disconnects`,
          `${update} --min-instances 1`,
        );
  } catch (error) {
    yield warn(
      ALWAYS_CPU,
      `the check of service ${name} failed: ${(error as Error).message}`,
      `${update} --no-cpu-throttling --min-instances 1`,
    );
  }
}
