/** `ServicePlatform` on Cloud Run. */
import type { NameState, ServicePlatform } from "../../../core/ports/service-platform.ts";
import { OWNER_LABEL } from "../../cloud/deploy/labels.ts";
import type { LastLines } from "../../cloud/deploy/last-lines.ts";
import { streamRollout } from "../../cloud/deploy/rollout.ts";
import { accountDigest, NOBODY } from "../../shared/accounts/account-digest.ts";
import { createIdentities, type Identities } from "../accounts/identities.ts";
import type { GcpRuntimeDeps } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import type { RolloutSecrets } from "../secrets/secret-store.ts";
import { noteDeploy } from "./note-deploy.ts";
import { parseOwn } from "./parse.ts";
import { createKeptImages } from "./releases/kept-images.ts";
import { readReleases } from "./releases/read-releases.ts";
import { removeService } from "./remove-service.ts";
import { Rollout, type RolloutDeps } from "./rollout.ts";
import { initialBehavior } from "./run-behavior.ts";
import { runServices } from "./services.ts";
import { type CurrentState, readState } from "./writes.ts";

export interface RunPlatformDeps {
  readonly lastLines: LastLines;
  /** Defaults to identities that use the same clients. */
  readonly identities?: Identities;
  readonly secrets: RolloutSecrets;
}

const stateOf = ({ run, own }: CurrentState): NameState => {
  if (run === null) return { kind: "free" };
  // Portside does not own the service, so the name is taken, but the response has no service.
  if (own === undefined) return { kind: "reserved", owner: NOBODY };
  return { kind: "held", owner: own.service.owner, service: own.service };
};

export const createRunPlatform = (
  config: Pick<GcpConfig, "project" | "region" | "repository" | "releasesKept" | "settleSeconds">,
  clients: ClientSource,
  runtime: GcpRuntimeDeps,
  platformDeps: RunPlatformDeps,
): ServicePlatform => {
  const { clock, ids, logger } = runtime;
  const { project, region } = config;
  const services = runServices({ project, region }, clients, runtime);
  const running: RolloutDeps["running"] = new Map();
  const deps: RolloutDeps = {
    services,
    region,
    clock,
    ids,
    logger,
    identities: platformDeps.identities ?? createIdentities(project, clients, runtime),
    secrets: platformDeps.secrets,
    lastLines: platformDeps.lastLines,
    behavior: initialBehavior(),
    images: createKeptImages(config, clients, runtime),
    releasesKept: config.releasesKept,
    running,
    settleMillis: config.settleSeconds * 1000,
  };

  return {
    find: (name, options) => readState(deps, name, options).map(stateOf),

    list: (owner, options) =>
      services.list(options).map((all) => {
        // Cloud Run cannot filter its list (ListServicesRequest). Comparing the label first avoids parsing most
        // records.
        const digest = accountDigest(owner);
        const own = all
          .filter(({ labels }) => labels?.[OWNER_LABEL] === digest)
          .flatMap((run) => parseOwn(run, { region, running, now: clock.now() })?.service ?? []);
        return own.filter((service) => service.owner === owner).sort((a, b) => (a.name < b.name ? -1 : 1));
      }),

    rollout: streamRollout(logger, (request, signal, report) =>
      new Rollout(deps, request, signal).run(report).finally(services.changed),
    ),

    releases: (service, options) => readReleases(deps, service, options),

    remove: (name, expected, options) =>
      removeService(deps, name, expected, options).andTee(services.changed).orTee(services.changed),

    noteDeploy: (service, outcome, options) => noteDeploy(deps, service, outcome, options),
  };
};
