/** The frame of every page: header, navigation, and the page of the current URL. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { SignIn } from "../accounts/sign-in.tsx";
import { announcement } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { lazy } from "../components/lazy.tsx";
import { Delayed } from "../components/resource.tsx";
import { localZone, showsUtc, toggleZone } from "../components/time.tsx";
import { DeployPage } from "../deploy/deploy-page.tsx";
import { DeploymentPage } from "../deploy/deployment-page.tsx";
import { DeploymentsPage } from "../deploy/deployments-page.tsx";
import { DeploysPage } from "../deploy/deploys-page.tsx";
import { NewDeploymentPage } from "../deploy/new-deployment-page.tsx";
import { PageBoundary } from "./page-boundary.tsx";
import { location } from "./router.ts";
import { fragmentOf, type Route } from "./routes.ts";
import { account, apiUrl, isSignedIn, offeredLink, signIn, signInNotice, signOut } from "./session.ts";
import { isMac, listenForShortcuts, openPanel } from "./shortcuts.ts";

const titleOf = (route: Route): string => {
  switch (route.page) {
    case "deployments":
      return "Deployments";
    case "deployment":
      return route.section === "overview" ? route.name : `${route.name} ${route.section}`;
    case "new-deploy":
      return "New deployment";
    case "volumes":
      return "Volumes";
    case "volume":
      return route.name;
    case "domains":
      return "Domains";
    case "sql":
      return "SQL";
    case "deploys":
      return "Deploys";
    case "deploy":
      return "Deploy";
    case "cost":
      return "Cost";
    case "account":
      return "Account";
    case "unknown":
      return "Not found";
  }
};

const WAITING = "Loading the page…";
const VolumesPage = lazy(async () => (await import("../volumes/volumes-page.tsx")).VolumesPage, WAITING);
const VolumePage = lazy(async () => (await import("../volumes/volume-page.tsx")).VolumePage, WAITING);
const DomainsPage = lazy(async () => (await import("../domains/domains-page.tsx")).DomainsPage, WAITING);
const SqlPage = lazy(async () => (await import("../sql/sql-page.tsx")).SqlPage, WAITING);
const CostPage = lazy(async () => (await import("../usage/cost-page.tsx")).CostPage, WAITING);
const AccountPage = lazy(async () => (await import("../accounts/account-page.tsx")).AccountPage, WAITING);

const Palette = lazy(async () => (await import("./palette.tsx")).Palette, "Loading the command palette…");
const ShortcutList = lazy(async () => (await import("./shortcut-list.tsx")).ShortcutList, "Loading the shortcuts…");

const closePanel = (): void => {
  openPanel.value = undefined;
};

const Page = ({ route }: { readonly route: Route }) => {
  switch (route.page) {
    case "deployments":
      return <DeploymentsPage />;
    case "deployment":
      return <DeploymentPage key={route.name} name={route.name} section={route.section} />;
    case "new-deploy":
      return <NewDeploymentPage />;
    case "volumes":
      return <VolumesPage />;
    case "volume":
      return <VolumePage key={route.name} name={route.name} />;
    case "domains":
      return <DomainsPage />;
    case "sql":
      return <SqlPage />;
    case "deploys":
      return <DeploysPage />;
    case "deploy":
      return <DeployPage key={route.id} id={route.id} />;
    case "cost":
      return <CostPage />;
    case "account":
      return <AccountPage />;
    case "unknown":
      return (
        <>
          <h1>Not found</h1>
          <p>
            No page has this URL. Open the <a href="#/">deployments</a>.
          </p>
        </>
      );
  }
};

const links: readonly (readonly [string, Route, readonly Route["page"][]])[] = [
  ["Deployments", { page: "deployments" }, ["deployments", "deployment", "new-deploy"]],
  ["Deploys", { page: "deploys" }, ["deploys", "deploy"]],
  ["Volumes", { page: "volumes" }, ["volumes", "volume"]],
  ["Domains", { page: "domains" }, ["domains"]],
  ["SQL", { page: "sql" }, ["sql"]],
  ["Cost", { page: "cost" }, ["cost"]],
];

/** False if an embedding application has turned the documents off. */
const hasDocs = signal(false);

const findDocs = async (): Promise<void> => {
  const response = await fetch(`${apiUrl}/docs`, { method: "HEAD" }).catch(() => undefined);
  hasDocs.value = response?.ok === true;
};

const endSession = async (): Promise<void> => {
  announcement.value = (await signOut()) ?? "";
};

/** Asks whether a link may replace the session. */
const OfferedLink = ({ link }: { readonly link: string }) => (
  <Confirm
    title="Sign in with the link?"
    action="Use the link"
    run={async () => {
      const problem = await signIn({ link });
      if (problem !== undefined) throw new Error(problem);
    }}
    close={() => {
      offeredLink.value = undefined;
    }}
  >
    <p>You are signed in as {account.value}. The link may belong to another account, and using it ends this session.</p>
  </Confirm>
);

const Header = ({ route }: { readonly route: Route }) => (
  <header class="top">
    <a class="brand" href="#/">
      Portside
    </a>
    <nav aria-label="Main">
      {links.map(([label, target, pages]) => (
        <a key={label} href={fragmentOf(target)} aria-current={pages.includes(route.page) ? "page" : undefined}>
          {label}
        </a>
      ))}
      {hasDocs.value && <a href="../docs">API</a>}
    </nav>
    <div class="end">
      <button
        type="button"
        class="quiet"
        aria-haspopup="dialog"
        title={`Search pages, deployments and actions (${isMac() ? "⌘" : "Ctrl"} K)`}
        onClick={() => {
          openPanel.value = "palette";
        }}
      >
        Search <kbd>{isMac() ? "⌘" : "Ctrl"} K</kbd>
      </button>
      <button type="button" class="quiet" onClick={toggleZone} title={`Times in ${showsUtc.value ? "UTC" : localZone}`}>
        {showsUtc.value ? "UTC" : "Local time"}
      </button>
      <a
        class="account"
        href={fragmentOf({ page: "account" })}
        title="Account"
        aria-current={route.page === "account" ? "page" : undefined}
      >
        {account.value ?? "Account"}
      </a>
      {account.value !== undefined && (
        <button type="button" class="quiet" onClick={() => void endSession()}>
          Sign out
        </button>
      )}
    </div>
  </header>
);

const SignedIn = () => {
  const { route } = location.value;
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const title = titleOf(route);
  useEffect(() => void findDocs(), []);
  useEffect(listenForShortcuts, []);
  useEffect(() => {
    document.title = `${title} · Portside`;
    // A new page receives the focus, as after a navigation between documents.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    globalThis.scrollTo(0, 0);
  }, [title]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Header route={route} />
      <main ref={main} id="main" tabIndex={-1}>
        <PageBoundary at={fragmentOf(route)} title={title}>
          <Page route={route} />
        </PageBoundary>
      </main>
      {openPanel.value === "palette" && <Palette signOut={() => void endSession()} close={closePanel} />}
      {openPanel.value === "shortcuts" && <ShortcutList close={closePanel} />}
    </>
  );
};

export const App = () => (
  <>
    {isSignedIn.value === undefined ? (
      <Delayed>Signing in…</Delayed>
    ) : isSignedIn.value ? (
      <SignedIn key={account.value} />
    ) : (
      <SignIn />
    )}
    {offeredLink.value !== undefined && <OfferedLink link={offeredLink.value} />}
    <div class="announcement" role="status">
      {announcement.value || (isSignedIn.value ? signInNotice.value : "")}
    </div>
  </>
);
