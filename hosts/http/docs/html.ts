/** A template tag for HTML. It escapes every value except `Html`. */

/** Escaped HTML. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeText = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");

const textOf = (value: Value): string => {
  if (value instanceof Html) return value.text;
  return typeof value === "object" ? value.map(({ text }) => text).join("") : escapeText(String(value));
};

export const html = (literals: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(
    literals.map((literal, index) => (index === 0 ? literal : textOf(values[index - 1] ?? "") + literal)).join(""),
  );
