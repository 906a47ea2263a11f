/** Many followers under the quota of FilterLogEvents, 5 calls a second, on a virtual clock. */
import { test } from "vitest";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { streamPrefixOf } from "../../../../adapters/aws/logs/streams.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { CALL_MS, type FollowedCloud, followMany, VISIBLE_AFTER } from "../../../clouds/followers.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import { createCloudWatchService } from "../../../fakes/aws/logs/service.ts";
import { AwsError } from "../../../fakes/aws/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

/** Throws as the SDK does: the code is the error's name. */
const sdkError = (error: unknown): unknown =>
  error instanceof AwsError ? Object.assign(new Error(error.message), { name: error.code }) : error;

const cloudOf =
  (logReadsPerMinute: number) =>
  (clock: Clock): FollowedCloud => {
    const { methods, ingest, refused } = createCloudWatchService({
      ...{ clock, visibleAfter: VISIBLE_AFTER, mean: new Set(["log_read_quota"] as const) },
    });
    const send = async ({ input }: { readonly input: object }) => {
      await clock.sleep(CALL_MS);
      try {
        return methods.FilterLogEvents(input);
      } catch (error) {
        throw sdkError(error);
      }
    };
    const clients = fixedClients<AwsClients>({ logs: { send } as unknown as AwsClients["logs"] });
    const deps = { clock, ids: randomIds, logger: silentLogger, random: () => 0.5 };
    return {
      logs: () => createAwsLogs({ ...awsConfig, logReadsPerMinute }, clients, deps),
      write: ({ owner, service, revision, text }) =>
        ingest({ stream: `${streamPrefixOf(owner, service)}${revision}/app/task-1`, line: text }),
      refused,
    };
  };

test("200 followers of 100 deployments see each line once within 12 s", () =>
  followMany(cloudOf(300), { replicas: 1, deployments: 100, maxDelay: 12_000 }));
