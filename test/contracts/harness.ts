/**
 * What a contract suite needs of the thing that it tests, and how its cases are run.
 *
 * Cases are data, so that a suite can be registered with vitest for a provider that should pass, and run by
 * hand against one that is broken on purpose and must not.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { type AnsweredCapabilities, type Capabilities, withFormerNames } from "../../core/domain/wire/capabilities.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { Provider } from "../../core/ports/provider.ts";

/** Sources that the provider's builder takes, as tar.gz bytes. */
export interface ContractSources {
  /** A service that answers every request with this text. */
  hello(text: string): Uint8Array;
  /** A service that ends at once with this exit code. */
  exits(code: number): Uint8Array;
  /** A service that runs and never listens. */
  silent(): Uint8Array;
  /**
   * A service that works on files as it is told: `GET /?path=` answers a file's text, `PUT /?path=` writes the body,
   * `POST /?path=&to=` makes a symbolic link; 200, or 500 with the error's code. `GET /env?name=` answers a variable.
   * `POST /cron` answers 204, and `GET /fires` a JSON array of the headers of those so far.
   */
  files(): Uint8Array;
  /** A source that only a container engine can build. */
  dockerfile(): Uint8Array;
}

/** A running provider under test. Cases share it, so each uses accounts and names of its own. */
export interface ProviderSubject {
  readonly provider: Provider;
  readonly sources: ContractSources;
  /** An account and a name that no case had before. */
  account(): AccountId;
  name(): DeploymentName;
}

/** Of a provider of which nothing is to run. */
export type StoreSubject = Omit<ProviderSubject, "sources">;

/** Of a provider whose storage lasts. */
export interface DurableSubject extends StoreSubject {
  /** The one that was opened last. */
  readonly provider: Provider;
  /** Closes the provider and opens another on the same storage. */
  reopen(): Promise<void>;
}

export interface Started<S> {
  readonly subject: S;
  close(): Promise<void>;
}

export interface ContractCase<S> {
  readonly group: string;
  readonly name: string;
  /** The case is for providers that declare this; absent: for all. */
  readonly when?: (capabilities: AnsweredCapabilities) => boolean;
  readonly run: (subject: S) => Promise<void>;
}

/** Every loop that asks for the next page ends here: no case needs as many. */
const MOST_PAGES = 10_000;

/** Counts the pages of one loop; the call for one page too many throws. */
export const pageLimit = (what: string): (() => void) => {
  let left = MOST_PAGES;
  return () => {
    if (left-- <= 0) throw new Error(`${what} has more than ${MOST_PAGES} pages; it does not end.`);
  };
};

let counter = 0;

/** Makes a subject's own account and name sources; `prefix` keeps subjects of one process apart. */
export const freshNames = (prefix: string): Pick<ProviderSubject, "account" | "name"> => ({
  account: () => `${prefix}-account-${++counter}` as AccountId,
  name: () => `${prefix}-${++counter}` as DeploymentName,
});

/** Whether a case is for a provider with these capabilities; without capabilities, only unconditional cases apply. */
export const appliesTo = ({ when }: Pick<ContractCase<never>, "when">, capabilities?: Capabilities): boolean =>
  when === undefined || (capabilities !== undefined && when(withFormerNames(capabilities)));

/**
 * Registers a suite for one implementation. Which cases run follows from the capabilities that it declares;
 * a suite of which none runs fails.
 */
export const contractTests = <S>(
  title: string,
  cases: readonly ContractCase<S>[],
  start: () => Promise<Started<S>>,
  capabilities?: Capabilities,
): void => {
  const applies = cases.filter((one) => appliesTo(one, capabilities));
  describe(title, () => {
    let started: Started<S> | undefined;
    beforeAll(async () => {
      started = await start();
    });
    afterAll(() => started?.close());
    test("has cases", () => expect(applies.length).toBeGreaterThan(0));
    for (const { group, name, run } of applies) test(`${group}: ${name}`, () => run((started as Started<S>).subject));
  });
};
