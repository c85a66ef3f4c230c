/** A JSON schema. Its fields have no types, because the code here reads few of them. */
export type JsonSchema = { readonly [key: string]: unknown };

/** Returns true if the value is a JSON object, and not an array. */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
