/** A JSON schema; the document's makers read only parts of it. */
export type JsonSchema = { readonly [key: string]: unknown };

/** Is it an object of JSON, and no array? */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
