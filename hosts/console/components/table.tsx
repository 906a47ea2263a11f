/** A table with a heading for each column. */
import type { ComponentChildren } from "preact";

interface TableProps {
  /** For screen readers. */
  readonly caption: string;
  /** For the style sheet. */
  readonly class?: string;
  readonly columns: readonly string[];
  /** The rows of the body. */
  readonly children: ComponentChildren;
}

export const Table = ({ caption, class: name, columns, children }: TableProps) => (
  <table class={name}>
    <caption class="hidden">{caption}</caption>
    <thead>
      <tr>
        {columns.map((label) => (
          <th key={label} scope="col">
            {label}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
);
