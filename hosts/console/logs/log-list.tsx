/** A list of log entries that renders only the visible ones. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { formatClock, formatTime } from "../components/format.ts";
import { Text } from "../components/text.tsx";
import { showsUtc } from "../components/time.tsx";
import { useVirtualizer } from "../components/use-virtualizer.ts";
import { type Entry, jsonOf, lineOf } from "./entries.ts";

const ROW_HEIGHT = 24;
/** How far from an edge the list counts as scrolled to it. */
const EDGE = 40;

interface DetailsProps {
  readonly entry: Entry;
  readonly addField: (path: readonly string[], value: unknown) => void;
}

const isLeaf = (value: unknown): boolean => value === null || typeof value !== "object";

interface JsonProps {
  readonly value: Readonly<Record<string, unknown>>;
  readonly path: readonly string[];
  readonly addField: DetailsProps["addField"];
}

const MAX_FIELDS = 200;

const Json = ({ value, path, addField }: JsonProps) => (
  <ul class="json">
    {Object.entries(value)
      .slice(0, MAX_FIELDS)
      .map(([name, member]) => (
        <li key={name}>
          <span class="name">
            <Text max={200}>{name}</Text>
          </span>
          {isLeaf(member) ? (
            <>
              <span class={`value ${typeof member}`}>
                <Text max={2000}>{typeof member === "string" ? member : JSON.stringify(member)}</Text>
              </span>
              {member !== null && (
                <button
                  type="button"
                  class="copy"
                  aria-label={`Filter by ${name}`}
                  onClick={() => addField([...path, name], member)}
                >
                  Filter
                </button>
              )}
            </>
          ) : (
            <Json value={member as Record<string, unknown>} path={[...path, name]} addField={addField} />
          )}
        </li>
      ))}
  </ul>
);

const Details = ({ entry, addField }: DetailsProps) => {
  const json = jsonOf(entry.message);
  return (
    <div class="entry-details">
      <p class="dim">
        {formatTime(Date.parse(entry.timestamp), showsUtc.value)} · {entry.log_name}
        {entry.revision !== undefined && ` · ${entry.revision}`}
        {entry.instance_id !== undefined && ` · ${entry.instance_id}`}
      </p>
      {json === undefined ? (
        <pre>
          <Text>{entry.message}</Text>
        </pre>
      ) : (
        <Json value={json} path={[]} addField={addField} />
      )}
    </div>
  );
};

interface RowProps extends DetailsProps {
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

const Line = ({ entry }: { readonly entry: Entry }) => {
  const { text, fields } = lineOf(entry);
  return (
    <span class="line">
      <Text>{text}</Text>
      {fields !== "" && (
        <span class="fields">
          {"  "}
          <Text>{fields}</Text>
        </span>
      )}
    </span>
  );
};

const Row = ({ entry, isOpen, toggle, addField }: RowProps) => (
  <>
    <button type="button" class="entry-line" aria-expanded={isOpen} onClick={toggle}>
      <time dateTime={entry.timestamp}>{formatClock(Date.parse(entry.timestamp), showsUtc.value)}</time>
      <span class="severity">{entry.severity}</span>
      <Line entry={entry} />
    </button>
    {isOpen && <Details entry={entry} addField={addField} />}
  </>
);

interface LogListProps {
  readonly entries: readonly Entry[];
  /** Changes when the entries change. */
  readonly version: number;
  readonly isFollowing: boolean;
  readonly setFollowing: (following: boolean) => void;
  readonly loadOlder: () => Promise<number>;
  readonly addField: DetailsProps["addField"];
}

export const LogList = ({ entries, version, isFollowing, setFollowing, loadOlder, addField }: LogListProps) => {
  const box = useRef<HTMLElement>(null);
  const open = useSignal<ReadonlySet<string>>(new Set());
  const virtualizer = useVirtualizer({
    count: entries.length,
    rowHeight: ROW_HEIGHT,
    getScrollElement: () => box.current,
    getItemKey: (at) => entries[at]?.insert_id ?? at,
  });
  const lastTop = useRef(0);
  useEffect(() => {
    if (isFollowing && entries.length > 0) virtualizer.scrollToIndex(entries.length - 1, { align: "end" });
  }, [version, isFollowing]);
  const scrolled = async (): Promise<void> => {
    const element = box.current;
    if (element === null) return;
    const isUp = element.scrollTop < lastTop.current - 1;
    lastTop.current = element.scrollTop;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < EDGE;
    if (isUp && !isAtEnd) setFollowing(false);
    else if (isAtEnd && !isUp) setFollowing(true);
    if (isUp && element.scrollTop < EDGE) {
      const added = await loadOlder();
      // Keeps the visible entries in place.
      if (added > 0) element.scrollTop += added * ROW_HEIGHT;
    }
  };
  const toggle = (id: string, index: number): void => {
    const next = new Set(open.value);
    const isOpen = !next.delete(id);
    if (isOpen) next.add(id);
    open.value = next;
    setFollowing(false);
    // Scroll after the list has measured the entry with its details.
    if (isOpen) requestAnimationFrame(() => virtualizer.scrollToIndex(index, { align: "auto" }));
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the element that has the focus
    <section ref={box} class="log" aria-label="Log entries" tabIndex={0} onScroll={() => void scrolled()}>
      <div class="log-space" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {virtualizer.getVirtualItems().map(({ index, key, start }) => {
          const entry = entries[index];
          if (entry === undefined) return null;
          return (
            <div
              key={key}
              ref={(element: HTMLDivElement | null) => virtualizer.measureElement(element)}
              data-index={index}
              class={`entry severity-${entry.severity.toLowerCase()}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Row
                entry={entry}
                isOpen={open.value.has(entry.insert_id)}
                toggle={() => toggle(entry.insert_id, index)}
                addField={addField}
              />
            </div>
          );
        })}
      </div>
    </section>
  );
};
