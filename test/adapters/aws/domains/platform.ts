/** A platform on AWS fakes with an HTTPS listener, for tests of custom domains. */
import { request } from "node:http";
import { setDefaultCACertificates } from "node:tls";
import { awsCalls } from "../../../../adapters/aws/call-policy.ts";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createRequestBudget } from "../../../../adapters/aws/domains/request-budget.ts";
import { stateBucket } from "../../../../adapters/aws/state/state-bucket.ts";
import type { DomainRow } from "../../../../core/domain/domains/domain.ts";
import { plusMillis } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { awsWith } from "../../../clouds/aws.ts";
import { openPlatform } from "../../../clouds/cloud.ts";
import { firstDeclaration, stepsOn } from "../../../clouds/deploy-steps.ts";
import { fixedClients, runtimeDeps } from "../../../clouds/subject.ts";
import { expectOk } from "../../../contracts/support.ts";
import { type AdverseBehaviors, noneAdverse } from "../../../fakes/aws/adverse.ts";
import type { FakeCloudOptions } from "../../../fakes/aws/cloud.ts";
import { certificate } from "../../../fakes/aws/elbv2/certificate.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { createFastClock } from "../../../support/clocks/fast-clock.ts";
import { principalOf } from "../../../support/providers/local-platform.ts";

export const DOMAIN = "app.example.com";

export interface DomainPlatformOptions extends Pick<FakeCloudOptions, "balancers" | "maxCertificates"> {
  readonly adverse?: AdverseBehaviors;
  /** The speed of the clock relative to the machine's clock; defaults to 50. */
  readonly times?: number;
}

interface AroundCall {
  readonly before?: () => Promise<void>;
  readonly after?: () => Promise<void>;
}

/** The part of an AWS client that adds a middleware. */
interface Middlewares {
  readonly middlewareStack: Pick<AwsClients["balancer"]["middlewareStack"], "add">;
}

/** Runs functions before and after the next call of a command. */
export const onceAround = (client: unknown, command: string, { before, after }: AroundCall): void => {
  let isWaiting = true;
  (client as Middlewares).middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (!isWaiting || commandName !== command) return next(args);
        isWaiting = false;
        await before?.();
        const output = await next(args);
        await after?.();
        return output;
      },
    { step: "initialize" },
  );
};

/** Records the inputs of all later calls of a command. */
export const recordInputs = <T>(client: unknown, command: string): readonly T[] => {
  const inputs: T[] = [];
  (client as Middlewares).middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName === command) inputs.push(args.input as T);
        return next(args);
      },
    { step: "initialize" },
  );
  return inputs;
};

export const openDomainPlatform = async ({
  adverse = noneAdverse,
  times = 50,
  ...options
}: DomainPlatformOptions = {}) => {
  setDefaultCACertificates([certificate]);
  const cloud = awsWith(adverse, { scheme: "https", ...options });
  const fast = createFastClock(times);
  let skipped = 0;
  const clock: Clock = { ...fast, now: () => plusMillis(fast.now(), skipped) };
  const runtime = { ...runtimeDeps(), clock };
  const platform = await openPlatform(cloud, "simulated", runtime);
  const { controlPlane, fakes } = platform;
  const { clients } = fakes;
  const stepsOf = (account: string) => stepsOn(controlPlane, () => principalOf(account));
  const steps = stepsOf("acme");
  const add = (name = "app", domain = DOMAIN, account = "acme") =>
    controlPlane.addDomain(principalOf(account), { domain, name });
  const check = (domain = DOMAIN, account = "acme"): Promise<DomainRow> =>
    expectOk(controlPlane.checkDomain(principalOf(account), { domain }));
  const remove = (domain = DOMAIN) => controlPlane.removeDomain(principalOf("acme"), { domain });
  return {
    ...platform,
    clock,
    /** Moves the clock forward. Pauses that have begun stay the same. */
    skip: (millis: number): void => {
      skipped += millis;
    },
    add,
    check,
    remove,
    clients,
    deployed: (name = "app", account = "acme") => stepsOf(account).deployed(name, firstDeclaration),
    removeDeployment: steps.remove,
    list: (account = "acme") => expectOk(controlPlane.listDomains(principalOf(account))),
    /** Counts requests for certificates, as if the account had made them. */
    countRequests: async (count: number, account = "acme"): Promise<void> => {
      const bucket = stateBucket(STATE_BUCKET, fixedClients<AwsClients>(clients), awsCalls(runtime));
      const budget = createRequestBudget(bucket, runtime);
      for (let index = 0; index < count; index++)
        await expectOk(budget.count(principalOf(account).account, `${index}`));
    },
    /** Adds the domain, creates its records, and lets Certificate Manager issue the certificate. */
    activate: async (name = "app", domain = DOMAIN): Promise<DomainRow> => {
      const { records } = await expectOk(add(name, domain));
      fakes.dns.add(...records);
      fakes.acm.issue(domain);
      return check(domain);
    },
    /** The status that the load balancer returns for a host. */
    requested: (host = DOMAIN): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const sent = request({ port: fakes.balancer.port, headers: { host }, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        sent.on("error", reject).end();
      }),
    /** All hosts of the rule that contains the host. */
    hostsOf: (host: string): readonly string[] =>
      fakes.balancer
        .rules()
        .map(({ Conditions }) => Conditions[0].HostHeaderConfig.Values as string[])
        .find((hosts) => hosts.includes(host)) ?? [],
  };
};
