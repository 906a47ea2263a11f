/** Custom domains through the control plane: add, check, list and remove, with the ownership of accounts. */
import { describe, expect, test } from "vitest";
import { faulty } from "../../../../adapters/memory/index.ts";
import type { DomainRow } from "../../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { rateLimited, unavailable } from "../../../../core/errors.ts";
import type { DnsResolver, DomainPorts, DomainStore } from "../../../../core/ports/domain-store.ts";
import { errAsync, ok, okAsync, ResultAsync } from "../../../../core/result.ts";
import {
  deployed,
  type MemoryOptions,
  type MemoryPlatform,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const DOMAIN = "app.example.com";

/** A platform on which `acme` has the deployment `app`, and `other` has `theirs`. */
const start = async (options: MemoryOptions = {}): Promise<MemoryPlatform> => {
  const platform = startMemory(options);
  await deployed(platform);
  await deployed(platform, { function_name: "theirs" }, "other");
  return platform;
};

const adding = ({ controlPlane, principal }: MemoryPlatform, domain = DOMAIN, name = "app", account?: string) =>
  controlPlane.addDomain(principal(account), { domain, name });

const add = async (...args: Parameters<typeof adding>) => (await adding(...args))._unsafeUnwrap();

const checking = ({ controlPlane, principal }: MemoryPlatform, domain = DOMAIN, account?: string) =>
  controlPlane.checkDomain(principal(account), { domain });

const check = async (...args: Parameters<typeof checking>) => (await checking(...args))._unsafeUnwrap();

const list = async ({ controlPlane, principal }: MemoryPlatform, account?: string) =>
  (await controlPlane.listDomains(principal(account)))._unsafeUnwrap();

/** A platform on which `act` runs once, while the first check reads DNS. */
const startMeanwhile = async (act: (platform: MemoryPlatform) => Promise<unknown>): Promise<MemoryPlatform> => {
  let acted = false;
  const platform: MemoryPlatform = await start({
    around: ({ domains }) => {
      if (domains === undefined) return {};
      const resolve: DnsResolver["resolve"] = (name, type) =>
        new ResultAsync(
          (async () => {
            if (!acted) {
              acted = true;
              await act(platform);
            }
            return domains.dns.resolve(name, type);
          })(),
        );
      return { domains: { ...domains, dns: { resolve } } };
    },
  });
  return platform;
};

/** A platform whose store removes and changes a domain only after another request has changed it. */
const startContended = (changes = 1): Promise<MemoryPlatform> =>
  start({
    around: ({ domains }) => {
      if (domains === undefined) return {};
      const { store } = domains;
      let left = changes;
      const contend = (domain: DomainName) =>
        new ResultAsync(
          (async () => {
            const found = (await store.find(domain))._unsafeUnwrap();
            if (found !== null && left-- > 0) (await store.write(found, found))._unsafeUnwrap();
            return ok(undefined);
          })(),
        );
      return {
        domains: {
          ...domains,
          store: {
            ...store,
            write: (domain, ...rest) => contend(domain.domain).andThen(() => store.write(domain, ...rest)),
            remove: (domain, ...rest) => contend(domain).andThen(() => store.remove(domain, ...rest)),
          },
        },
      };
    },
  });

const proofOf = ({ records }: DomainRow) => records.find(({ type }) => type === "TXT")?.value ?? "";

const activate = async (platform: MemoryPlatform) => {
  const added = await add(platform);
  platform.memory.dns.add(...added.records);
  return check(platform);
};

/** Fails to delete the deployment, and checks that its domains stay. */
const expectKept = async (platform: MemoryPlatform) => {
  const before = await list(platform);
  const { controlPlane, principal } = platform;
  const deleted = await controlPlane.deleteDeployment(principal(), { name: "app" });
  expect(deleted._unsafeUnwrapErr().kind).toBe("unavailable");
  expect(await list(platform)).toEqual(before);
};

describe("add", () => {
  test("returns the DNS records to create, and the domain is pending", async () => {
    const platform = await start();
    const added = await add(platform, "App.Example.COM.");
    expect(added).toEqual({
      certificate: null,
      domain: DOMAIN,
      name: "app",
      status: "pending",
      detail: "Create the DNS records, then check the domain.",
      records: [
        {
          type: "TXT",
          name: "_portside.app.example.com",
          value: expect.stringMatching(/^portside-verification=[\w-]{43}$/),
          purpose: "ownership",
        },
        { type: "CNAME", name: DOMAIN, value: "ingress.memory.invalid", purpose: "address" },
      ],
      created_at: expect.any(String),
      checked_at: null,
    });
    expect(await list(platform)).toEqual([added]);
  });

  test("returns address records for a registered domain, which cannot have a CNAME record", async () => {
    const platform = await start();
    for (const domain of ["example.co.uk", "acme.github.io"]) {
      const { records } = await add(platform, domain);
      expect(records.map(({ type }) => type)).toEqual(["TXT", "A", "AAAA"]);
    }
  });

  test.each([
    ["co.uk", "value_error"],
    ["github.io", "value_error"],
    ["memory.invalid", "value_error"],
    ["app.memory.invalid", "value_error"],
    ["*.example.com", "string_pattern_mismatch"],
    ["localhost", "string_pattern_mismatch"],
  ])("refuses '%s'", async (domain, type) => {
    const refused = (await adding(await start(), domain))._unsafeUnwrapErr();
    expect(refused).toMatchObject({ kind: "invalid_input", issues: [{ path: ["domain"], type }] });
  });

  test("fails for a missing deployment and for another account's", async () => {
    const platform = await start();
    expect((await adding(platform, DOMAIN, "none"))._unsafeUnwrapErr().kind).toBe("not_found");
    expect((await adding(platform, DOMAIN, "theirs"))._unsafeUnwrapErr().kind).toBe("forbidden");
    expect(await list(platform)).toEqual([]);
  });

  test("again changes nothing, and for another deployment keeps the status", async () => {
    const platform = await start();
    const active = await activate(platform);
    expect(await add(platform)).toEqual(active);
    await deployed(platform, { function_name: "second" });
    expect(await add(platform, DOMAIN, "second")).toMatchObject({
      name: "second",
      status: "active",
      detail: "Requests to 'app.example.com' reach 'second'.",
    });
    expect(await list(platform)).toHaveLength(1);
  });

  test("accepts domains up to the quota, and a domain that the account has", async () => {
    const platform = await start({ settings: { accountLimits: { domains: 2 } } });
    await add(platform, "a.example.com");
    await add(platform, "b.example.com");
    expect((await adding(platform))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["domain"], type: "quota_exceeded", message: expect.stringContaining("at most 2 domains") }],
    });
    await add(platform, "a.example.com");
    await add(platform, DOMAIN, "theirs", "other");
  });

  test("accepts one of two concurrent new domains if the quota permits one more", async () => {
    const platform = await start({ settings: { accountLimits: { domains: 1 } } });
    const both = await Promise.all(["a.example.com", "b.example.com"].map((domain) => adding(platform, domain)));
    expect(both.filter((one) => one.isOk())).toHaveLength(1);
  });

  test("is unsupported if the provider does not offer domains", async () => {
    const platform = await start({ capabilities: { domains: missing("none are served here") } });
    const { controlPlane, principal } = platform;
    const refused = { kind: "unsupported", message: "none are served here" };
    expect((await adding(platform))._unsafeUnwrapErr()).toMatchObject(refused);
    expect((await controlPlane.listDomains(principal()))._unsafeUnwrapErr()).toMatchObject(refused);
  });
});

