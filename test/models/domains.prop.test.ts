/** Random sequences of domain commands by two accounts, against a model of the ownership rules. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { DomainStatus } from "../../core/domain/domains/domain.ts";
import type { DomainName } from "../../core/domain/domains/domain-name.ts";
import { deployed, type MemoryPlatform, startMemory } from "../support/providers/memory-platform.ts";

const accounts = ["acme", "other"] as const;
const domains = ["app.example.com", "b.example.com"] as const;
const names = ["app", "second", "theirs"] as const;
type Account = (typeof accounts)[number];
type Domain = (typeof domains)[number];
type Name = (typeof names)[number];

const ownerOf = (name: Name): Account => (name === "theirs" ? "other" : "acme");

interface OwnedDomain {
  readonly owner: Account;
  readonly name: Name;
  readonly status: DomainStatus;
}

interface Model {
  readonly domains: Map<Domain, OwnedDomain>;
  readonly deployments: Set<Name>;
  /** The accounts whose proof DNS has. */
  readonly proofs: Map<Domain, ReadonlySet<Account>>;
  /** The domains that point to the platform. */
  readonly pointing: Set<Domain>;
}

/** A row of a domain, or the kind of the error. */
type Shown = Readonly<Record<string, unknown>> | string;

type Command = (model: Model, platform: MemoryPlatform) => Promise<void>;

const shownOf = (result: Awaited<ReturnType<MemoryPlatform["controlPlane"]["addDomain"]>>): Shown =>
  result.match(
    ({ domain, name, status }) => ({ domain, name, status }),
    ({ kind }) => kind,
  );

const proofsOf = ({ proofs }: Model, domain: Domain): ReadonlySet<Account> => proofs.get(domain) ?? new Set();

const expectedAdd = (model: Model, account: Account, domain: Domain, name: Name): Shown => {
  const found = model.domains.get(domain);
  // Names of deleted deployments stay reserved for their owner.
  if (ownerOf(name) !== account) return "forbidden";
  if (!model.deployments.has(name)) return "not_found";
  const isForeign = found !== undefined && found.owner !== account;
  if (isForeign && !(proofsOf(model, domain).has(account) && !proofsOf(model, domain).has(found.owner)))
    return "conflict";
  const status = found === undefined || isForeign ? "pending" : found.status;
  model.domains.set(domain, { owner: account, name, status });
  return { domain, name, status };
};

const add =
  (account: Account, domain: Domain, name: Name): Command =>
  async (model, { controlPlane, principal }) => {
    const expected = expectedAdd(model, account, domain, name);
    expect(shownOf(await controlPlane.addDomain(principal(account), { domain, name }))).toEqual(expected);
  };

const expectedCheck = (model: Model, account: Account, domain: Domain): Shown => {
  const found = model.domains.get(domain);
  if (found?.owner !== account) return "not_found";
  const isCorrect = proofsOf(model, domain).has(account) && model.pointing.has(domain);
  const afterProblems = found.status === "pending" ? "pending" : "failing";
  const status = isCorrect ? "active" : afterProblems;
  model.domains.set(domain, { ...found, status });
  return { domain, name: found.name, status };
};

const check =
  (account: Account, domain: Domain): Command =>
  async (model, { controlPlane, principal }) => {
    const expected = expectedCheck(model, account, domain);
    expect(shownOf(await controlPlane.checkDomain(principal(account), { domain }))).toEqual(expected);
  };

const remove =
  (account: Account, domain: Domain): Command =>
  async (model, { controlPlane, principal }) => {
    const isOwn = model.domains.get(domain)?.owner === account;
    if (isOwn) model.domains.delete(domain);
    expect((await controlPlane.removeDomain(principal(account), { domain })).isOk()).toBe(isOwn);
  };

/** Replaces the proofs in DNS. */
const prove =
  (domain: Domain, who: readonly Account[]): Command =>
  async (model, { memory, principal }) => {
    model.proofs.set(domain, new Set(who));
    const name = `_portside.${domain}`;
    memory.dns.remove(name);
    for (const account of who) {
      const proof = await memory.provider.domains?.store.proof(
        principal(account).account,
        domain as string as DomainName,
      );
      memory.dns.add({ type: "TXT", name, value: proof?._unsafeUnwrap() ?? "" });
    }
  };

const point =
  (domain: Domain, isPointing: boolean): Command =>
  async (model, { memory }) => {
    memory.dns.remove(domain);
    if (isPointing) memory.dns.add({ type: "CNAME", name: domain, value: "ingress.memory.invalid" });
    if (isPointing) model.pointing.add(domain);
    else model.pointing.delete(domain);
  };

const deploy =
  (name: Name): Command =>
  async (model, platform) => {
    await deployed(platform, { function_name: name }, ownerOf(name));
    model.deployments.add(name);
  };

const deleteDeployment =
  (name: Name): Command =>
  async (model, { controlPlane, principal }) => {
    const exists = model.deployments.delete(name);
    for (const [domain, found] of model.domains) if (exists && found.name === name) model.domains.delete(domain);
    expect((await controlPlane.deleteDeployment(principal(ownerOf(name)), { name })).isOk()).toBe(exists);
  };

const account = fc.constantFrom(...accounts);
const domain = fc.constantFrom(...domains);
const name = fc.constantFrom(...names);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(account, domain, name).map((all) => add(...all)) },
  { weight: 4, arbitrary: fc.tuple(account, domain).map((all) => check(...all)) },
  { weight: 1, arbitrary: fc.tuple(account, domain).map((all) => remove(...all)) },
  { weight: 3, arbitrary: fc.tuple(domain, fc.subarray([...accounts])).map((all) => prove(...all)) },
  { weight: 3, arbitrary: fc.tuple(domain, fc.boolean()).map((all) => point(...all)) },
  { weight: 1, arbitrary: name.map(deploy) },
  { weight: 1, arbitrary: name.map(deleteDeployment) },
);

test("each account sees exactly its domains, and takes over or activates a domain only with its proof", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 60, size: "max" }), async (commands) => {
      const platform = startMemory();
      const { controlPlane, principal } = platform;
      const model: Model = { domains: new Map(), deployments: new Set(), proofs: new Map(), pointing: new Set() };
      for (const one of names) await deploy(one)(model, platform);
      for (const run of commands) {
        await run(model, platform);
        for (const one of accounts) {
          const listed = (await controlPlane.listDomains(principal(one)))._unsafeUnwrap();
          const own = [...model.domains].filter(([, { owner }]) => owner === one).sort(([a], [b]) => (a < b ? -1 : 1));
          expect(listed.map(({ domain, name, status }) => ({ domain, name, status }))).toEqual(
            own.map(([domain, { name, status }]) => ({ domain, name, status })),
          );
        }
      }
    }),
  );
});
