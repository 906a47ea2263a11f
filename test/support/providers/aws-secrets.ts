/** Secrets on the fake Secrets Manager and IAM, and a platform whose services use them. */
import { createIdentities } from "../../../adapters/aws/accounts/identities.ts";
import { clientSource } from "../../../adapters/aws/clients.ts";
import { createAwsSecrets } from "../../../adapters/aws/secrets/secret-store.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type AdverseBehaviors, ROLE_LATE_MS } from "../../fakes/aws/adverse.ts";
import { startFakeIam } from "../../fakes/aws/iam/server.ts";
import { startFakeSecrets } from "../../fakes/aws/secrets/server.ts";
import { REGION } from "../../fakes/aws/test-config.ts";
import { createLeapingClock } from "../clocks/leaping-clock.ts";
import { recordingLogger } from "../logs/silent-logger.ts";
import { openFakeEcs } from "./ecs-platform.ts";

export const openFakeAwsSecrets = async ({ adverse }: { readonly adverse?: AdverseBehaviors } = {}) => {
  const clock = createLeapingClock();
  const now = () => millisOf(clock.now());
  const iam = await startFakeIam({ now });
  const secrets = await startFakeSecrets({ iam, now, ...(adverse && { adverse }) });
  const since = (role: string) => now() - (iam.roles.get(role.split("/").at(-1) ?? "")?.createdAt ?? 0);
  const canPass = (role: string) => adverse?.has("role_late") !== true || since(role) >= ROLE_LATE_MS;
  const ecs = await openFakeEcs({ secretOf: secrets.valueFor, canPass, ...(adverse && { adverse }) }, clock);
  const { logger, logged } = recordingLogger();
  const deps = { clock, ids: randomIds, logger, random: () => 0.5 };
  const clients = clientSource(REGION, { s3: ecs.state.client, iam: iam.client, secrets: secrets.client });
  const identities = createIdentities(ecs.config, clients, deps);
  const secretStore = () => createAwsSecrets(ecs.config, clients, deps, identities);
  const store = secretStore();
  const { isNew, ...others } = ecs.needs.identities;
  const replica = (more: Partial<typeof ecs.needs> = {}) =>
    ecs.replica({
      secrets: store,
      identities: {
        ...others,
        ensureExecution: identities.ensureExecution,
        isNew: (role) => isNew(role) || identities.isNew(role),
      },
      ...more,
    });
  return {
    ecs,
    iam,
    secrets,
    clock,
    /** The platform whose services use the secrets. */
    by: replica(),
    /** Creates the same platform with some dependencies replaced. */
    replica,
    secretStore: store,
    /** The store of another process on the same AWS account. */
    otherSecretStore: secretStore,
    /** Messages that the store and the platform have logged. */
    logged: (): string => [...logged, ...ecs.logged].join("\n"),
    close: async () => {
      await ecs.close();
      await secrets.close();
      await iam.close();
    },
  };
};

export type FakeAwsSecrets = Awaited<ReturnType<typeof openFakeAwsSecrets>>;
