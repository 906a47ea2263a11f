/** The build of the page generates this module from the schema of `portside.json`. */
declare module "virtual:deploy-schema" {
  const schema: { readonly properties: Readonly<Record<string, import("./fields.ts").Schema>> };
  export default schema;
}
