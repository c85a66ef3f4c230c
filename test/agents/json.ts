/** A JSON object as it comes from a program. */
export type JsonObject = Record<string, unknown>;

/** The value as an object; an empty one if it is something else. */
export function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** The value as a list of objects; an empty one if it is something else. */
export function asObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

/** All texts anywhere within a value, one after the other: what a tool has answered, whatever its shape. */
export function textsOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textsOf).filter(Boolean).join("\n");
  return Object.values(asObject(value)).map(textsOf).filter(Boolean).join("\n");
}
