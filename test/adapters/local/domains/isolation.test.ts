/** Two accounts and the endpoints of domains, on the state of the local provider and a simulated DNS. */
import { expect, test } from "vitest";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import type { DomainRecord } from "../../../../core/domain/domains/domain.ts";
import type { DomainPorts } from "../../../../core/ports/domain-store.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { serveApi } from "../../../support/http/api.ts";
import { detailOf } from "../../../support/http/refusals.ts";

const DOMAIN = "app.d2-isolation.com";
const PROOF = `_portside.${DOMAIN}`;

test("another account cannot add, list, check or remove a domain, or replay its proof", async () => {
  using folder = folderWith();
  const local = await createLocalProvider(
    {
      dataDir: folder.path,
      runner: "process",
      ingressPort: 0,
      tlsPort: 0,
      acmeEmail: "ops@example.com",
      publicAddress: ["192.0.2.1"],
    },
    { keepsImages: false },
  );
  const { dns, provider: memory } = createMemoryProvider();
  const domains = { ...local.provider.domains, dns: memory.domains?.dns } as DomainPorts;
  const provider = { ...local.provider, domains };
  const api = await serveApi({ ...local.ports, provider });
  try {
    for (const [name, account] of [
      ["d2-mine", "acme"],
      ["d2-theirs", "other"],
    ] as const)
      await api.deploy({ function_name: name, volumes: "{}" }, nodeSource(helloServer()), { account });
    const post = (path: string, json: unknown, account = "acme") => api.call("POST", path, { json, account });
    const list = async (account = "acme") => (await api.call("GET", "/v1/domain/list", { account })).json;
    const theirs = { domain: DOMAIN, name: "d2-theirs" };

    const { records } = (await post("/v1/domain/add", { domain: DOMAIN, name: "d2-mine" })).json;
    dns.add(...records);
    const checked = (await post("/v1/domain/check", { domain: DOMAIN })).json;
    expect(checked.detail).toContain("The DNS records are correct.");
    const before = await list();

    const refused = detailOf(await post("/v1/domain/add", theirs, "other"), 409);
    expect(refused).not.toMatch(/acme|d2-mine/);
    detailOf(await post("/v1/domain/add", { domain: DOMAIN, name: "d2-mine" }, "other"), 403);
    expect(await list("other")).toEqual([]);
    detailOf(await post("/v1/domain/check", { domain: DOMAIN }, "other"), 404);
    detailOf(await post("/v1/domain/remove", { domain: DOMAIN }, "other"), 404);
    expect(await list()).toEqual(before);

    // The proof is public, and stays in DNS after the first account has removed the domain.
    await post("/v1/domain/remove", { domain: DOMAIN });
    const added = (await post("/v1/domain/add", theirs, "other")).json;
    const proofOf = (all: readonly DomainRecord[]) => all.find(({ name }) => name === PROOF)?.value;
    expect(proofOf(added.records)).not.toBe(proofOf(records));
    const replayed = (await post("/v1/domain/check", { domain: DOMAIN }, "other")).json;
    expect(replayed).toMatchObject({ status: "pending", detail: expect.stringContaining("has a different value") });
    // A domain without a proof gets neither requests nor a certificate.
    expect((await domains.certificates?.store.hosts())?._unsafeUnwrap()).toEqual([]);
  } finally {
    await api[Symbol.asyncDispose]();
    await local.close();
  }
});
