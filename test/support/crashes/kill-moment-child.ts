/**
 * A server that kills itself at a fixed moment of the second deploy of `app`: `kill-moment-child.ts FOLDER MOMENT`.
 * Each moment lies between the traffic switch and the record of the deploy's end.
 */
import { createLocalProvider } from "../../../adapters/local/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import type { Provider } from "../../../core/ports/provider.ts";
import { bytesOf, helloServer, nodeSource } from "../archives/archives.ts";
import { principalOf } from "../providers/local-platform.ts";

export const moments = ["traffic moved", "schedule set", "end logged", "end noted"] as const;
export type Moment = (typeof moments)[number];

/** The provider, which kills the process after one step. */
const dyingAt = (provider: Provider, moment: Moment, isArmed: () => boolean): Provider => {
  const { services, scheduler, logs } = provider;
  const die = <T>(at: Moment, value: T): T => {
    if (at === moment && isArmed()) process.kill(process.pid, "SIGKILL");
    return value;
  };
  return {
    ...provider,
    services: {
      find: (...args) => services.find(...args),
      list: (...args) => services.list(...args),
      remove: (...args) => services.remove(...args),
      noteDeploy: (service, outcome) =>
        services
          .noteDeploy(service, outcome)
          .map((done) => (outcome.finishedAt === null ? done : die("end noted", done))),
      async *rollout(...args) {
        for await (const event of services.rollout(...args))
          yield event.kind === "ready" ? die("traffic moved", event) : event;
      },
    },
    scheduler: {
      find: (...args) => scheduler.find(...args),
      remove: (...args) => scheduler.remove(...args),
      put: (...args) => scheduler.put(...args).map((done) => die("schedule set", done)),
    },
    logs: {
      newest: (...args) => logs.newest(...args),
      after: (...args) => logs.after(...args),
      append: (entries, options) =>
        logs
          .append(entries, options)
          .map((done) => (entries.some(({ json }) => json?.["status"] === "DONE") ? die("end logged", done) : done)),
    },
  };
};

if (import.meta.main) {
  const [dataDir, moment] = process.argv.slice(2) as [string, Moment];
  const local = await createLocalProvider({ dataDir, ingressPort: 0, runner: "process" });
  const principal = principalOf("acme");
  let armed = false;
  const controlPlane = createControlPlane({
    ...local.ports,
    provider: dyingAt(local.provider, moment, () => armed),
  });
  for (const text of ["old", "new"]) {
    armed = text === "new";
    const archive = (
      await controlPlane.receiveSource(principal, bytesOf(nodeSource(helloServer(text))))
    )._unsafeUnwrap();
    const fields = { function_name: "app", volumes: {}, schedule: "0 0 1 1 *" };
    const run = (await controlPlane.deploy(principal, { fields, archive }))._unsafeUnwrap();
    for await (const record of run.follow()) console.log(JSON.stringify(record));
  }
}
