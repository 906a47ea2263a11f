/** The controls of a form, made from JSON Schema. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import {
  defaultsOf,
  type FieldProblem,
  helpOf,
  isMap,
  labelOf,
  type Rows,
  type Schema,
  typeOf,
  type Values,
} from "./fields.ts";

interface FieldProps {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly problems: readonly FieldProblem[];
  readonly change: (value: unknown) => void;
}

/** The lists of suggestions on the page, by the name of the field. */
const suggestions: Readonly<Record<string, string>> = {
  secret: "secret-names",
  volume: "volume-names",
  timezone: "zone-names",
};

/** Renders text, with the parts between backticks as code. */
const Prose = ({ text }: { readonly text: string }) => (
  <>{text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
);

const Problems = ({ id, problems }: { readonly id: string; readonly problems: readonly FieldProblem[] }) => (
  <div id={id} class="field-problem" role="alert">
    {problems.map(({ path, message }) => (
      <p key={`${path} ${message}`}>
        {path !== "" && `${path}: `}
        {message}
      </p>
    ))}
  </div>
);

const textOf = (value: unknown): string => (value === null || value === undefined ? "" : String(value));

/** Text that is not a number stays text, so that the API explains the problem. */
const numberOf = (text: string): unknown => (text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text));

interface InputProps extends Omit<FieldProps, "problems"> {
  readonly id?: string;
  readonly label?: string;
  readonly describedBy?: string | undefined;
  readonly isInvalid?: boolean;
}

const Input = ({ id, label, name, schema, value, change, describedBy, isInvalid = false }: InputProps) => {
  const type = typeOf(schema);
  const common = { id, "aria-label": label, "aria-describedby": describedBy, "aria-invalid": isInvalid };
  if (schema.enum !== undefined)
    return (
      <select {...common} value={textOf(value)} onChange={({ currentTarget }) => change(currentTarget.value || null)}>
        {schema.enum.map((one) => (
          <option key={String(one)} value={textOf(one)}>
            {one === null ? "Platform default" : labelOf(String(one))}
          </option>
        ))}
      </select>
    );
  if (type === "boolean")
    return (
      <input
        {...common}
        type="checkbox"
        checked={value === true}
        onChange={({ currentTarget }) => change(currentTarget.checked)}
      />
    );
  const isNumber = type === "integer" || type === "number";
  const example = schema.examples?.[0];
  return (
    <input
      {...common}
      {...(isNumber ? { inputMode: type === "integer" ? ("numeric" as const) : ("decimal" as const) } : {})}
      list={suggestions[name]}
      autocomplete="off"
      spellcheck={false}
      placeholder={typeof example === "string" && !isNumber ? example : textOf(schema.default)}
      value={textOf(value)}
      onInput={({ currentTarget: { value: text } }) => change(isNumber ? numberOf(text) : text)}
    />
  );
};

const rangeOf = ({ minimum, maximum }: Schema): string => {
  const isBound = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (minimum !== undefined && isBound) return ` ${minimum} to ${maximum}.`;
  return minimum === undefined ? "" : ` At least ${minimum}.`;
};

const Simple = ({ name, schema, value, problems, change }: FieldProps) => {
  const id = useId();
  const isCheck = typeOf(schema) === "boolean";
  const input = (
    <Input
      id={id}
      name={name}
      schema={schema}
      value={value}
      change={change}
      describedBy={`${id}-help ${id}-problem`}
      isInvalid={problems.length > 0}
    />
  );
  return (
    <div class={isCheck ? "field check" : "field"}>
      <label for={id}>{labelOf(name)}</label>
      {input}
      <p id={`${id}-help`} class="help">
        <Prose text={helpOf(schema)} />
        {rangeOf(schema)}
      </p>
      <Problems id={`${id}-problem`} problems={problems} />
    </div>
  );
};

const problemsBelow = (problems: readonly FieldProblem[], name: string): readonly FieldProblem[] =>
  problems.filter(({ path }) => path === name).map(({ message }) => ({ path: "", message }));

/** An object that may be absent, such as a health check. */
const Optional = ({ name, schema, value, problems, change }: FieldProps) => {
  const id = useId();
  const { properties = {} } = schema;
  const values = value as Values | null;
  return (
    <>
      <div class="field check">
        <label for={id}>{`Use a ${labelOf(name).toLowerCase()}${name === "health" ? " check" : ""}`}</label>
        <input
          id={id}
          type="checkbox"
          checked={values !== null}
          aria-describedby={`${id}-help`}
          onChange={({ currentTarget }) => change(currentTarget.checked ? defaultsOf(schema) : null)}
        />
        <p id={`${id}-help`} class="help">
          <Prose text={helpOf(schema)} />
        </p>
      </div>
      {values !== null &&
        Object.entries(properties).map(([member, own]) => (
          <Simple
            key={member}
            name={member}
            schema={own}
            value={values[member]}
            problems={problemsBelow(problems, member)}
            change={(next) => change({ ...values, [member]: next })}
          />
        ))}
      <Problems
        id={`${id}-problem`}
        problems={problems.filter(({ path }) => values === null || !(path in properties))}
      />
    </>
  );
};

