/** The console's build generates this module from the schema of `portside.json`. */
declare module "virtual:deploy-schema" {
  export const properties: import("./fields.ts").Properties;
}
