/** Adds the fakes for builds: CodeBuild and its log. */
import { clientSource } from "../../../adapters/aws/clients.ts";
import { startBuildLogs } from "./codebuild/build-logs.ts";
import { type FakeCodeBuildDeps, startFakeCodeBuild } from "./codebuild/codebuild.ts";
import type { EcsWorldOptions } from "./ecs/world.ts";
import { openEcsWorld } from "./ecs/world.ts";
import { REGION } from "./test-config.ts";

type Building = { readonly build?: FakeCodeBuildDeps["build"] };
type MadeEngine = Awaited<ReturnType<EcsWorldOptions["engine"]>> & Building;

/** @param options for the fakes that run services; their engine may also build */
export const openBuildWorld = async <E extends MadeEngine>(options: EcsWorldOptions<E>) => {
  const world = await openEcsWorld(options);
  const logs = await startBuildLogs();
  const builds = await startFakeCodeBuild({
    readObject: world.state.readObject,
    push: world.registry.push,
    onLine: logs.push,
    build: world.made.build ?? (async () => ({ image: "hello" })),
  });
  const given = { ...world.given, builds: builds.client, logs: logs.client };
  return {
    ...world,
    logs,
    builds,
    given,
    clients: clientSource(REGION, given),
    close: async () => {
      for (const one of [builds, logs]) await one.close();
      await world.close();
    },
  };
};