describe("a domain of another account", () => {
  test("cannot be added, checked, removed or listed", async () => {
    const platform = await start();
    await activate(platform);
    const { controlPlane, principal } = platform;
    const refused = (await adding(platform, DOMAIN, "theirs", "other"))._unsafeUnwrapErr();
    expect(refused).toMatchObject({ kind: "conflict", message: expect.not.stringContaining("acme") });
    expect((await checking(platform, DOMAIN, "other"))._unsafeUnwrapErr().kind).toBe("not_found");
    const removed = await controlPlane.removeDomain(principal("other"), { domain: DOMAIN });
    expect(removed._unsafeUnwrapErr().kind).toBe("not_found");
    expect(await list(platform, "other")).toEqual([]);
    expect(await list(platform)).toMatchObject([{ status: "active", name: "app" }]);
  });

  test("cannot be taken over with the proof of the current owner", async () => {
    const platform = await start();
    // The domain points to the platform and has the owner's proof, which everyone can read.
    await activate(platform);
    expect((await adding(platform, DOMAIN, "theirs", "other"))._unsafeUnwrapErr().kind).toBe("conflict");
    (await platform.controlPlane.removeDomain(platform.principal(), { domain: DOMAIN }))._unsafeUnwrap();
    const added = await add(platform, DOMAIN, "theirs", "other");
    expect(await check(platform, DOMAIN, "other")).toMatchObject({
      status: "pending",
      detail: expect.stringContaining(
        `has a different value. Create the TXT record '_portside.${DOMAIN}' with the value '${proofOf(added)}'`,
      ),
    });
  });

  test("is refused with the record that proves control even if its DNS servers do not respond", async () => {
    const platform = await start();
    await add(platform);
    platform.memory.dns.respond(`_portside.${DOMAIN}`, false);
    expect((await adding(platform, DOMAIN, "theirs", "other"))._unsafeUnwrapErr()).toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("portside-verification="),
    });
  });

  test("fails with rate_limited, and not with conflict, if the resolver has too many lookups", async () => {
    const resolve = () => errAsync(rateLimited("Too many DNS lookups. Try again in 7 s.", 7));
    const platform = await start({
      around: ({ domains }) => (domains === undefined ? {} : { domains: { ...domains, dns: { resolve } } }),
    });
    await add(platform);
    expect((await adding(platform, DOMAIN, "theirs", "other"))._unsafeUnwrapErr()).toMatchObject({
      kind: "rate_limited",
      retryAfterSeconds: 7,
    });
  });

  test("is refused because of the quota before DNS is read", async () => {
    const platform = await start({ settings: { accountLimits: { domains: 1 } } });
    await add(platform);
    await add(platform, "b.example.com", "theirs", "other");
    expect((await adding(platform, DOMAIN, "theirs", "other"))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["domain"], type: "quota_exceeded" }],
    });
  });

  test("is taken over by the account that controls DNS, with the record that the refusal names", async () => {
    const platform = await start();
    const squatter = await add(platform);
    const { message } = (await adding(platform, DOMAIN, "theirs", "other"))._unsafeUnwrapErr();
    const [proof = ""] = /portside-verification=[\w-]+/.exec(message) ?? [];
    expect(proof).not.toBe(proofOf(squatter));
    const name = `_portside.${DOMAIN}`;
    platform.memory.dns.add({ type: "TXT", name, value: proofOf(squatter) }, { type: "TXT", name, value: proof });
    expect((await adding(platform, DOMAIN, "theirs", "other"))._unsafeUnwrapErr().kind).toBe("conflict");
    platform.memory.dns.remove(name);
    platform.memory.dns.add({ type: "TXT", name, value: proof });
    expect(proofOf(await add(platform, DOMAIN, "theirs", "other"))).toBe(proof);
    expect(await list(platform)).toEqual([]);
    expect((await checking(platform))._unsafeUnwrapErr().kind).toBe("not_found");
  });

  test("cannot be the host of the platform or a subdomain of it", async () => {
    const platform = await start({
      around: ({ domains }) =>
        domains === undefined
          ? {}
          : { domains: { ...domains, target: { ...domains.target, host: "balancer.example.net" } } },
    });
    for (const domain of ["balancer.example.net", "a.balancer.example.net"])
      expect((await adding(platform, domain))._unsafeUnwrapErr().kind).toBe("invalid_input");
  });

  test("is added by one of two accounts that race for it", async () => {
    const platform = await start();
    const both = await Promise.all([adding(platform), adding(platform, DOMAIN, "theirs", "other")]);
    expect(both.filter((one) => one.isOk())).toHaveLength(1);
    expect(both.find((one) => one.isErr())?._unsafeUnwrapErr().kind).toBe("conflict");
  });
});

