/** Metrics of deploys: outcomes, and the durations of their phases. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ControlPlane, DeployRun } from "../../../core/control-plane.ts";
import type { Principal } from "../../../core/domain/accounts/account.ts";
import { isFinal } from "../../../core/domain/deploy/outcome.ts";
import type { SetSecretResponse } from "../../../core/domain/secrets/secret.ts";
import { type Instant, millisOf, parseInstant } from "../../../core/domain/wire/instant.ts";

export const deployMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    ended: new Counter({
      name: "portside_deploys_total",
      help: "Completed deploys, by the status of the last record and, for an ERROR, its reason.",
      labelNames: ["status", "reason"],
      registers,
    }),
    refused: new Counter({
      name: "portside_deploys_refused_total",
      help: "Deploys that were rejected before they began, by kind of error.",
      labelNames: ["kind"],
      registers,
    }),
    running: new Gauge({
      name: "portside_deploys_running",
      help: "Running deploys by phase. Waiting deploys count as building, and waiting redeploys as deploying.",
      labelNames: ["phase"],
      registers,
    }),
    phases: new Histogram({
      name: "portside_deploy_phase_seconds",
      help: "Duration of deploy phases. Building ends at the first DEPLOYING record, deploying at the last record.",
      labelNames: ["phase", "status"],
      buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1200],
      registers,
    }),
  };
};

type DeployMetrics = ReturnType<typeof deployMetrics>;
type Phase = "building" | "deploying";

const seconds = (from: Instant, to: Instant): number => Math.max(0, millisOf(to) - millisOf(from)) / 1000;

/**
 * Follows a run to its end. A phase has the status `ok` if the next phase began or the deploy ended with DONE,
 * otherwise `failed`.
 */
const follow = async (run: DeployRun, { ended, running, phases }: DeployMetrics, firstPhase: Phase): Promise<void> => {
  let phase = firstPhase;
  let begun: Instant | undefined;
  running.inc({ phase });
  for await (const { status, reason, time } of run.follow()) {
    const at = parseInstant(time) as Instant;
    begun ??= at;
    if (status === "DEPLOYING" && phase === "building") {
      phases.observe({ phase, status: "ok" }, seconds(begun, at));
      running.dec({ phase });
      phase = "deploying";
      begun = at;
      running.inc({ phase });
    }
    if (!isFinal(status)) continue;
    phases.observe({ phase, status: status === "DONE" ? "ok" : "failed" }, seconds(begun, at));
    ended.inc({ status, reason: reason ?? "" });
  }
  running.dec({ phase });
};

export const measureDeploys = (controlPlane: ControlPlane, metrics: DeployMetrics): ControlPlane => {
  const measure = (started: ReturnType<ControlPlane["deploy"]>, firstPhase: Phase) =>
    started.andTee((run) => void follow(run, metrics, firstPhase)).orTee(({ kind }) => metrics.refused.inc({ kind }));
  const followRedeploys = async (principal: Principal, deploys: SetSecretResponse["deploys"]): Promise<void> => {
    for (const { deploy_id } of deploys) {
      const found = await controlPlane.resumeDeploy(principal, { deploy_id });
      if (found.isOk()) void follow(found.value.run, metrics, "deploying");
    }
  };
  return {
    ...controlPlane,
    deploy: (...args) => measure(controlPlane.deploy(...args), "building"),
    // A redeploy builds nothing.
    rollback: (...args) => measure(controlPlane.rollback(...args), "deploying"),
    restartDeployment: (...args) => measure(controlPlane.restartDeployment(...args), "deploying"),
    setEnvironment: (...args) => measure(controlPlane.setEnvironment(...args), "deploying"),
    // A redeploy with a secret's new value also builds nothing.
    setSecret: (principal, ...args) =>
      controlPlane.setSecret(principal, ...args).andTee(({ deploys }) => void followRedeploys(principal, deploys)),
  };
};
