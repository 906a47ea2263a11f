/** The command palette: a search among pages, deployments and actions. Follows the combobox pattern of ARIA. */
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { Dialog, dismiss } from "../components/dialog.tsx";
import { Delayed, useResource } from "../components/resource.tsx";
import { toggleZone } from "../components/time.tsx";
import { type DeploymentAction, deploymentActions, openAction } from "../deploy/actions.tsx";
import { type Command, findCommands } from "./commands.ts";
import { location, navigate } from "./router.ts";
import { type Route, sections } from "./routes.ts";
import { account, client } from "./session.ts";
import { openPanel, pageShortcuts } from "./shortcuts.ts";

const MAX_SHOWN = 50;

const page = (label: string, route: Route): Command => ({
  id: `page ${label}`,
  label,
  group: "Page",
  run: () => navigate(route),
});

const pagesOf = (name: string): readonly Command[] =>
  sections.map((section) =>
    page(section === "overview" ? name : `${name} ${section}`, { page: "deployment", name, section }),
  );

const actionsOf = (name: string, hasSchedule: boolean): readonly Command[] =>
  (Object.entries(deploymentActions) as [DeploymentAction, string][])
    .filter(([action]) => action !== "fire" || hasSchedule)
    .map(([action, label]) => ({
      id: `${action} ${name}`,
      label: `${label} ${name}`,
      group: "Action",
      run: () => {
        navigate({ page: "deployment", name, section: "overview" });
        openAction(name, action);
      },
    }));

interface PaletteProps {
  readonly signOut: () => void;
  readonly close: () => void;
}

const generalCommands = (signOut: () => void): readonly Command[] => [
  ...pageShortcuts.map(({ label, route }) => page(label, route)),
  { id: "zone", label: "Switch between local time and UTC", group: "Action", run: toggleZone },
  {
    id: "shortcuts",
    label: "Show the keyboard shortcuts",
    group: "Action",
    run: () => {
      openPanel.value = "shortcuts";
    },
  },
  ...(account.value === undefined ? [] : [{ id: "sign-out", label: "Sign out", group: "Action", run: signOut }]),
];

/** Moves the commands of the current deployment to the front. */
const currentFirst = (commands: readonly Command[], current: string | undefined): readonly Command[] =>
  current === undefined
    ? commands
    : commands.toSorted((a, b) => Number(b.label.includes(current)) - Number(a.label.includes(current)));

export const Palette = ({ signOut, close }: PaletteProps) => {
  const id = useId();
  const search = useSignal("");
  const active = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const deployments = useResource("palette", (signal) => client.listDeployments({ signal }));
  const { route } = location.value;
  const current = route.page === "deployment" ? route.name : undefined;
  const ofDeployments = (deployments.data.value ?? []).flatMap(({ name, schedule }) => [
    ...pagesOf(name),
    ...actionsOf(name, schedule !== null),
  ]);
  const commands = [...currentFirst(ofDeployments, current), ...generalCommands(signOut)];
  const ordered =
    search.value === "" && current === undefined ? [...generalCommands(signOut), ...ofDeployments] : commands;
  const found = findCommands(ordered, search.value, MAX_SHOWN);
  const at = Math.min(active.value, found.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    dismiss(list.current, close);
    command.run();
  };
  const moves: Readonly<Record<string, () => number>> = {
    ArrowDown: () => (at + 1) % found.length,
    ArrowUp: () => (at - 1 + found.length) % found.length,
    PageDown: () => Math.min(at + 10, found.length - 1),
    PageUp: () => Math.max(at - 10, 0),
  };
  return (
    <Dialog labelledBy={`${id}title`} class="palette" close={close}>
      <h2 id={`${id}title`} class="hidden">
        Command palette
      </h2>
      <input
        type="text"
        role="combobox"
        aria-label="Search pages, deployments and actions"
        aria-expanded={found.length > 0}
        aria-controls={`${id}list`}
        aria-activedescendant={found.length > 0 ? `${id}${at}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        placeholder="Search pages, deployments and actions"
        value={search.value}
        onInput={({ currentTarget }) => {
          search.value = currentTarget.value;
          active.value = 0;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.isComposing) {
            event.preventDefault();
            run(found[at]);
            return;
          }
          const move = moves[event.key];
          if (move === undefined || found.length === 0) return;
          event.preventDefault();
          active.value = move();
        }}
      />
      <div ref={list} id={`${id}list`} class="options" role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keyboard, as in every combobox
          <div
            key={command.id}
            id={`${id}${index}`}
            role="option"
            aria-selected={index === at}
            tabIndex={-1}
            onClick={() => run(command)}
          >
            <span>{command.label}</span>
            <span class="dim">{command.group}</span>
          </div>
        ))}
      </div>
      <p class="dim" role="status">
        {found.length === 0 && "No command matches."}
      </p>
      {deployments.error.value !== undefined && <p class="dim">The deployments could not be loaded.</p>}
      {deployments.data.value === undefined && deployments.error.value === undefined && (
        <Delayed>Loading the deployments…</Delayed>
      )}
    </Dialog>
  );
};