test("lookups of a check and of a takeover name the account that requested them", async () => {
  const accounts = new Set<string | undefined>();
  const platform = await start({
    around: ({ domains }) => {
      if (domains === undefined) return {};
      const resolve: DnsResolver["resolve"] = (name, type, options) => {
        accounts.add(options?.account);
        return domains.dns.resolve(name, type, options);
      };
      return { domains: { ...domains, dns: { resolve } } };
    },
  });
  await add(platform);
  await check(platform);
  expect([...accounts]).toEqual([platform.principal().account]);
  accounts.clear();
  expect((await adding(platform, DOMAIN, "theirs", "other")).isErr()).toBe(true);
  expect([...accounts]).toEqual([platform.principal("other").account]);
});

describe("check", () => {
  test("activates a domain whose records are correct, and reports each problem until then", async () => {
    const platform = await start();
    const { records } = await add(platform);
    expect(await check(platform)).toMatchObject({
      status: "pending",
      detail: expect.stringMatching(/TXT record .* does not exist.* has no address/),
      checked_at: expect.any(String),
    });
    const [txt, cname] = records;
    if (txt !== undefined) platform.memory.dns.add(txt);
    expect(await check(platform)).toMatchObject({ status: "pending", detail: expect.not.stringContaining("TXT") });
    if (cname !== undefined) platform.memory.dns.add(cname);
    const active = await check(platform);
    expect(active).toMatchObject({ status: "active", detail: "Requests to 'app.example.com' reach 'app'." });
    expect(await list(platform)).toEqual([active]);
  });

  test("reads the CAA records of the nearest parent", async () => {
    const platform = await start();
    await activate(platform);
    const { dns } = platform.memory;
    dns.add({ type: "CAA", name: "example.com", value: '0 issue "other.example"' });
    expect(await check(platform)).toMatchObject({ status: "failing", detail: expect.stringContaining("CAA") });
    dns.remove("example.com");
    dns.add({ type: "CAA", name: "example.com", value: '0 issue "ca.memory.invalid"' });
    expect(await check(platform)).toMatchObject({ status: "active" });
  });

  test("marks an active domain as failing when its records change, and as active when they are correct again", async () => {
    const platform = await start();
    const { records } = await activate(platform);
    platform.memory.dns.remove(`_portside.${DOMAIN}`);
    expect(await check(platform)).toMatchObject({ status: "failing" });
    platform.memory.dns.add(...records.filter(({ type }) => type === "TXT"));
    expect(await check(platform)).toMatchObject({ status: "active" });
  });

  test.each([DOMAIN, `_portside.${DOMAIN}`, "example.com"])(
    "keeps the status if the DNS servers of '%s' do not respond",
    async (name) => {
      const platform = await start();
      await activate(platform);
      platform.memory.dns.respond(name, false);
      expect(await check(platform)).toMatchObject({
        status: "active",
        detail: expect.stringContaining("did not respond"),
      });
      platform.memory.dns.respond(name, true);
      expect(await check(platform)).toMatchObject({ detail: "Requests to 'app.example.com' reach 'app'." });
    },
  );

  test("compares with the addresses of the platform's host if its addresses change", async () => {
    const targeting = (domains: DomainPorts) => ({ ...domains, target: { ...domains.target, addresses: [] } });
    const platform = await start({
      around: ({ domains }) => (domains === undefined ? {} : { domains: targeting(domains) }),
    });
    await add(platform, "example.com");
    const { records } = await add(platform);
    platform.memory.dns.add(...records);
    expect(await check(platform)).toMatchObject({ status: "active" });
    platform.memory.dns.respond("ingress.memory.invalid", false);
    expect((await checking(platform))._unsafeUnwrapErr().kind).toBe("unavailable");
  });

  test("reports a host with an additional address, if the platform knows its addresses", async () => {
    const targeting = (domains: DomainPorts) => ({
      ...domains,
      target: { ...domains.target, addresses: ["192.0.2.1"] },
    });
    const platform = await start({
      around: ({ domains }) => (domains === undefined ? {} : { domains: targeting(domains) }),
    });
    platform.memory.dns.add(...(await add(platform)).records);
    expect(await check(platform)).toMatchObject({
      status: "pending",
      detail: expect.stringContaining("points to '2001:db8::1', but must point only to '192.0.2.1'."),
    });
  });

  test("fails with unavailable, and keeps the status, if the platform's host has no address", async () => {
    const targeting = (domains: DomainPorts) => ({
      ...domains,
      target: { ...domains.target, host: "none.memory.invalid", addresses: [] },
    });
    const platform = await start({
      around: ({ domains }) => (domains === undefined ? {} : { domains: targeting(domains) }),
    });
    await add(platform);
    expect((await checking(platform))._unsafeUnwrapErr()).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("'none.memory.invalid' has no address"),
    });
    expect(await list(platform)).toMatchObject([{ status: "pending", checked_at: null }]);
  });

  test("fails with not_found if the domain is removed meanwhile, and does not restore it", async () => {
    const platform = await startMeanwhile(async ({ controlPlane, principal }) =>
      controlPlane.removeDomain(principal(), { domain: DOMAIN }),
    );
    await add(platform);
    expect((await checking(platform))._unsafeUnwrapErr().kind).toBe("not_found");
    expect(await list(platform)).toEqual([]);
  });

  test("succeeds if another check, or a move to another deployment, ends meanwhile", async () => {
    const platform = await startMeanwhile(async (self) => {
      await check(self);
      await deployed(self, { function_name: "second" });
      await add(self, DOMAIN, "second");
    });
    const { records } = await add(platform);
    platform.memory.dns.add(...records);
    const active = await check(platform);
    expect(active).toMatchObject({
      name: "second",
      status: "active",
      detail: "Requests to 'app.example.com' reach 'second'.",
    });
    expect(await list(platform)).toEqual([active]);
  });
});

