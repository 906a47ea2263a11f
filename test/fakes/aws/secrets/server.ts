/**
 * A fake Secrets Manager on a loopback port. Sources: the service model (@aws-sdk/client-secrets-manager) and, below
 * https://docs.aws.amazon.com/secretsmanager/latest: apireference/API_CreateSecret.html, .../API_GetSecretValue.html,
 * .../API_DeleteSecret.html, userguide/reference_limits.html and userguide/auth-and-access-abac.html.
 */
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, noneAdverse, SECRET_ROLE_LATE_MS } from "../adverse.ts";
import type { FakeIam, FakeRole } from "../iam/server.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";
import { tagProblem } from "../tags.ts";
import { ACCOUNT, REGION } from "../test-config.ts";

export interface FakeSecret {
  readonly arn: string;
  readonly value: string;
  readonly token: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Whether an operator has deleted it with a recovery window. */
  isScheduledForDeletion: boolean;
}

export interface FakeSecretsOptions {
  readonly iam: Pick<FakeIam, "roles">;
  readonly adverse?: AdverseBehaviors;
  /** The time in milliseconds; defaults to the machine's. */
  readonly now?: () => number;
}

/** The value that ECS passes to a container, or why ECS cannot read it. */
export type SecretOf = (
  executionRole: string,
  arn: string,
) => { readonly value: string } | { readonly problem: string };

/** "The secret value: 65,536 bytes" (reference_limits.html). */
const MAX_VALUE_BYTES = 65_536;

const invalid = (message: string) => new AwsError("InvalidParameterException", message);
const missing = () =>
  new AwsError("ResourceNotFoundException", "Secrets Manager can't find the specified secret.", 400);
const scheduled = () =>
  new AwsError(
    "InvalidRequestException",
    "You can't perform this operation on the secret because it was marked for deletion.",
  );

interface Statement {
  readonly Action: readonly string[];
  readonly Resource: string;
  readonly Condition?: { readonly StringEquals: Readonly<Record<string, string>> };
}

const RESOURCE_TAG = "secretsmanager:ResourceTag/";

/** Whether a role's own policies and its boundary allow it to read a secret. */
const mayRead = ({ policies, tags }: FakeRole, secret: FakeSecret): boolean => {
  const allows = ({ Action, Resource, Condition }: Statement): boolean =>
    Action.includes("secretsmanager:GetSecretValue") &&
    (Resource.endsWith("*") ? secret.arn.startsWith(Resource.slice(0, -1)) : secret.arn === Resource) &&
    Object.entries(Condition?.StringEquals ?? {}).every(
      ([key, value]) => secret.tags[key.slice(RESOURCE_TAG.length)] === value,
    );
  const statements = [...policies.values()].flatMap((text) => JSON.parse(text).Statement as readonly Statement[]);
  // The condition of `Boundary` in docs/providers/aws-template.yaml. A role's tags are tags of its sessions:
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html
  const isWithinBoundary = secret.tags["portside-owner"] === tags["portside-owner"];
  return isWithinBoundary && statements.some(allows);
};

