/** The part of Stripe that Portside uses, over real HTTP: customers by metadata, subscriptions, products. */
import { createServer, type ServerResponse } from "node:http";
import { createManualClock, type ManualClock } from "../../../adapters/memory/index.ts";
import { createStripeClient } from "../../../adapters/stripe/usage/client.ts";
import { createStripeBilling } from "../../../adapters/stripe/usage/stripe.ts";
import type { Billing } from "../../../core/ports/billing.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { recorder } from "../providers/memory-platform.ts";
import { customer, type SubscriptionShape, subscription } from "./stripe-shapes.ts";

/** A response to send instead: a status with body and headers, or a closed connection. */
export type StripeFault = { status: number; body: unknown; headers?: Record<string, string> } | "hangs up";

export interface StripeServer extends AsyncDisposable {
  readonly url: string;
  /** The requested paths, oldest first. */
  readonly asked: string[];
  trouble: StripeFault | undefined;
  /** A customer of the account with these subscriptions. */
  add(account: string, ...subscriptions: readonly Readonly<Record<string, unknown>>[]): void;
}

const answer = (res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  res.writeHead(status, { "content-type": "application/json", "request-id": "req_1", ...headers });
  res.end(JSON.stringify(body));
};

/** The value in the only query that Portside sends; the search is case-insensitive. */
const searched = (query: string): string =>
  (/^metadata\['portside_account'\]:'((?:[^'\\]|\\.)*)'$/.exec(query)?.[1] ?? "").replace(/\\(.)/g, "$1").toLowerCase();

export const startStripe = async (): Promise<StripeServer> => {
  const customers: ReturnType<typeof customer>[] = [];
  const subscriptions: SubscriptionShape[] = [];
  const asked: string[] = [];
  const server = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? "/", "http://stripe.invalid");
    asked.push(pathname);
    if (self.trouble === "hangs up") return res.destroy();
    if (self.trouble !== undefined) return answer(res, self.trouble.status, self.trouble.body, self.trouble.headers);
    const page = (object: string, data: unknown[]) =>
      answer(res, 200, { object, data, has_more: false, url: pathname });
    if (pathname === "/v1/customers/search") {
      const wanted = searched(searchParams.get("query") ?? "");
      return page(
        "search_result",
        customers.filter(({ metadata }) => metadata.portside_account.toLowerCase() === wanted),
      );
    }
    if (pathname === "/v1/subscriptions")
      return page(
        "list",
        subscriptions.filter((one) => one.customer === searchParams.get("customer")),
      );
    return answer(res, 200, { id: "prod_1", object: "product", name: "Portside Pro", metadata: {} });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const self: StripeServer = {
    url: `http://127.0.0.1:${port}`,
    asked,
    trouble: undefined,
    add: (account, ...all) => {
      const id = `cus_${customers.length + 1}`;
      customers.push(customer(id, account));
      subscriptions.push(...all.map((one) => subscription({ ...one, customer: id })));
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return self;
};

/** The adapter on such a server, with a clock that stands still. */
export const billingOver = async (
  { url }: Pick<StripeServer, "url">,
  logger: Logger = recorder().logger,
): Promise<{ billing: Billing; clock: ManualClock }> => {
  const clock = createManualClock();
  const stripe = await createStripeClient("sk_test_123", url);
  return { billing: createStripeBilling(stripe, { clock, logger }), clock };
};
