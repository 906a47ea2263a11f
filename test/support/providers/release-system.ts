/** Systems to compare with the model of releases: services that run as processes, and simulated ones. */
import fc from "fast-check";
import type { ControlPlane, DeployFields } from "../../../core/control-plane.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { ServicePlatform } from "../../../core/ports/service-platform.ts";
import { ok } from "../../../core/result.ts";
import type { releaseLife, retentionLife } from "../../models/release-life.ts";
import { emptyReleases, type ReleaseSystem, type Retention } from "../../models/release-model.ts";
import { whileTicking } from "../../simulation/ticking.ts";
import { bytesOf, envSource } from "../archives/archives.ts";
import { principalOf } from "./local-platform.ts";
import { recordsOf, type startMemory } from "./memory-platform.ts";

export const runningReleases = (controlPlane: ControlPlane, retention: Retention): ReleaseSystem => {
  const principal = principalOf("acme");
  return {
    controlPlane,
    principal,
    retention,
    call: async (work) => work,
    deploy: async (text, fields) => {
      const archive = (await controlPlane.receiveSource(principal, bytesOf(envSource(text))))._unsafeUnwrap();
      const run = await controlPlane.deploy(principal, { fields: fields as DeployFields, archive });
      return run.isErr() ? run.map(() => []) : ok(await Array.fromAsync(run.value.follow()));
    },
    follow: (run) => Array.fromAsync(run.follow()),
    observe: async (name) => {
      const all = (await controlPlane.listDeployments(principal))._unsafeUnwrap();
      const url = all.find((one) => one.name === name)?.url ?? "";
      const response = await fetch(url, { headers: { connection: "close" } });
      return (await response.json()) as { source: string; env: Record<string, string> };
    },
    shown: (_, value) => value ?? "",
    pass: async () => undefined,
  };
};

/** A simulated service shows the template of its serving revision, with the secrets that it pins. */
export const templatesShown = ({ find }: Pick<ServicePlatform, "find">): Pick<ReleaseSystem, "observe" | "shown"> => ({
  observe: async (name) => {
    const found = (await find(name as DeploymentName))._unsafeUnwrap();
    const template = found.kind === "held" ? found.service.serving[0]?.template : undefined;
    const pins = Object.entries(template?.secrets ?? {});
    const shown = pins.map(([variable, pin]) => [variable, `${pin.name} ${pin.version}`] as const);
    return { env: { ...template?.env, ...Object.fromEntries(shown) } };
  },
  shown: ({ secret, version }) => `${secret} ${version}`,
});

export const simulatedReleases = (platform: ReturnType<typeof startMemory>, retention: Retention): ReleaseSystem => {
  const { controlPlane, clock, principal, submit, memory } = platform;
  return {
    controlPlane,
    principal: principal(),
    retention,
    call: (work) => whileTicking(clock, work),
    deploy: async (_, fields) => {
      const run = await whileTicking(clock, submit(fields));
      return run.isErr() ? run.map(() => []) : ok(await recordsOf(platform, run.value));
    },
    follow: (run) => recordsOf(platform, run),
    ...templatesShown(memory.provider.services),
    pass: () => clock.advance(1),
  };
};

type Life = (ReturnType<typeof releaseLife> extends fc.Arbitrary<infer T> ? T : never) | typeof retentionLife;

/** Runs one sequence of commands on a system and the model, and closes the system. */
export const runReleaseLife = async (life: Life, real: ReleaseSystem & { close(): unknown }): Promise<void> => {
  try {
    await fc.asyncModelRun(() => ({ model: emptyReleases(), real }), life);
  } finally {
    await real.close();
  }
};