describe("remove", () => {
  test("removes a domain once", async () => {
    const platform = await start();
    await activate(platform);
    const { controlPlane, principal } = platform;
    const remove = () => controlPlane.removeDomain(principal(), { domain: "APP.example.com" });
    expect((await remove())._unsafeUnwrap()).toEqual({
      detail: "'app.example.com' was removed. You can delete its DNS records.",
    });
    expect((await remove())._unsafeUnwrapErr().kind).toBe("not_found");
    expect(await list(platform)).toEqual([]);
  });

  test("happens with the deletion of the deployment, for its own domains only", async () => {
    const platform = await start();
    await deployed(platform, { function_name: "second" });
    await add(platform, "a.example.com");
    await add(platform, "b.example.com", "second");
    await add(platform, "c.example.com", "app");
    await add(platform, "d.example.com", "theirs", "other");
    (await platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" }))._unsafeUnwrap();
    expect((await list(platform)).map(({ domain }) => domain)).toEqual(["b.example.com"]);
    expect(await list(platform, "other")).toHaveLength(1);
  });

  test("does not miss a domain that is added during the deletion", async () => {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const platform = await start({
      around: ({ services }) => ({
        services: {
          ...services,
          remove: (...args) =>
            new ResultAsync(
              (async () => {
                reached.resolve();
                await gate.promise;
                return services.remove(...args);
              })(),
            ),
        },
      }),
    });
    const { controlPlane, principal } = platform;
    const deleting = controlPlane.deleteDeployment(principal(), { name: "app" });
    await reached.promise;
    const added = adding(platform);
    // Without the turn, the request would end before the deletion does.
    await list(platform);
    gate.resolve();
    expect((await deleting).isOk()).toBe(true);
    expect((await added)._unsafeUnwrapErr().kind).toBe("not_found");
    expect(await list(platform)).toEqual([]);
  });

  test("and a move succeed when another request changes the domain meanwhile", async () => {
    const moving = await startContended();
    await deployed(moving, { function_name: "second" });
    await add(moving);
    expect(await add(moving, DOMAIN, "second")).toMatchObject({ name: "second" });
    const removing = await startContended();
    await add(removing);
    const { controlPlane, principal } = removing;
    expect((await controlPlane.removeDomain(principal(), { domain: DOMAIN })).isOk()).toBe(true);
    const deleting = await startContended();
    await add(deleting);
    expect((await deleting.controlPlane.deleteDeployment(deleting.principal(), { name: "app" })).isOk()).toBe(true);
    expect(await list(deleting)).toEqual([]);
  });

  test("with the deployment ignores a domain that was removed meanwhile", async () => {
    const platform = await start({
      around: ({ domains }) =>
        domains === undefined
          ? {}
          : { domains: { ...domains, store: { ...domains.store, find: () => okAsync(null) } } },
    });
    await add(platform);
    expect((await platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" })).isOk()).toBe(true);
  });

  test("fails with conflict if other requests change the domain all the time", async () => {
    const platform = await startContended(Number.POSITIVE_INFINITY);
    await add(platform);
    const removed = await platform.controlPlane.removeDomain(platform.principal(), { domain: DOMAIN });
    expect(removed._unsafeUnwrapErr().kind).toBe("conflict");
  });

  test("keeps the deployment if its domains cannot be removed", async () => {
    const platform = await start({
      around: ({ domains }) =>
        domains === undefined
          ? {}
          : {
              domains: {
                ...domains,
                store: faulty(domains.store, ({ method }) =>
                  method === "remove" ? { error: unavailable("down") } : undefined,
                ),
              },
            },
    });
    await add(platform);
    const { controlPlane, principal } = platform;
    const deleted = await controlPlane.deleteDeployment(principal(), { name: "app" });
    expect(deleted._unsafeUnwrapErr().kind).toBe("unavailable");
    expect((await controlPlane.listDeployments(principal()))._unsafeUnwrap()).toHaveLength(1);
  });

  test("keeps a domain whose removal takes effect but fails, because the deployment remains", async () => {
    const platform = await start({
      around: ({ domains }) => {
        if (domains === undefined) return {};
        const { store } = domains;
        const remove: DomainStore["remove"] = (...args) =>
          store.remove(...args).andThen(() => errAsync(unavailable("The routes have not changed yet.")));
        return { domains: { ...domains, store: { ...store, remove } } };
      },
    });
    await activate(platform);
    await add(platform, "second.example.com");
    await expectKept(platform);
  });

  test("keeps the domains if the deployment cannot be removed", async () => {
    const platform = await start({
      around: ({ services }) => ({
        services: faulty(services, ({ method }) => (method === "remove" ? { error: unavailable("down") } : undefined)),
      }),
    });
    await add(platform);
    await add(platform, "second.example.com");
    await expectKept(platform);
  });
});
