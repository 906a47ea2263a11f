/** The subset of XML that AWS protocols use: elements and text, without attributes. */

export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (_, hex: string, decimal: string, name: string) => {
    if (name !== undefined) return entities[name] ?? "";
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
  });

export const escapeXml = (text: string): string =>
  text.replace(/[<>&"]/g, (one) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" })[one] as string);

/** Throws if the text is not well-formed. */
export const parseXml = (text: string): XmlElement => {
  const root = { name: "", children: [] as XmlElement[], text: "" };
  const open: { name: string; children: XmlElement[]; text: string }[] = [root];
  for (const [, slash, name, empty, words] of text.matchAll(/<(\/?)([\w:?!-]+)[^>]*?(\/?)>|([^<]+)/g)) {
    const top = open.at(-1);
    if (top === undefined) throw new Error("more ends than beginnings");
    if (words !== undefined) top.text += unescaped(words);
    else if (name?.startsWith("?")) continue;
    else if (slash === "/") {
      if (open.pop()?.name !== name) throw new Error(`'${name}' ends where it did not begin`);
    } else {
      const element = { name: name as string, children: [], text: "" };
      top.children.push(element);
      if (empty !== "/") open.push(element);
    }
  }
  const [found] = root.children;
  if (open.length !== 1 || found === undefined) throw new Error("not well-formed");
  return found;
};

export const childrenOf = (element: XmlElement, name: string): readonly XmlElement[] =>
  element.children.filter((one) => one.name === name);

export const childOf = (element: XmlElement, name: string): XmlElement | undefined => childrenOf(element, name)[0];

/** Trimmed; undefined if the child does not exist. */
export const textOf = (element: XmlElement, name: string): string | undefined => childOf(element, name)?.text.trim();

type Content = string | number | boolean | bigint | undefined | readonly XmlContent[] | XmlContent;
export interface XmlContent {
  readonly [name: string]: Content;
}

/** Prints an array as repeated elements and omits undefined values. */
export const printXml = (content: XmlContent): string =>
  Object.entries(content)
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => [name, one as Content] as const))
    .map(([name, value]) => {
      if (value === undefined) return "";
      const inner = typeof value === "object" ? printXml(value as XmlContent) : escapeXml(String(value));
      return `<${name}>${inner}</${name}>`;
    })
    .join("");
