/** The XML of AWS protocols: elements and text. Attributes are ignored. */
import { XMLBuilder, XMLParser, XMLValidator } from "fast-xml-parser";

export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

/** A node as the parser returns it with `preserveOrder`: one key, either the element's name or `#text`. */
type Node = Readonly<Record<string, readonly Node[] | string>>;

const parser = new XMLParser({
  preserveOrder: true,
  parseTagValue: false,
  trimValues: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  htmlEntities: true,
});

const builder = new XMLBuilder();

const elementOf = (node: Node): XmlElement => {
  const [[name, content] = ["", []]] = Object.entries(node);
  const nodes = typeof content === "string" ? [] : content;
  return {
    name,
    children: nodes.filter((one) => one["#text"] === undefined).map(elementOf),
    text: nodes.map((one) => one["#text"] ?? "").join(""),
  };
};

/** Throws if the text is not well-formed. */
export const parseXml = (text: string): XmlElement => {
  const checked = XMLValidator.validate(text);
  if (checked !== true) throw new Error(checked.err.msg);
  const root = (parser.parse(text) as readonly Node[]).find((node) => node["#text"] === undefined);
  if (root === undefined) throw new Error("not well-formed");
  return elementOf(root);
};

export const childrenOf = (element: XmlElement, name: string): readonly XmlElement[] =>
  element.children.filter((one) => one.name === name);

export const childOf = (element: XmlElement, name: string): XmlElement | undefined => childrenOf(element, name)[0];

/** Trimmed; undefined if the child does not exist. */
export const textOf = (element: XmlElement, name: string): string | undefined => childOf(element, name)?.text.trim();

type Content = string | number | boolean | bigint | undefined | readonly string[] | readonly XmlContent[] | XmlContent;
export interface XmlContent {
  readonly [name: string]: Content;
}

/** Prints an array as repeated elements and omits undefined values. */
export const printXml = (content: XmlContent): string => builder.build(content);
