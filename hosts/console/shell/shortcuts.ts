/** The keyboard shortcuts of the console. */
import { signal } from "@preact/signals";
import { navigate } from "./router.ts";
import type { Route } from "./routes.ts";

/** The dialog that is open: the command palette or the list of shortcuts. */
export const openPanel = signal<"palette" | "shortcuts" | undefined>(undefined);

export interface Shortcut {
  /** The keys, pressed one after the other. */
  readonly keys: readonly string[];
  readonly label: string;
}

interface PageShortcut {
  readonly key: string;
  readonly label: string;
  readonly route: Route;
}

/** The pages that `g` and a letter open. */
export const pageShortcuts: readonly PageShortcut[] = [
  { key: "d", label: "Deployments", route: { page: "deployments" } },
  { key: "n", label: "New deployment", route: { page: "new-deploy" } },
  { key: "y", label: "Deploys", route: { page: "deploys" } },
  { key: "v", label: "Volumes", route: { page: "volumes" } },
  { key: "o", label: "Domains", route: { page: "domains" } },
  { key: "s", label: "SQL", route: { page: "sql" } },
  { key: "c", label: "Cost", route: { page: "cost" } },
  { key: "a", label: "Account", route: { page: "account" } },
];

export const isMac = (): boolean => /mac|iphone|ipad/i.test(navigator.platform);

/** Every shortcut, for the list that `?` opens. */
export const shortcuts = (): readonly Shortcut[] => [
  { keys: [isMac() ? "⌘ K" : "Ctrl K"], label: "Open the command palette" },
  { keys: ["?"], label: "Show the shortcuts" },
  { keys: ["/"], label: "Go to the search or filter of the page" },
  ...pageShortcuts.map(({ key, label }) => ({ keys: ["g", key], label: `Open ${label}` })),
  { keys: ["Esc"], label: "Close a dialog" },
];

/** The time for the second key of a shortcut. */
const SEQUENCE_MS = 1500;

/**
 * Returns whether a typed character is text rather than a shortcut. The target of an event in a shadow root is the
 * host, so this function reads the event's path.
 */
const isTyping = (event: KeyboardEvent): boolean => {
  const [element] = event.composedPath();
  return element instanceof HTMLElement && (element.isContentEditable || element.matches("input, textarea, select"));
};

/** Returns the search field or the filter of the page. A code editor is in a shadow root. */
const findSearch = (): HTMLElement | null | undefined => {
  const box = document.querySelector<HTMLElement>("main input[type=search], main [data-search]");
  if (box === null || box.matches("input")) return box;
  const editor = box.querySelector(".editor-host")?.shadowRoot?.querySelector<HTMLElement>("[contenteditable=true]");
  return editor ?? box.querySelector("input");
};

const focusSearch = (): boolean => {
  const field = findSearch();
  field?.focus();
  return field != null;
};

/** Returns whether a dialog is open. A panel counts as open while its code loads. */
const hasDialog = (): boolean => openPanel.value !== undefined || document.querySelector("dialog[open]") !== null;

const openPage = (key: string): boolean => {
  const found = pageShortcuts.find((one) => one.key === key);
  if (found !== undefined) navigate(found.route);
  return found !== undefined;
};

/** Listens for shortcuts. Returns a function that stops listening. */
export const listenForShortcuts = (): (() => void) => {
  let prefixAt = Number.NEGATIVE_INFINITY;
  const isHandled = (event: KeyboardEvent): boolean => {
    const { key } = event;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && key.toLowerCase() === "k") {
      openPanel.value = openPanel.value === "palette" ? undefined : "palette";
      return true;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return false;
    if (hasDialog()) return false;
    const isSecond = event.timeStamp - prefixAt < SEQUENCE_MS;
    prefixAt = key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
    if (isSecond) return openPage(key);
    if (key === "?") openPanel.value = "shortcuts";
    return key === "?" || (key === "/" && focusSearch());
  };
  const listen = (event: KeyboardEvent): void => {
    if (!event.defaultPrevented && isHandled(event)) event.preventDefault();
  };
  document.addEventListener("keydown", listen);
  return () => document.removeEventListener("keydown", listen);
};