/** The labels and the help of a field that has a row for each value. */
interface RowWords {
  /** The label of the key, such as `Mount path`. */
  readonly key: string;
  readonly add: string;
  readonly example: string;
  /** The label of a value that is a string. */
  readonly text: string;
  /** Used if the schema has no help for a form. */
  readonly help: string;
}

const VOLUMES = "The volumes of the service, by their paths in its file system. The deploy creates missing volumes.";

const rowWords: Readonly<Record<string, RowWords>> = {
  volumes: { key: "Mount path", add: "Add a mount", example: "/data", text: "Volume", help: VOLUMES },
  env: { key: "Variable", add: "Add a variable", example: "LOG_LEVEL", text: "Value", help: "" },
};

const variantsOf = ({ additionalProperties: values }: Schema): readonly Schema[] =>
  typeof values === "object" ? (values.anyOf ?? [values]) : [];

interface CellProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

const Cell = ({ label, children }: CellProps) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the control is in the children
  <label class="cell">
    <span>{label}</span>
    {children}
  </label>
);

interface RowProps {
  readonly row: readonly [string, unknown];
  readonly words: RowWords;
  readonly text: Schema | undefined;
  readonly object: Schema;
  readonly change: (row: readonly [string, unknown]) => void;
  readonly remove: () => void;
}

const Row = ({ row: [key, value], words, text, object, change, remove }: RowProps) => {
  const isText = typeof value === "string";
  return (
    <li class="map-row">
      <Cell label={words.key}>
        <input
          value={key}
          placeholder={words.example}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => change([currentTarget.value, value])}
        />
      </Cell>
      {text !== undefined && (
        <Cell label="Kind">
          <select
            value={isText ? "text" : "object"}
            onChange={({ currentTarget }) => change([key, currentTarget.value === "text" ? "" : defaultsOf(object)])}
          >
            <option value="text">{words.text}</option>
            <option value="object">Secret</option>
          </select>
        </Cell>
      )}
      {isText && text !== undefined ? (
        <Cell label={words.text}>
          <Input name="value" schema={text} value={value} change={(next) => change([key, next])} />
        </Cell>
      ) : (
        Object.entries(object.properties ?? {}).map(([member, own]) => (
          <Cell key={member} label={member === "name" ? words.text : labelOf(member)}>
            <Input
              name={member === "name" ? "volume" : member}
              schema={own}
              value={(value as Values)[member]}
              change={(next) => change([key, { ...(value as Values), [member]: next }])}
            />
          </Cell>
        ))
      )}
      <button type="button" aria-label={`Remove ${key || "the row"}`} onClick={remove}>
        Remove
      </button>
    </li>
  );
};

/** An object with arbitrary keys, such as variables or mounts: one row per key. */
const MapField = ({ name, schema, value, problems, change }: FieldProps) => {
  const id = useId();
  const rows = value as Rows;
  const words = rowWords[name] as RowWords;
  const variants = variantsOf(schema);
  const object = variants.find((one) => typeOf(one) === "object") ?? {};
  // The form always sends a mount as an object: a string is only a short form.
  const text = name === "env" ? variants.find((one) => typeOf(one) === "string") : undefined;
  return (
    <fieldset class="map" aria-describedby={`${id}-help ${id}-problem`}>
      <legend class="hidden">{labelOf(name)}</legend>
      <p id={`${id}-help`} class="help">
        <Prose text={helpOf(schema) || words.help} />
      </p>
      <ul class="plain">
        {rows.map((row, at) => (
          <Row
            key={at}
            row={row}
            words={words}
            text={text}
            object={object}
            change={(next) => change(rows.map((one, index) => (index === at ? next : one)))}
            remove={() => change(rows.filter((_, index) => index !== at))}
          />
        ))}
      </ul>
      <Problems id={`${id}-problem`} problems={problems} />
      <button type="button" onClick={() => change([...rows, ["", text === undefined ? defaultsOf(object) : ""]])}>
        {words.add}
      </button>
    </fieldset>
  );
};

/** The control of a field, with its label, its description and its problems. */
export const SchemaField = (props: FieldProps) => {
  if (isMap(props.schema)) return <MapField {...props} />;
  return props.schema.properties === undefined ? <Simple {...props} /> : <Optional {...props} />;
};
