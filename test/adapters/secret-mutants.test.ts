/** The contract suite of secrets rejects broken stores. The promises about running services need real processes. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import type { SecretVersion } from "../../core/domain/secrets/secret.ts";
import { offered } from "../../core/domain/wire/capabilities.ts";
import type { SecretName } from "../../core/domain/wire/names.ts";
import type { SecretStore } from "../../core/ports/secret-store.ts";
import type { ServicePlatform } from "../../core/ports/service-platform.ts";
import { okAsync } from "../../core/result.ts";
import type { ProviderSubject } from "../contracts/index.ts";
import { runningSecretCases, secretStoreCases } from "../contracts/secrets.ts";
import { type Mutants, mutantTests, subjectWith } from "../support/vitest/mutants.ts";

const store = (change: (port: SecretStore) => Partial<SecretStore>) => () =>
  subjectWith(({ secrets }) => {
    if (secrets === undefined) throw new Error("the memory provider has no store of secrets");
    return { secrets: { ...secrets, ...change(secrets) } };
  });

const shared = "shared" as AccountId;

/** A store that changes the versions that it returns. */
const versions = (change: (version: SecretVersion, owner: AccountId, value: string) => SecretVersion) =>
  store((port) => {
    const changed = new Map<string, SecretVersion>();
    const keyOf = (owner: AccountId, name: string, version: number) => `${owner} ${name} ${version}`;
    return {
      set: (owner, name, value) =>
        port.set(owner, name, value).map((version) => {
          const made = change(version, owner, value);
          changed.set(keyOf(owner, name, version.version), made);
          return made;
        }),
      list: (owner) =>
        port.list(owner).map((all) =>
          all.map(({ name, versions: own }) => ({
            name,
            versions: own.map((one) => changed.get(keyOf(owner, name, one.version)) ?? one),
          })),
        ),
    };
  });

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32);

const storeMutants: Mutants<ProviderSubject> = {
  "stored secrets": {
    "store that lists the oldest version first": store((port) => ({
      list: (owner) =>
        port.list(owner).map((all) => all.map((one) => ({ ...one, versions: one.versions.toReversed() }))),
    })),
    "store that lists the names in reverse": store((port) => ({
      list: (owner) => port.list(owner).map((all) => all.toReversed()),
    })),
    "store that makes a version for the same value": store((port) => ({
      set: (owner, name, value) => port.set(owner, name, "between").andThen(() => port.set(owner, name, value)),
    })),
    "store that returns an earlier version with the value": store((port) => {
      const known = new Map<string, SecretVersion>();
      return {
        set: (owner, name, value) => {
          const key = `${owner} ${name} ${value}`;
          const before = known.get(key);
          if (before !== undefined) return okAsync(before);
          return port.set(owner, name, value).map((version) => {
            known.set(key, version);
            return version;
          });
        },
      };
    }),
    "store with one name for all accounts": store((port) => ({
      list: () => port.list(shared),
      set: (_owner, name, value) => port.set(shared, name, value),
      delete: (_owner, name, version) => port.delete(shared, name, version),
    })),
    "store with a plain hash as digest": versions((version, owner, value) => ({
      ...version,
      digest: `hmac:${sha256(value)}${owner.slice(0, 0)}`,
    })),
    "store with a random digest": versions((version) => ({
      ...version,
      digest: `hmac:${sha256(crypto.randomUUID())}`,
    })),
    "store that shows the value as digest": versions((version, _owner, value) => ({ ...version, digest: value })),
    "store with one digest for all values": versions((version) => ({ ...version, digest: `hmac:${"0".repeat(32)}` })),
  },
  "deleted secrets": {
    "store that deletes all versions": store((port) => ({ delete: (owner, name) => port.delete(owner, name) })),
    "store that deletes nothing": store(() => ({ delete: () => okAsync(undefined) })),
    "store that returns the number of versions as the version": store((port) => ({
      set: (owner, name, value) =>
        port.set(owner, name, value).andThen((version) =>
          port.list(owner).map((all) => ({
            ...version,
            version: all.find((one) => one.name === name)?.versions.length ?? 1,
          })),
        ),
    })),
    "store that finds the secrets of other accounts": store((port) => ({
      delete: (owner, name, version) => port.delete(owner, name, version).orElse(() => okAsync(undefined)),
    })),
  },
  "pending redeploys": {
    "store that records no redeploys": store(() => ({ beginRedeploys: () => okAsync(undefined) })),
    "store that keeps ended redeploys": store(() => ({ endRedeploys: () => okAsync(undefined) })),
    "store that ends the redeploys of a newer version": store((port) => ({
      endRedeploys: (pending) => port.endRedeploys({ ...pending, version: Number.MAX_SAFE_INTEGER }),
    })),
    "store that ends the redeploys of all secrets": store((port) => ({
      endRedeploys: (pending) =>
        port.endRedeploys(pending).andThen(() => port.endRedeploys({ ...pending, name: "OTHER" as SecretName })),
    })),
    "store that replaces a newer version": store((port) => ({
      beginRedeploys: (pending) =>
        port.endRedeploys({ ...pending, version: Number.MAX_SAFE_INTEGER }).andThen(() => port.beginRedeploys(pending)),
    })),
  },
  "references to secrets": {
    "platform that loses the references": () => withTemplates(({ secrets: _secrets, ...template }) => template),
    "platform that makes every reference follow its secret": () =>
      withTemplates(({ secrets, ...template }) =>
        secrets === undefined
          ? template
          : {
              ...template,
              secrets: Object.fromEntries(
                Object.entries(secrets).map(([name, pinned]) => [name, { ...pinned, follows: true }]),
              ),
            },
      ),
    "platform that keeps the references": () =>
      withTemplates((template) => ({ ...template, secrets: template.secrets ?? {} })),
  },
};

type Template = Parameters<ServicePlatform["rollout"]>[0]["template"];

const withTemplates = (change: (template: Template) => Template): ProviderSubject =>
  subjectWith(({ services }) => ({
    services: {
      ...services,
      rollout: (request, options) => services.rollout({ ...request, template: change(request.template) }, options),
    },
  }));

/** The memory provider starts no instance, so no instance sees a value. */
const declaresThatItRuns = () =>
  subjectWith((provider) => ({ capabilities: { ...provider.capabilities, runs: offered() } }));

mutantTests("SecretStore", secretStoreCases, storeMutants);
mutantTests("running services with secrets", runningSecretCases, { "values of secrets": declaresThatItRuns });
