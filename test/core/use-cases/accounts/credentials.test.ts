/** How the control plane reads credentials from headers, and an account's own keys. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { apiKeySchema, newKeySchema, tokenSchema } from "../../../../core/domain/wire/responses.ts";
import { startMemory } from "../../../support/providers/memory-platform.ts";

const withKey = async () => {
  const platform = startMemory({ clock: createManualClock(new Date().toISOString()) });
  const made = (await platform.controlPlane.createKey(platform.principal(), { label: "ci" }))._unsafeUnwrap();
  return { ...platform, made };
};

describe("headers", () => {
  test("X-API-Key has priority over Authorization, which a proxy may use", async () => {
    const { controlPlane, made } = await withKey();
    const both = await controlPlane.authenticate({ apiKey: made.key, authorization: "Basic cHJveHk6cHJveHk=" });
    expect(both._unsafeUnwrap()).toEqual({ account: "acme", credentialId: made.id, credentialKind: "key" });
    const wrong = await controlPlane.authenticate({ apiKey: "psk_wrong", authorization: `Bearer ${made.key}` });
    expect(wrong._unsafeUnwrapErr().kind).toBe("unauthenticated");
  });

  test("accepts a bearer token", async () => {
    const { controlPlane, principal } = await withKey();
    const { access_token, expires_at } = tokenSchema.parse(
      (await controlPlane.issueToken(principal()))._unsafeUnwrap(),
    );
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.now());
    for (const authorization of [`Bearer ${access_token}`, `bearer  ${access_token} `])
      expect((await controlPlane.authenticate({ authorization }))._unsafeUnwrap().account).toBe("acme");
  });

  test.each([
    ["nothing", {}],
    ["an empty key", { apiKey: "" }],
    ["another scheme", { authorization: "Basic YTpi" }],
    ["a scheme without a token", { authorization: "Bearer" }],
    ["two words", { authorization: "Bearer a b" }],
    ["an invalid token", { authorization: "Bearer abc" }],
  ])("rejects %s", async (_what, headers) => {
    const { controlPlane } = await withKey();
    expect((await controlPlane.authenticate(headers))._unsafeUnwrapErr().kind).toBe("unauthenticated");
  });
});

describe("keys", () => {
  test("are returned in full once, then listed by their prefix", async () => {
    const { controlPlane, principal, made } = await withKey();
    expect(newKeySchema.parse(made)).toEqual(made);
    expect(made.key).toMatch(/^psk_[0-9A-Za-z]{40}$/);
    const [listed] = (await controlPlane.listKeys(principal()))._unsafeUnwrap();
    expect(apiKeySchema.parse(listed)).toEqual(listed);
    expect(listed).toMatchObject({ id: made.id, prefix: made.prefix, label: "ci" });
    expect(made.key.startsWith(made.prefix)).toBe(true);
    expect(JSON.stringify(listed)).not.toContain(made.key);
  });

  test("a revoked key is rejected and not listed", async () => {
    const { controlPlane, principal, made } = await withKey();
    expect((await controlPlane.revokeKey(principal(), { id: made.id })).isOk()).toBe(true);
    expect((await controlPlane.authenticate({ apiKey: made.key })).isErr()).toBe(true);
    expect((await controlPlane.listKeys(principal()))._unsafeUnwrap()).toEqual([]);
    expect((await controlPlane.revokeKey(principal(), { id: made.id }))._unsafeUnwrapErr().kind).toBe("not_found");
  });

  test("creation requires a label, revocation an id", async () => {
    const { controlPlane, principal } = await withKey();
    expect((await controlPlane.createKey(principal(), {} as never))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["label"], type: "missing" }],
    });
    expect((await controlPlane.revokeKey(principal(), { key: "x" } as never))._unsafeUnwrapErr()).toMatchObject({
      issues: [
        { path: ["key"], type: "extra_forbidden" },
        { path: ["id"], type: "missing" },
      ],
    });
  });
});

test("a token of the platform creates neither keys nor tokens", async () => {
  const { controlPlane, principal } = startMemory();
  const byToken = { ...principal(), credentialKind: "platform_token" } as const;
  for (const called of [controlPlane.createKey(byToken, { label: "ci" }), controlPlane.issueToken(byToken)])
    expect((await called)._unsafeUnwrapErr()).toMatchObject({
      kind: "forbidden",
      message: "A token of this platform must not create keys or tokens. Use an API key.",
    });
});
