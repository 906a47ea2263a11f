/** A chart of two columns of a result. Loads the chart library on first use. */
import { useSignal } from "@preact/signals";
import { usePlot } from "../components/plot/use-plot.ts";
import { showsUtc } from "../components/time.tsx";
import { chartColumns, isNumeric, isTime, pointsOf, type ResultColumn, type SqlResult } from "./result.ts";

interface PickerProps {
  readonly label: string;
  readonly value: string;
  readonly columns: readonly ResultColumn[];
  readonly onChange: (name: string) => void;
}

const Picker = ({ label, value, columns, onChange }: PickerProps) => (
  <label class="picker">
    {label}
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {columns.map(({ name }) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  </label>
);

const loadResult = async () => (await import("./draw-result.ts")).drawResult;

export const ResultChart = ({ result }: { readonly result: SqlResult }) => {
  const { columns } = result;
  const chosen = useSignal(chartColumns(columns));
  const x = columns.find(({ name }) => name === chosen.value?.x);
  const y = columns.find(({ name }) => name === chosen.value?.y);
  const utc = showsUtc.value;
  const box = usePlot(
    loadResult,
    () => (x === undefined || y === undefined ? undefined : { ...pointsOf(result, x, y), isTime: isTime(x), utc }),
    [result, chosen.value, utc],
  );
  if (x === undefined || y === undefined)
    return <p class="dim">No column of the result has numbers, so there is nothing to draw.</p>;
  return (
    <figure class="chart">
      <div class="pickers">
        <Picker
          label="Across"
          value={x.name}
          columns={columns}
          onChange={(name) => {
            chosen.value = { x: name, y: y.name };
          }}
        />
        <Picker
          label="Up"
          value={y.name}
          columns={columns.filter(isNumeric)}
          onChange={(name) => {
            chosen.value = { x: x.name, y: name };
          }}
        />
      </div>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={`Chart of ${y.name} by ${x.name}. The table has the values.`}
      />
    </figure>
  );
};
