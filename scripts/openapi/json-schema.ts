/** A JSON schema, as far as the document's makers look into it. */
export type JsonSchema = { readonly [key: string]: unknown };

/** Is it an object of JSON, and no array? */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