export const startFakeSecrets = async ({ iam, adverse = noneAdverse, now = Date.now }: FakeSecretsOptions) => {
  const faults = new Faults();
  /** By name. */
  const secrets = new Map<string, FakeSecret>();
  const deletedNames = new Set<string>();
  let created = 0;
  const settings: {
    maxSecrets: number;
    beforeCreate?: (() => Promise<void>) | undefined;
    beforeDelete?: (() => Promise<void>) | undefined;
  } = { maxSecrets: 500_000 };

  const nameOf = (idOrArn: string): string => [...secrets].find(([, { arn }]) => arn === idOrArn)?.[0] ?? idOrArn;

  const find = (idOrArn: string): FakeSecret => {
    const found = secrets.get(nameOf(idOrArn));
    if (found === undefined) throw missing();
    if (found.isScheduledForDeletion) throw scheduled();
    return found;
  };

  const checkInput = ({ Name = "", SecretString = "", ClientRequestToken = "", Tags = [] }: Message): void => {
    if (!/^[A-Za-z0-9/_+=.@-]{1,512}$/.test(Name) || /-[A-Za-z0-9]{6}$/.test(Name)) throw invalid("Invalid name.");
    if (ClientRequestToken.length < 32 || ClientRequestToken.length > 64) throw invalid("Invalid ClientRequestToken.");
    const bytes = Buffer.byteLength(SecretString);
    // Assumption: the message quotes the value, as in the validation errors of other services.
    if (bytes === 0 || bytes > MAX_VALUE_BYTES)
      throw invalid(`Value '${SecretString}' at 'secretString' failed to satisfy constraint: at most 65536 bytes`);
    const problem = tagProblem(Tags.map(({ Key, Value }: Message) => [Key, Value]));
    if (problem !== undefined) throw invalid(problem);
  };

  const create = async (input: Message): Promise<Message> => {
    await settings.beforeCreate?.();
    checkInput(input);
    const { Name, SecretString, ClientRequestToken, Tags = [] } = input;
    const tags = Object.fromEntries(Tags.map(({ Key, Value }: Message) => [Key, Value]));
    // "If you delete a secret and then immediately create a secret with the same name, use appropriate back off": in
    // this fake, the name never becomes free.
    if (deletedNames.has(Name)) throw scheduled();
    const present = secrets.get(Name);
    if (present !== undefined) {
      // "If a version with this value already exists and the [values] are the same [...], then the request is ignored."
      if (present.token === ClientRequestToken && present.value === SecretString) return { ARN: present.arn, Name };
      throw new AwsError("ResourceExistsException", `The operation failed because the secret ${Name} already exists.`);
    }
    if (secrets.size >= settings.maxSecrets)
      throw new AwsError("LimitExceededException", "You have reached the maximum number of secrets.");
    const suffix = (++created).toString(36).padStart(6, "0");
    const arn = `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:${Name}-${suffix}`;
    const secret = { arn, value: SecretString, token: ClientRequestToken, tags };
    secrets.set(Name, { ...secret, isScheduledForDeletion: false });
    return { ARN: arn, Name, VersionId: ClientRequestToken };
  };

  const remove = async ({ SecretId, ForceDeleteWithoutRecovery = false }: Message): Promise<Message> => {
    await settings.beforeDelete?.();
    if (!ForceDeleteWithoutRecovery) throw invalid("The fake has no recovery window.");
    // "If you forcibly delete an already deleted or nonexistent secret, the operation does not return
    // ResourceNotFoundException."
    const name = nameOf(SecretId);
    if (secrets.delete(name)) deletedNames.add(name);
    return { Name: name };
  };

  const methods = {
    CreateSecret: create,
    GetSecretValue: ({ SecretId }: Message) => {
      const { arn, value, token } = find(SecretId);
      return { ARN: arn, SecretString: value, VersionId: token };
    },
    DeleteSecret: remove,
  };

  /** The text of https://github.com/aws-samples/dify-self-hosted-on-aws/pull/35. */
  const valueFor: SecretOf = (executionRole, arn) => {
    const role = iam.roles.get(executionRole.split("/").at(-1) ?? "");
    const secret = secrets.get(nameOf(arn));
    const isLate = adverse.has("secret_role_late") && now() - (role?.createdAt ?? 0) < SECRET_ROLE_LATE_MS;
    const fetch = `ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed: unable to retrieve secret from asm: service call has been retried 1 time(s): failed to fetch secret ${arn} from secrets manager`;
    if (role === undefined || isLate || (secret !== undefined && !mayRead(role, secret)))
      return {
        problem: `${fetch}: AccessDeniedException: User: ${executionRole} is not authorized to perform: secretsmanager:GetSecretValue on resource: ${arn}`,
      };
    if (secret === undefined || secret.isScheduledForDeletion)
      return { problem: `${fetch}: ResourceNotFoundException: Secrets Manager can't find the specified secret.` };
    return { value: secret.value };
  };

  const server = await serveAws(faults, jsonProtocol(methods, { service: "secretsmanager" }));
  const client = recorded("secrets", new SecretsManagerClient(clientOptions(server.endpoint)));
  return {
    client,
    faults,
    settings,
    secrets: secrets as ReadonlyMap<string, FakeSecret>,
    valueFor,
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
