/** The rows of a result. Renders only the visible ones. */
import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { Text } from "../components/text.tsx";
import { useVirtualizer } from "../components/use-virtualizer.ts";
import { cellText, columnWidth, isNumeric, type SqlResult } from "./result.ts";

const ROW_HEIGHT = 28;
/** The maximum number of characters in a cell. The row's details show the complete text. */
const CELL_LENGTH = 200;

const oneLine = (text: string): string => text.slice(0, CELL_LENGTH).replaceAll("\n", "⏎");

interface DetailsProps {
  readonly result: SqlResult;
  readonly index: number;
  readonly close: () => void;
}

/** A row with the complete values. */
const Details = ({ result: { columns, rows }, index, close }: DetailsProps) => (
  <section class="row-details" aria-label={`Row ${index + 1}`}>
    <div class="title">
      <h3>Row {index + 1}</h3>
      <button type="button" class="copy" onClick={close}>
        Close
      </button>
    </div>
    <dl class="pairs">
      {columns.map(({ name, type }) => (
        <div key={name}>
          <dt>
            <Text>{name}</Text> <span class="dim">{type}</span>
          </dt>
          <dd class="code">
            <Text>{cellText(rows[index]?.[name])}</Text>
          </dd>
        </div>
      ))}
    </dl>
  </section>
);

export const ResultTable = ({ result }: { readonly result: SqlResult }) => {
  const { columns, rows } = result;
  const box = useRef<HTMLElement>(null);
  const open = useSignal<number | undefined>(undefined);
  const virtualizer = useVirtualizer({
    count: rows.length,
    rowHeight: ROW_HEIGHT,
    getScrollElement: () => box.current,
    getItemKey: (index) => index,
  });
  // Each scroll renders the table again, and formatting large values takes time.
  const grid = useMemo(() => {
    const widths = columns.map((column) => `calc(${columnWidth(column, rows)}ch + 20px)`);
    return { gridTemplateColumns: ["7ch", ...widths].join(" ") };
  }, [result]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the element that has the focus */}
      <section ref={box} class="result" aria-label="Result rows" tabIndex={0}>
        <table aria-label="Result" aria-rowcount={rows.length + 1} class="result-grid">
          <thead>
            <tr aria-rowindex={1} class="result-row" style={grid}>
              <th scope="col">Row</th>
              {columns.map((column) => (
                <th key={column.name} scope="col" class={isNumeric(column) ? "number" : undefined}>
                  <Text>{column.name}</Text> <span class="dim">{column.type}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody style={{ height: `${virtualizer.getTotalSize()}px` }}>
            {virtualizer.getVirtualItems().map(({ index, key, start }) => (
              <tr
                key={key}
                aria-rowindex={index + 2}
                class={`result-row ${open.value === index ? "open" : ""}`}
                style={{ ...grid, transform: `translateY(${start}px)` }}
              >
                <th scope="row">
                  <button
                    type="button"
                    class="row-number"
                    aria-label={`Show row ${index + 1}`}
                    aria-expanded={open.value === index}
                    onClick={() => {
                      open.value = open.value === index ? undefined : index;
                    }}
                  >
                    {index + 1}
                  </button>
                </th>
                {columns.map((column) => {
                  const value = rows[index]?.[column.name];
                  const className = value === null ? "null" : isNumeric(column) ? "number" : undefined;
                  return (
                    <td key={column.name} class={className}>
                      <Text>{oneLine(cellText(value))}</Text>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {open.value !== undefined && (
        <Details
          result={result}
          index={open.value}
          close={() => {
            open.value = undefined;
          }}
        />
      )}
    </>
  );
};
