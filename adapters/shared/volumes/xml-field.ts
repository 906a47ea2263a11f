/** Reads fields of S3's XML formats, which are flat and have no attributes that matter. */

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", "#34": '"' };

/** Returns the text of the first element of this name; undefined if the XML has no such element. */
export const xmlField = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>([^<]*)</${name}>`)
    .exec(xml)?.[1]
    ?.trim()
    .replace(/&(lt|gt|amp|quot|apos|#34);/g, (_, entity: string) => entities[entity] ?? "");

/** Returns the content of each element of this name. */
export const xmlElements = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, content = ""]) => content);
