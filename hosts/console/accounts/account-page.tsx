/** The account: keys, sessions, subscription, quotas and the capabilities of the platform. */
import type { ComponentChildren } from "preact";
import { CopyCommands } from "../components/copy.tsx";
import { Loaded, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { Table } from "../components/table.tsx";
import { Text } from "../components/text.tsx";
import { Time } from "../components/time.tsx";
import { account, client } from "../shell/session.ts";
import { capabilityRows } from "./capability-rows.ts";
import { formatPrice } from "./format-price.ts";
import { Keys } from "./keys.tsx";
import { Sessions } from "./sessions.tsx";

type Usage = Awaited<ReturnType<typeof client.getAccountUsage>>;
type Subscribed = Awaited<ReturnType<typeof client.getSubscription>>;

const QUOTAS_REFRESH_MS = 10_000;

const quotaNames: Readonly<Record<keyof Usage, string>> = {
  deployments: "Deployments",
  instances: "Instances of a deployment",
  volumes: "Volumes",
  domains: "Domains",
  builds_at_once: "Concurrent builds",
  uploads_at_once: "Concurrent uploads of sources",
  sql_at_once: "Concurrent SQL queries",
  requests_per_minute: "Requests per minute",
};

const Pair = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const priceOf = ({ amount, currency, interval }: Subscribed): string | undefined =>
  amount === null || currency === null
    ? undefined
    : `${formatPrice(amount, currency)}${interval === null ? "" : ` per ${interval}`}`;

const SubscriptionDetails = ({ subscription }: { readonly subscription: Subscribed }) => {
  const price = priceOf(subscription);
  return (
    <>
      <dl class="pairs">
        <Pair name="Plan">
          <Text max={200}>{subscription.plan}</Text>
        </Pair>
        <Pair name="Status">{subscription.status.replaceAll("_", " ")}</Pair>
        {price !== undefined && <Pair name="Price">{price}</Pair>}
        {subscription.current_period_end !== null && (
          <Pair name={subscription.cancel_at_period_end === true ? "Ends" : "Renews"}>
            <Time time={subscription.current_period_end} />
          </Pair>
        )}
      </dl>
      {subscription.provider === "none" && <p class="dim">The platform has no billing provider.</p>}
    </>
  );
};

const Subscription = () => {
  const subscription = useResource("subscription", (signal) => client.getSubscription({ signal }));
  return (
    <section class="card" aria-labelledby="subscription-title">
      <div class="title">
        <h2 id="subscription-title">Subscription</h2>
        <CopyCommands request={{ method: "GET", path: "/v1/user/subscription" }} />
      </div>
      <Loaded resource={subscription} waiting="Loading the subscription…">
        {(loaded) => <SubscriptionDetails subscription={loaded} />}
      </Loaded>
    </section>
  );
};

const Quotas = () => {
  const usage = useResource("usage", (signal) => client.getAccountUsage({ signal }), QUOTAS_REFRESH_MS);
  return (
    <section class="card" aria-labelledby="quotas-title">
      <div class="title">
        <h2 id="quotas-title">Quotas</h2>
        <CopyCommands request={{ method: "GET", path: "/v1/account/usage" }} cli={cliOf("account", "usage")} />
      </div>
      <Loaded resource={usage} waiting="Loading the quotas…">
        {(loaded) => (
          <Table caption="Quotas" columns={["Quota", "Used", "Share"]}>
            {(Object.entries(loaded) as [keyof Usage, Usage[keyof Usage]][]).map(([name, { used, limit }]) => (
              <tr key={name}>
                {/* A newer server may have more quotas. */}
                <th scope="row">{quotaNames[name] ?? name}</th>
                <td data-label="Used">
                  {used.toLocaleString("en")} of {limit.toLocaleString("en")}
                </td>
                <td data-label="Share">
                  <meter
                    aria-label={quotaNames[name] ?? name}
                    min={0}
                    max={Math.max(limit, 1)}
                    high={limit * 0.8}
                    value={used}
                  />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Loaded>
    </section>
  );
};

const Supported = ({ supported }: { readonly supported: boolean }) => (
  <span class={`status ${supported ? "good" : "idle"}`}>
    <span class="dot" aria-hidden="true" />
    {supported ? "Yes" : "No"}
  </span>
);

const Capabilities = () => {
  const capabilities = useResource("capabilities", (signal) => client.capabilities({ signal }));
  return (
    <section class="card" aria-labelledby="capabilities-title">
      <div class="title">
        <h2 id="capabilities-title">Capabilities of the platform</h2>
        <CopyCommands request={{ method: "GET", path: "/v1/capabilities" }} />
      </div>
      <Loaded resource={capabilities} waiting="Loading the capabilities…">
        {(loaded) => (
          <Table caption="Capabilities" columns={["Capability", "Supported", "Details"]}>
            {capabilityRows(loaded, ["limits", "console"]).map(({ name, supported, text }) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td data-label="Supported">
                  {supported === undefined ? <span class="dim">–</span> : <Supported supported={supported} />}
                </td>
                <td class="message" data-label="Details">
                  <Text max={2000}>{text}</Text>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Loaded>
    </section>
  );
};

export const AccountPage = () => (
  <>
    <h1>Account{account.value !== undefined && ` ${account.value}`}</h1>
    <div class="overview">
      <Keys />
      <Sessions />
      <div class="cards">
        <Quotas />
        <Subscription />
      </div>
      <Capabilities />
    </div>
  </>
);
