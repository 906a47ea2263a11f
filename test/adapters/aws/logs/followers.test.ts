/** Many followers under the quota of FilterLogEvents, 5 calls a second, on a virtual clock. */
import { test } from "vitest";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { streamPrefixOf } from "../../../../adapters/aws/logs/streams.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { accountOf, CALL_MS, type FollowedCloud, followMany, VISIBLE_AFTER } from "../../../clouds/followers.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import type { AdverseBehaviors } from "../../../fakes/aws/adverse.ts";
import { inProcessClient } from "../../../fakes/aws/logs/in-process.ts";
import { createCloudWatchService } from "../../../fakes/aws/logs/service.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

const cloudOf =
  (logReadsPerMinute: number) =>
  (clock: Clock): FollowedCloud => {
    const adverse: AdverseBehaviors = new Set(["log_read_quota"]);
    const service = createCloudWatchService({ clock, visibleAfter: VISIBLE_AFTER, adverse });
    const client = inProcessClient(service, () => clock.sleep(CALL_MS));
    const deps = { clock, ids: randomIds, logger: silentLogger, random: () => 0.5 };
    return {
      logs: () => createAwsLogs({ ...awsConfig, logReadsPerMinute }, fixedClients<AwsClients>({ logs: client }), deps),
      write: ({ owner, service: name, revision, text }) =>
        service.ingest({ stream: `${streamPrefixOf(owner, name)}${revision}/app/task-1`, line: text }),
      refused: service.refused,
    };
  };

for (const [replicas, share, seconds] of [
  [1, 300, 12],
  [2, 150, 14],
] as const)
  test(`200 followers of 100 deployments see each line once within ${seconds} s, with ${replicas} servers`, () =>
    followMany(cloudOf(share), { replicas, deployments: 100, maxDelay: seconds * 1000 }));

test("followers see each line within 30 s if another deployment writes more than all reads return", () => {
  const text = "x".repeat(200_000);
  const noisy = { owner: accountOf(0), service: "noisy" as DeploymentName, revision: "r-00001", text };
  const onTick = ({ write }: FollowedCloud) => {
    for (let count = 0; count < 10; count++) write(noisy);
  };
  return followMany(cloudOf(300), { replicas: 1, deployments: 40, maxDelay: 30_000, onTick });
});
