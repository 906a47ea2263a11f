/** Helpers of several suites: building a source, rolling out a template, collecting events. */
import { inspect } from "node:util";
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import type { Expected } from "../../core/domain/deploy/plan.ts";
import type { DeployReason } from "../../core/domain/deploy/reason.ts";
import type { ReleaseOrigin } from "../../core/domain/deploy/releases/release.ts";
import type { Service, ServiceTemplate } from "../../core/domain/deploy/service-template.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { BuildEvent } from "../../core/ports/image-builder.ts";
import type { NameState, RolloutEvent, RolloutRequest } from "../../core/ports/service-platform.ts";
import type { Source } from "../../core/ports/source-spool.ts";
import type { ResultAsync } from "../../core/result.ts";
import { type ProviderSubject, pageLimit } from "./harness.ts";

export const expectOk = async <T, E>(result: ResultAsync<T, E>): Promise<T> => {
  const settled = await result;
  if (settled.isErr()) throw new Error(`expected a value, got ${inspect(settled.error)}`);
  return settled.value;
};

export const expectError = async <T, E>(result: ResultAsync<T, E>): Promise<E> => {
  const settled = await result;
  if (settled.isOk()) throw new Error(`expected an error, got ${inspect(settled.value)}`);
  return settled.error;
};

export async function* chunked(bytes: Uint8Array, size = 4096): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export const receive = async ({ provider }: ProviderSubject, bytes: Uint8Array): Promise<Source> => {
  const received = await expectOk(provider.spool.receive(chunked(bytes)));
  if (received.kind === "rejected") throw new Error(`the source was refused: ${inspect(received.issues)}`);
  return received.source;
};

export const collect = async <T>(events: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  const next = pageLimit("A stream of events");
  for await (const event of events) {
    next();
    all.push(event);
  }
  return all;
};

let deploys = 0;
export const newDeployId = (): string => `deploy${String(++deploys).padStart(14, "0")}`;

/** Builds a source and returns its image. */
export const build = async (
  subject: ProviderSubject,
  owner: AccountId,
  name: DeploymentName,
  bytes: Uint8Array,
): Promise<string> => {
  const source = await receive(subject, bytes);
  const events: BuildEvent[] = await collect(
    subject.provider.builder.build({ owner, name, deployId: newDeployId(), source }),
  );
  await source.discard();
  const last = events.at(-1);
  if (last?.kind !== "built") throw new Error(`the build ended with ${JSON.stringify(last)}`);
  return last.image;
};

export const templateFor = (owner: AccountId, name: DeploymentName, image: string): ServiceTemplate => ({
  name,
  owner,
  image,
  deployId: newDeployId(),
  port: 8080,
  memory: 256 * 1024 * 1024,
  cpu: 1,
  timeout: 30,
  concurrency: 10,
  maxInstances: 2,
  sessionAffinity: false,
  useHttp2: false,
  mounts: [],
  schedule: null,
  cronToken: `token-of-${name}`,
  env: {},
});

/** The origin that the release of a test's rollout records. */
export const testOrigin: ReleaseOrigin = {
  createdBy: { kind: "key", id: "test", label: "" },
  message: null,
  sourceDigest: null,
  rolledBackTo: null,
};

/** Long enough for a busy machine. Cases that wait for the timeout pass a shorter time. */
const LISTEN_MS = 60_000;

export const rollOut = (
  { provider }: ProviderSubject,
  template: ServiceTemplate,
  expected: Expected,
  options: Partial<Pick<RolloutRequest, "origin" | "listenDeadlineMs" | "mayServe">> & {
    readonly signal?: AbortSignal;
  } = {},
): AsyncIterable<RolloutEvent> => {
  const { signal, ...rest } = options;
  return provider.services.rollout(
    { template, expected, origin: testOrigin, listenDeadlineMs: LISTEN_MS, ...rest },
    signal === undefined ? {} : { signal },
  );
};

/** Rolls out a template; throws if that fails. */
export const deployed = async (
  subject: ProviderSubject,
  template: ServiceTemplate,
  expected: Expected = "absent",
  origin: ReleaseOrigin = testOrigin,
) => {
  const events = await collect(rollOut(subject, template, expected, { origin }));
  const last = events.at(-1);
  if (last?.kind !== "ready") throw new Error(`the rollout ended with ${JSON.stringify(last)}`);
  return last;
};

/** Throws unless the rollout fails with one of the reasons. */
export const failedWith = async (
  events: AsyncIterable<RolloutEvent>,
  ...reasons: readonly DeployReason[]
): Promise<void> => {
  const last = (await collect(events)).at(-1);
  if (last?.kind !== "failed") throw new Error(`expected a failure, got ${JSON.stringify(last)}`);
  expect(reasons).toContain(last.failure.reason);
};

export const stateOf = ({ provider }: ProviderSubject, name: DeploymentName): Promise<NameState> =>
  expectOk(provider.services.find(name));

export const serviceOf = async (subject: ProviderSubject, name: DeploymentName): Promise<Service> => {
  const state = await stateOf(subject, name);
  if (state.kind !== "held") throw new Error(`'${name}' is ${state.kind}`);
  return state.service;
};

/** Deploys a service of a new account that responds with `text`. */
export const running = async (subject: ProviderSubject, text = "hello") => {
  const [owner, name] = [subject.account(), subject.name()];
  const image = await build(subject, owner, name, subject.sources.hello(text));
  const template = templateFor(owner, name, image);
  const ready = await deployed(subject, template);
  return { owner, name, image, template, ready, service: await serviceOf(subject, name) };
};
