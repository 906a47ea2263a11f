/** Many followers under Cloud Logging's quota of 60 reads a minute, on a virtual clock. */
import { test } from "vitest";
import type { GcpClients } from "../../../../adapters/gcp/clients.ts";
import { createGcpLogs } from "../../../../adapters/gcp/logs/store.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { CALL_MS, type FollowedCloud, followMany, VISIBLE_AFTER } from "../../../clouds/followers.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import type { Message } from "../../../fakes/gcp/grpc.ts";
import { createLoggingService } from "../../../fakes/gcp/logging/service.ts";
import { gcpConfig } from "../../../fakes/gcp/test-project.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

const cloudOf =
  (logReadsPerMinute: number) =>
  (clock: Clock): FollowedCloud => {
    const service = createLoggingService({ clock, visibleAfter: VISIBLE_AFTER, readsPerMinute: 60 });
    const logging = {
      listLogEntries: async (request: Message) => {
        await clock.sleep(CALL_MS);
        const response = service.list({ pageToken: "", ...request }) as Message;
        return [response.entries, null, response];
      },
    } as unknown as GcpClients["logging"];
    const deps = { clock, ids: randomIds, logger: silentLogger, random: () => 0.5 };
    return {
      logs: () => createGcpLogs({ ...gcpConfig, logReadsPerMinute }, fixedClients<GcpClients>({ logging }), deps),
      write: ({ owner, service: name, revision, text }) => {
        const labels = { "portside-owner": accountDigest(owner) };
        service.ingest({ service: name, revision, instance: "i", stream: "stdout", line: text, labels });
      },
      refused: service.refused,
    };
  };

for (const [replicas, share] of [
  [1, 60],
  [2, 30],
] as const)
  test(`200 followers of 100 deployments see each line once within 15 s, with ${replicas} servers`, () =>
    followMany(cloudOf(share), { replicas, deployments: 100, maxDelay: 15_000 }));
