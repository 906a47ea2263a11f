/** Every use case rejects an unidentified caller, and an embedder's mistake appears in the operator's log. */
import { expect, test } from "vitest";
import { faulty } from "../../../../adapters/decorators/faulty.ts";
import type { ControlPlane } from "../../../../core/control-plane.ts";
import { type AccountId, accountOf, isAccount, type Principal } from "../../../../core/domain/accounts/account.ts";
import type { ControlPlaneError } from "../../../../core/errors.ts";
import { type Result, ResultAsync } from "../../../../core/result.ts";
import { recorder, startMemory } from "../../../support/providers/memory-platform.ts";

/** The members that are not use cases of an account. */
const withoutAccount = [
  "settings",
  "capabilities",
  "check",
  "storageOrigins",
  "authenticate",
  "countRequest",
  "hasSessions",
  "signIn",
  "whenSignedOut",
  "resumeRedeploys",
  "keepCertificates",
  "endWaits",
  "settle",
  "close",
];
const nobodies = [undefined, "", "Ann Smith", "Ölga", 7].map(
  (account) => ({ account, credentialId: "session" }) as unknown as Principal,
);

const useCases = Object.keys(startMemory().controlPlane).filter((name) => !withoutAccount.includes(name));

/** A result or, from a method that follows a stream, an iterable of results. */
type Called = ResultAsync<unknown, ControlPlaneError> | AsyncIterable<Result<unknown, ControlPlaneError>>;

test.each(useCases)("%s rejects a caller without an account, and changes nothing", async (name) => {
  const { logger, logged } = recorder();
  const { controlPlane, memory } = startMemory({ logger });
  const before = memory.snapshot();
  for (const principal of nobodies) {
    const useCase = controlPlane[name as keyof ControlPlane] as (...args: readonly unknown[]) => Called;
    const called = useCase(principal, { name: "photos", deploy_id: "d1", deployment_name: "photos" });
    const [result, ...more] = called instanceof ResultAsync ? [await called] : await Array.fromAsync(called);
    expect(more).toEqual([]);
    const error = result?._unsafeUnwrapErr();
    expect(error).toMatchObject({
      kind: "internal",
      message: expect.stringContaining("is not an account. Create accounts with accountOf()."),
    });
  }
  expect(memory.snapshot()).toEqual(before);
  expect(logged).toHaveLength(nobodies.length);
});

test("an account does not see the volumes of another account", async () => {
  const { controlPlane } = startMemory();
  const [ann, olga] = ["u-17", "u-18"].map((id) => ({ account: accountOf(id), credentialId: "session" }));
  (await controlPlane.createVolume(ann as Principal, { name: "photos" }))._unsafeUnwrap();
  expect((await controlPlane.listVolumes(olga as Principal))._unsafeUnwrap()).toEqual([]);
});

test("if a port throws, the call fails with `internal`, and the cause is in the log", async () => {
  const cause = new TypeError("no such field");
  const { logger, logged } = recorder();
  const platform = startMemory({
    logger,
    around: ({ volumes }) => ({
      volumes: faulty(volumes, () => {
        throw cause;
      }),
    }),
  });
  const error = (await platform.controlPlane.listVolumes(platform.principal()))._unsafeUnwrapErr();
  expect(error).toMatchObject({ kind: "internal", cause });
  expect(logged).toEqual(["a use case failed with a bug"]);
});

test("accountOf accepts an account's name and explains the format otherwise", () => {
  for (const name of ["acme", "u-17", "google:ann@example.com"]) expect(accountOf(name)).toBe(name);
  expect(() => accountOf("Ann Smith")).toThrow(
    "'Ann Smith' is not a valid account name: use 1 to 255 characters (A-Z a-z 0-9",
  );
  expect(isAccount("acme" as AccountId)).toBe(true);
});
